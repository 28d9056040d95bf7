#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# From nothing to RDMA in some minutes: installs what is missing, builds, starts two RNICs on the
# first free loopback addresses from 127.0.0.2 on and runs the distribution's own ibv_rc_pingpong
# and ib_write_bw from one to the other. Needs no privileges once the packages are there. Every
# program that it starts ends with it.
#
#   --built   install and build nothing: everything is there
set -eu -o pipefail

START_SECONDS=20   # until a daemon answers
PROGRESS_SECONDS=5 # between two lines of a build whose output is no terminal
top=$(cd "$(dirname "$0")/.." && pwd)
build=${RNIC_BUILD:-$top/build}
PATH=$PATH:/usr/sbin:/sbin
. "$top/tools/loopback_address.sh"

say() {
	printf '\n\033[1m== %s\033[0m\n' "$*"
}

# show_progress: of the lines of ninja on its input, a status line now and then, the last one, and
# whatever is no status.
show_progress() {
	local line last="" next=0
	while IFS= read -r line; do
		if [[ $line != "["*/*"] "* ]]; then
			echo "$line"
		elif [ $SECONDS -ge $next ]; then
			echo "$line"
			last=""
			next=$((SECONDS + PROGRESS_SECONDS))
		else
			last=$line
		fi
	done
	[ -z "$last" ] || echo "$last"
}

# One script at a time builds here: two builds of one tree would disturb each other.
build_tree() (
	mkdir -p "$build"
	exec 9>"$build/quickstart.lock"
	flock -n 9 || { echo "another quickstart.sh builds here: waiting"; flock 9; }
	cmake -S "$top" -B "$build" -G Ninja -DRNIC_TESTS=OFF >/dev/null
	if [ -t 1 ]; then
		cmake --build "$build"
	else
		cmake --build "$build" | show_progress
	fi
)

case ${1:-} in
"")
	say "packages"
	"$top/tools/install-packages.sh" build demo
	echo "all there"
	say "build"
	build_tree
	;;
--built) ;;
*)
	echo "usage: quickstart.sh [--built]" >&2
	exit 1
	;;
esac

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

# launch NAME [OPTION...]: starts a daemon at $address and waits until the daemon answers. Sets rnic
# to its process.
launch() {
	local name=$1 deadline=$((SECONDS + START_SECONDS))
	shift
	(cd "$work" && exec "$build/bin/rnicd" --address "$address" \
		--socket "$work/$name.sock" "$@" >"$name.log" 2>&1) &
	rnic=$!
	until "$build/bin/rnicctl" show device --socket "$work/$name.sock" >/dev/null 2>&1; do
		kill -0 $rnic 2>/dev/null && [ $SECONDS -lt $deadline ] || return 1
		sleep 0.1
	done
}

# start_rnic NAME [OPTION...]: starts a daemon at the first free address from $address on, and sets
# address to the one that it took.
start_rnic() {
	until launch "$@"; do
		may_move "$address" "$work/$1.log" || {
			cat "$work/$1.log"
			exit 1
		}
		address=$(next_address "$address")
	done
	echo "\$ rnicd --address $address --socket $1.sock${2:+ ${*:2}} &"
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
	local program=$1 port server
	shift
	port=$((20000 + RANDOM % 12000))
	while is_listening $port; do port=$((20000 + RANDOM % 12000)); done
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
address=$FIRST_LOOPBACK
start_rnic a
address_a=$address
address=$(next_address "$address")
start_rnic b
rnic_b=$rnic
"$build/bin/rnicctl" show device --socket "$work/a.sock"

# The index of the GID that stands for the RNIC's IPv4 address is the same on both.
gid=$("$build/bin/rnicctl" show device --socket "$work/a.sock" |
	awk -v address="$address_a" '$3 == address { print $2 }')

say "ibv_rc_pingpong, data checked"
across ibv_rc_pingpong -g "$gid" -c -n 1000

say "ib_write_bw"
across ib_write_bw -x "$gid" -F -s 65536 -n 5000 --report_gbits

say "the first packets, as Wireshark reads them"
stop_rnic $rnic_b
start_rnic b --capture b.pcapng
across ibv_rc_pingpong -g "$gid" -s 100 -n 4
stop_rnic $rnic
tshark -r "$work/b.pcapng" -c 12 --disable-protocol rpcordma --disable-protocol infiniband.eoib \
	2>/dev/null | cut -c 1-110

say "it works"
echo "Programs: $build/bin. Try: $build/bin/rnic-run ib_write_bw, and in a second terminal"
echo "$build/bin/rnic-run ib_write_bw 127.0.0.1"
