#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tests/bench/run.sh [--quick] [--rounds N] [--only REGEX] [--json FILE] [--build DIR]: prints one
# table of what the RNIC does, beside what TCP and plain UDP do in the same minutes on the same
# machine. It makes two network namespaces joined by a veth (MTU 9000), an rnicd in each, the same
# once more with daemons that lose packets, and with daemons of an ordinary user, and removes all of
# it again. The columns of the direct path have no numbers with -DRNIC_DIRECT=OFF.
#
#   --quick      a fraction of a second for each number, one round: for a check that it works
#   --rounds N   how often everything is measured (3)
#   --only REGEX only the rows whose names match, and what they are compared with
#   --json FILE  also write all samples there
#   --build DIR  a build tree to use as it is (else build/ is brought up to date)
#   --paths      instead: what paths of 0.2 to 100 ms carry, beside TCP in the same delay; an hour
#                with three rounds
#   --loss-map   instead: what paths carry that lose packets, beside TCP
#   --crowds     instead: many senders, programs with several round trips, many queue pairs
#
# Exit status: 0, 1 when a number is missing, 77 when it cannot run here (it needs root).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=
json=
only=
paths= # a part of bench_paths.py
quick=
rounds=3
seconds=2
qps=64

usage() {
	sed -n '4,21s/^# \{0,1\}//p' "$0"
	exit "$1"
}

while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=--quick rounds=1 seconds=0.3 qps=16 ;;
	--rounds) rounds=${2:?} && shift ;;
	--only) only=${2:?} && shift ;;
	--json) json=${2:?} && shift ;;
	--build) build=${2:?} && shift ;;
	--paths | --loss-map | --crowds) paths=${1#--} ;;
	--help | -h) usage 0 ;;
	*) usage 1 >&2 ;;
	esac
	shift
done

skip() {
	echo "bench: skipped: $1" >&2
	exit 77
}

[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
if [ -z "$build" ]; then
	build=$root/build
	"$root/tools/install-packages.sh" build bench
	# A tree without tests, such as that of tools/quickstart.sh, gets them.
	cmake -S "$root" -B "$build" -G Ninja -DRNIC_TESTS=ON -DRNIC_VERBS=ON -DRNIC_APIS=ON \
		>/dev/null
	direct=()
	if grep -q '^RNIC_DIRECT:BOOL=ON' "$build/CMakeCache.txt"; then
		direct=(rnic_direct rnic_guard_preload)
	fi
	cmake --build "$build" --target rnicd rnic-run rnicctl "${direct[@]}" \
		rnic_ibverbs rnic_rdmacm udp_baseline connection_load rpc_bench first_completion \
		queues_bench many_qps path_forwarder \
		>/dev/null
fi
for program in ip iperf3 ib_write_bw python3; do
	command -v "$program" >/dev/null || skip "there is no $program"
done

export PYTHONDONTWRITEBYTECODE=1
if [ -n "$paths" ]; then
	[ -c /dev/net/tun ] || skip "there is no /dev/net/tun"
	exec python3 "$here/bench_paths.py" "$paths" --build "$build" --rounds "$rounds" \
		${quick:+"$quick"} ${only:+--only "$only"} ${json:+--json "$json"}
fi

work=$(mktemp -d)
chmod 755 "$work" # programs of ordinary users connect to the sockets in it
left=rnicbench-l$$
right=rnicbench-r$$
daemons=()
sockets=() # of the daemons
as_user=() # the command before rnicd that makes the daemon an ordinary user's
own_hosts=()

cleanup() {
	trap - EXIT
	for pid in "${daemons[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	for pid in "${daemons[@]}"; do
		wait "$pid" 2>/dev/null || true
	done
	ip netns delete "$left" 2>/dev/null || true
	ip netns delete "$right" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

ip netns add "$left" 2>/dev/null || skip "no right to make a network namespace"
ip netns add "$right"
ip -n "$left" link set lo up
ip -n "$right" link set lo up

# set_up_end NAMESPACE NETDEV ADDRESS
set_up_end() {
	ip netns exec "$1" sysctl -q -w "net.ipv6.conf.$2.accept_dad=0" 2>/dev/null || true
	ip -n "$1" address add "$3/24" dev "$2"
	ip -n "$1" link set "$2" mtu 9000 up
}

# set_up_link NETDEV LEFT_ADDRESS RIGHT_ADDRESS
set_up_link() {
	ip -n "$left" link add "$1" type veth peer name "$1" netns "$right"
	set_up_end "$left" "$1" "$2"
	set_up_end "$right" "$1" "$3"
}

# start_daemon NAMESPACE NETDEV SOCKET [OPTION...]
start_daemon() {
	ip netns exec "$1" "${as_user[@]}" "$build/bin/rnicd" --netdev "$2" --socket "$3" "${@:4}" \
		>"$3.log" 2>&1 &
	daemons+=($!)
	sockets+=("$3")
}

# wait_for_daemon PID SOCKET: until it answers, or is gone, or a good while is over.
wait_for_daemon() {
	local deadline=$((SECONDS + 20))
	until "$build/bin/rnicctl" show --socket "$2" >/dev/null 2>&1; do
		if ! kill -0 "$1" 2>/dev/null || [ $SECONDS -ge $deadline ]; then
			echo "bench: no rnicd: $(tail -n 3 "$2.log")" >&2
			exit 1
		fi
	done
}

set_up_link bench0 192.0.2.1 192.0.2.2
set_up_link bench1 198.51.100.1 198.51.100.2
start_daemon "$left" bench0 "$work/left"
start_daemon "$right" bench0 "$work/right"
start_daemon "$left" bench1 "$work/lossy-left" --fault drop=1%,seed=1
start_daemon "$right" bench1 "$work/lossy-right" --fault drop=1%,seed=2

# The first of USERS in bench_family.py.
own_user=(setpriv --reuid 31001 --regid 31001 --clear-groups)
if "${own_user[@]}" test -x "$build/bin/rnicd" -a -x "$build/libexec/rnicd-device"; then
	own=$work/own
	install -d -o 31001 -g 31001 "$own"
	set_up_link bench2 203.0.113.1 203.0.113.2
	as_user=(env "XDG_RUNTIME_DIR=$own" "${own_user[@]}")
	start_daemon "$left" bench2 "$own/left"
	start_daemon "$right" bench2 "$own/right"
	own_hosts=(--own-hosts "$left,203.0.113.1,$own/left,${daemons[4]}"
		"$right,203.0.113.2,$own/right,${daemons[5]}")
fi
for number in "${!daemons[@]}"; do
	wait_for_daemon "${daemons[number]}" "${sockets[number]}"
done

python3 "$here/measure.py" --build "$build" --rounds "$rounds" --seconds "$seconds" --qps "$qps" \
	--output "$work/samples" --hosts "$left,192.0.2.1,$work/left,${daemons[0]}" \
	"$right,192.0.2.2,$work/right,${daemons[1]}" \
	--lossy-hosts "$left,198.51.100.1,$work/lossy-left,${daemons[2]}" \
	"$right,198.51.100.2,$work/lossy-right,${daemons[3]}" "${own_hosts[@]}" \
	${only:+--only "$only"}
python3 "$here/table.py" "$work/samples" ${json:+--json "$json"}
