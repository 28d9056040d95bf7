#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# From nothing to RDMA in a minute: installs what is missing, builds, starts two RNICs on 127.0.0.2
# and 127.0.0.3 and runs the distribution's own ibv_rc_pingpong and ib_write_bw from one to the
# other. Needs no privileges once the packages are there. Every program that it starts ends with it.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
build=${RNIC_BUILD:-$top/build}
PATH=$PATH:/usr/sbin:/sbin

say() {
	printf '\n\033[1m== %s\033[0m\n' "$*"
}

say "packages"
"$top/tools/install-packages.sh" build demo
echo "all there"

say "build"
cmake -S "$top" -B "$build" -G Ninja -DRNIC_TESTS=OFF >/dev/null
cmake --build "$build" | tail -n 1

work=$(mktemp -d "${TMPDIR:-/tmp}/rnicd-quickstart-XXXXXX")
cleanup() {
	status=$?
	trap - EXIT
	jobs -p | xargs -r kill 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$work"
	exit $status
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# wait_until SECONDS COMMAND...
wait_until() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.1
	done
}

# start_rnic NAME ADDRESS [OPTION...]; its process is then $rnic.
start_rnic() {
	local name=$1 address=$2
	shift 2
	echo "\$ rnicd --address $address --socket $name.sock $* &"
	(cd "$work" && exec "$build/bin/rnicd" --address "$address" \
		--socket "$work/$name.sock" "$@" >"$name.log" 2>&1) &
	rnic=$!
	wait_until 10 "$build/bin/rnicctl" show device --socket "$work/$name.sock" || {
		cat "$work/$name.log"
		exit 1
	}
}

stop_rnic() {
	kill "$1"
	wait "$1" || true
}

is_listening() {
	[ -n "$(ss -Hltn "sport = :$1")" ]
}

# across PROGRAM OPTION...: server on RNIC a, client on RNIC b.
across() {
	local program=$1 port=$((20000 + RANDOM % 12000)) server
	shift
	echo "\$ rnic-run --socket a.sock $program $* &"
	"$build/bin/rnic-run" --socket "$work/a.sock" "$program" -p $port "$@" \
		>"$work/server" 2>&1 &
	server=$!
	wait_until 10 is_listening $port || {
		cat "$work/server"
		exit 1
	}
	echo "\$ rnic-run --socket b.sock $program $* 127.0.0.1"
	timeout 120 "$build/bin/rnic-run" --socket "$work/b.sock" "$program" -p $port "$@" 127.0.0.1
	wait $server
}

say "two RNICs"
start_rnic a 127.0.0.2
start_rnic b 127.0.0.3
rnic_b=$rnic
"$build/bin/rnicctl" show device --socket "$work/a.sock"

# The index of the GID that stands for the RNIC's IPv4 address is the same on both.
gid=$("$build/bin/rnicctl" show device --socket "$work/a.sock" |
	awk '$3 == "127.0.0.2" { print $2 }')

say "ibv_rc_pingpong, data checked"
across ibv_rc_pingpong -g "$gid" -c -n 1000

say "ib_write_bw"
across ib_write_bw -x "$gid" -F -s 65536 -n 5000 --report_gbits

say "the first packets, as Wireshark reads them"
stop_rnic $rnic_b
start_rnic b 127.0.0.3 --capture b.pcapng
across ibv_rc_pingpong -g "$gid" -s 100 -n 4
stop_rnic $rnic
tshark -r "$work/b.pcapng" -c 12 --disable-protocol rpcordma --disable-protocol infiniband.eoib \
	2>/dev/null | cut -c 1-110

say "it works"
echo "Programs: $build/bin. Try: $build/bin/rnic-run ib_write_bw, and in a second terminal"
echo "$build/bin/rnic-run ib_write_bw 127.0.0.1"
