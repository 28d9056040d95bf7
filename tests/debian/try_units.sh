#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# try_units.sh [--prepare]: starts rnicd by its units on a host that systemd has booted, and lets an
# ordinary user run a program on it. boot_host.sh runs this script on the host that it boots.
# --prepare installs what the host needs, the packages in /mnt included. debian.sh runs both.
set -u

if [ "${1:-}" = --prepare ]; then
	export DEBIAN_FRONTEND=noninteractive
	useradd --create-home visitor && apt-get update -qq &&
		apt-get install -y -qq --no-install-recommends systemd systemd-sysv dbus \
			libpam-systemd iproute2 ibverbs-utils perftest /mnt/*.deb
	exit
fi

failures=0

# check WHAT COMMAND...
check() {
	local what=$1
	shift
	if "$@" >/tmp/output 2>&1; then
		echo "ok    $what"
		return
	fi
	failures=$((failures + 1))
	echo "FAIL  $what"
	tail -n 20 /tmp/output | sed 's/^/      | /'
	journalctl --no-pager --boot --unit 'rnicd@*' | tail -n 20 | sed 's/^/      | /'
}

# on_device COMMAND...: an ordinary user's, on the daemon of the unit.
on_device() {
	runuser -u visitor -- env RNIC_SOCKET=/run/rnicd/lo.sock timeout 60 \
		rnic-run --no-daemon "$@"
}

# in_session COMMAND...: an ordinary user's who has logged in.
in_session() {
	runuser -u visitor -- env XDG_RUNTIME_DIR="/run/user/$(id --user visitor)" "$@"
}

# A server and a client.
write_over_loopback() {
	local server tries=0
	on_device ib_write_bw -F -n 1000 >/tmp/server 2>&1 &
	server=$!
	until on_device ib_write_bw -F -n 1000 127.0.0.1 >/tmp/client 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 50 ] || { cat /tmp/server /tmp/client; return 1; }
		sleep 0.2 # between two polls
	done
	wait $server && grep '^ *65536 ' /tmp/client
}

# Tenths of what systemd-analyze counts.
exposure_is_at_most() {
	systemd-analyze security --no-pager --threshold="$1" rnicd@lo.service
}

main_process() {
	systemctl show -P MainPID rnicd@lo.service
}

has_no_failures() {
	[ "$(systemctl show -P NRestarts rnicd@lo.service)" = 0 ] &&
		! journalctl --no-pager --boot --unit rnicd@lo.service |
			grep -iE 'warning|refused|not permitted'
}

check "the units are well-formed" systemd-analyze verify --man=no rnicd@lo.service rnicd@lo.socket
check "the exposure is at most 3.1" exposure_is_at_most 31

echo "# the service"
check "starts, and says when" systemctl start rnicd@lo.service
check "has a socket at once" test -S /run/rnicd/lo.sock
check "serves an ordinary user" write_over_loopback
check "serves root beside the user" env RNIC_SOCKET=/run/rnicd/lo.sock rnic-run ibv_devinfo
check "shows the files of the device" on_device cat /sys/class/infiniband/rnic0/node_type
check "has no failures" has_no_failures
check "stops" systemctl stop rnicd@lo.service
check "leaves no socket" test ! -e /run/rnicd/lo.sock

echo "# the socket"
check "starts" systemctl start rnicd@lo.socket
check "starts no daemon" bash -c '! systemctl is-active rnicd@lo.service'
check "serves an ordinary user" write_over_loopback
check "has started the daemon" systemctl is-active rnicd@lo.service
check "a user who names no socket finds it" in_session rnic-run --no-daemon ibv_devinfo
check "stays while the daemon starts again" systemctl restart rnicd@lo.service
check "serves on" write_over_loopback
check "has no failures" has_no_failures
check "stops" systemctl stop rnicd@lo.socket rnicd@lo.service
check "leaves no socket" test ! -e /run/rnicd/lo.sock

echo "# a second instance leaves the first one its folder"
check "two start" systemctl start rnicd@lo.service
ip link add veth-a type veth peer name veth-b
ip link set veth-a up
ip link set veth-b up
ip address add 192.0.2.1/24 dev veth-a
check "the other too" systemctl start rnicd@veth-a.service
check "the other has its own socket" test -S /run/rnicd/veth-a.sock
check "the other stops" systemctl stop rnicd@veth-a.service
check "the first serves" on_device ibv_devices

echo "# the unit of a user"
check "the user's manager starts" systemctl start "user@$(id --user visitor).service"
check "the unit is well-formed" in_session systemd-analyze --user --man=no verify rnicd.service
check "starts, and says when" in_session systemctl --user start rnicd.service
check "serves the user" in_session rnic-run --no-daemon ibv_devinfo
check "stops" in_session systemctl --user stop rnicd.service

echo "# the packages"
before=$(main_process)
is_anew() {
	[ "$(main_process)" != "$before" ] && [ "$(main_process)" != 0 ] &&
		systemctl is-active rnicd@lo.service
}
has_program() {
	rnicctl show --socket /run/rnicd/lo.sock clients | grep -q ib_write_bw
}
polls_to() {
	local tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || return 1
		sleep 0.2 # between two polls
	done
}
# For longer than an idle daemon would have stayed.
keeps_its_daemon() {
	local tries
	for tries in $(seq 15); do
		[ "$(main_process)" = "$before" ] || { echo "look $tries" && return 1; }
		sleep 0.2 # between two polls
	done
}
on_device ib_write_bw -F >/tmp/server 2>&1 & # waits for a client
server=$!
check "a program waits on it" polls_to has_program
check "an upgrade" bash -c '/var/lib/dpkg/info/rnicd.postinst configure 0.1.0 >/tmp/upgrade'
check "says what happens" grep -q 'begins anew when the last one has ended' /tmp/upgrade
check "a program keeps its daemon" keeps_its_daemon
check "and its device" on_device ib_write_bw -F 127.0.0.1
check "the program ends well" wait $server
check "then rnicd starts again" polls_to is_anew
check "serves" write_over_loopback
before=$(main_process)
check "an upgrade while no program runs" /var/lib/dpkg/info/rnicd.postinst configure 0.1.0
check "starts rnicd again" polls_to is_anew
check "removal" dpkg --remove --force-depends rnicd
check "ends rnicd" bash -c '! readlink /proc/[0-9]*/exe | grep rnicd'
check "leaves no socket" test ! -e /run/rnicd/lo.sock
check "purge" dpkg --purge --force-depends rnicd
check "leaves no folder" test ! -e /run/rnicd
echo "units: $failures failures"
[ $failures -eq 0 ]
