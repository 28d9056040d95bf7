#!/busybox sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash
# The first process of the emulated machine: mounts what Linux programs expect, runs the plan and a
# ping-pong between two daemons, says how many failed, and turns the machine off.
/busybox mkdir -p /proc /sys /dev /run /tmp /bin
/busybox --install -s /bin
export PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs tmp /tmp
ip link set lo up
mkdir -p /etc
echo 'root:x:0:0:root:/tmp:/bin/sh' >/etc/passwd
echo '127.0.0.1 localhost' >/etc/hosts
ulimit -n 65536
PATH=$(sed 's/.*rnic_build=\([^ ]*\).*/\1/' /proc/cmdline)/bin:$PATH
failures=0

begin() {
	name=$1
	began=$(cut -d. -f1 /proc/uptime)
}

# end STATUS
end() {
	took=$(($(cut -d. -f1 /proc/uptime) - began))
	case $1 in
	0) echo "ok    $name ($took s)" ;;
	77) echo "skipped: $name: $(grep skipped /tmp/output | tail -n 1)" ;;
	*)
		failures=$((failures + 1))
		echo "FAIL  $name: status $1 after $took s"
		tail -n 40 /tmp/output | sed 's/^/      | /'
		;;
	esac
}

# The daemon of NUMBER serves /run/NUMBER.sock.
start_daemon() {
	rnicd --address "127.0.0.$1" --socket "/run/$1.sock" >"/tmp/$1.log" 2>&1 &
	tries=0
	until [ -S "/run/$1.sock" ] || [ $tries -gt 300 ]; do
		tries=$((tries + 1))
		sleep 0.1 # between two polls
	done
}

ping_pong() {
	start_daemon 2
	start_daemon 3
	timeout 300 rnic-run --socket /run/2.sock ibv_rc_pingpong -g 0 -c -n 1000 \
		>/tmp/server 2>&1 &
	server=$!
	tries=0
	until timeout 300 rnic-run --socket /run/3.sock ibv_rc_pingpong -g 0 -c -n 1000 127.0.0.1
	do
		tries=$((tries + 1))
		kill -0 $server 2>/dev/null && [ $tries -lt 50 ] || return 1
		sleep 0.2 # between two polls for the server
	done
	wait $server
}

echo "the machine is up after $(cut -d' ' -f1 /proc/uptime) s: $(uname -srm)"
# shellcheck source=/dev/null
. /plan.sh
begin two_daemons_ping_pong
ping_pong >/tmp/output 2>&1
status=$?
cat /tmp/server /tmp/?.log >>/tmp/output
end $status
grep -h 'port' /tmp/2.log | head -n 2
echo "machine: $failures failures"
poweroff -f
