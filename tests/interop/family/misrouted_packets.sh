#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Packets that the kernel gives to the lane of another user: misrouted_packets.sh PORT FAMILY
#
# A receiver's kernel merges packets of one source port (GRO), and gives all of them to the lane of
# the first. A peer that sends from one port to the lanes of two users so makes misrouted packets.
# They reach their queue pairs all the same. The peer here is a daemon without lanes, which sends
# packets one by one, to lanes that are eight apart from one port.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/user_programs.sh"

require_users
topology_start netns-1500 "$1" "$2"
# A veth gives packets to GRO only while the sending end has no TCP segmentation offload; with "gro
# on" alone nothing merges.
on 0 ethtool -K veth0 gro on && on 1 ethtool -K veth1 tso off tx-udp-segmentation off ||
	skip_test "this veth cannot send packets one by one"
# GRO waits so long for another packet to merge with.
on 0 sh -c "echo 1000000 >/sys/class/net/veth0/gro_flush_timeout" ||
	skip_test "this kernel does not let GRO wait"
end_process "${side_pid[1]}"
wait "${side_pid[1]}"
daemon_prefix=(python3 "$INTEROP/host/refuse_calls.py" steering)
side_options[1]+=" --segmentation off"
daemon_restart 1

# stream_start UID PORT PROGRAM...: a program that compares what it receives, on side 0 as this
# user, and its client. Adds to the lists servers and clients.
stream_start() {
	local uid=$1 number=$2
	shift 2
	(
		side_user[0]=$uid
		exec_program 0 "$@" -p "$number" -g "${side_gid[0]}"
	) >"$WORK/server$number.out" 2>&1 &
	servers+=($!)
	own $!
	wait_for 20 server_listens_or_ended $! "$number"
	exec_program 1 "$@" -p "$number" -g "${side_gid[1]}" "$server_address" \
		>"$WORK/client$number.out" 2>&1 &
	clients+=($!)
	own $!
}

counter() {
	query 0 counters "rows['$1']"
}

# Both users' programs run at a time: the packets to one lie between those to the other.
streams_run() {
	local process before failed=0
	servers=() clients=()
	before=$(counter misrouted_pkts)
	stream_start $user_a 7980 "$@"
	stream_start $user_b 7981 "$@"
	for process in "${servers[@]}" "${clients[@]}"; do
		wait_for $((60 + ${SLOW:-0} * 180)) has_ended "$process"
		end_process "$process"
		wait "$process" || failed=1
	done
	cat "$WORK"/server798?.out "$WORK"/client798?.out >"$WORK/streams.out"
	if [ $failed -eq 0 ]; then
		pass "$* for two users"
	else
		fail "$* for two users" "$WORK/streams.out"
	fi
	misrouted=$(($(counter misrouted_pkts) - before))
	echo "# $misrouted packets were misrouted; lost in all: $(counter misrouted_lost_pkts)"
}

# hold_lane UID: this user has a lane as long as the test lasts.
hold_lane() {
	(
		side_user[0]=$1
		exec_program 0 ibv_asyncwatch -d rnic0
	) >"$WORK/holder$1.out" 2>&1 &
	holders+=($!)
	own $!
	wait_for 20 grep -qF "async event" "$WORK/holder$1.out"
}

holders=()
hold_lane $user_a
for ((number = 1; number < 8; number++)); do hold_lane $((32000 + number)); done
hold_lane $user_b
check "the peer has one lane" holds 1 device "rows['lane_count'] == 1"
# The two streams must overlap: the second one may start late.
for rounds in 300 1000 3000; do
	streams_run ibv_rc_pingpong -c -s 65536 -n $rounds -m 1024
	[ "$misrouted" -le 100 ] || break
done
check "misrouted packets came" test "$misrouted" -gt 100
streams_run ibv_rc_pingpong -c -s 1000 -n 5000
check "misrouted packets came" test "$misrouted" -gt 0
check "few of all were lost" \
	test "$(counter misrouted_lost_pkts)" -lt $(($(counter misrouted_pkts) / 10))
for holder in "${holders[@]}"; do end_process "$holder"; done
wait_for 15 has_no_device 0
topology_finish
