#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same programs on a network that misbehaves, both ways: faults.sh TOPOLOGY PORT FAMILY FAULT
. "$(dirname "$0")/../lib.sh"

fault=$4
topology_start "$1" "$2" "$3" --fault "$fault,seed=1@SIDE"

PAIR_SECONDS=$((100 * (${SLOW:-0} * 3 + 1)))
count=100
[ -z "$LONG" ] || count=1000

left_early() {
	[ "$1" -eq 0 ] && [ "$2" -ne 0 ] && grep -q "transport retry counter exceeded" "$3"
}

# A ping-pong ends without a word: the side that has all it wants leaves, and when its last
# acknowledgement is lost, the other side asks for it in vain. Such a run is done again.
pingpong() {
	local attempt
	for attempt in 1 2 3; do
		pair_start ibv_rc_pingpong -c "$@"
		pair_wait $PAIR_SECONDS
		left_early "$client_status" "$server_status" "$WORK/server.out" ||
			left_early "$server_status" "$client_status" "$WORK/client.out" || break
		echo "#     attempt $attempt: the last acknowledgement was lost"
	done
	pair_judge "ibv_rc_pingpong -c $*"
}

pingpong -n 500
pingpong -e -n 200
pingpong -s 262144 -n 20
for verb in write read send; do
	pair_run ib_${verb}_bw -F -c RC -u 12 -s 65536 -n $count
	pair_run ib_${verb}_bw -F -c RC -u 12 -s 8 -q 4 -n $((count * 10))
	pair_run ib_${verb}_lat -F -c RC -u 12 -s 1024 -n $count
done
pair_run ib_write_bw -F -c RC -u 12 -s 1048576 -b -n 20
pair_run ib_atomic_bw -F -c RC -u 12 -q 4 -n $((count * 5))
pair_run ib_atomic_lat -F -c RC -u 12 -n $count

# A fault that never struck would prove nothing.
for side in 0 1; do
	[ -n "${side_pid[$side]}" ] || continue
	echo "#     side $side: $(query $side counters "{k: v for k, v in rows.items() if v and
		('fault' in k or 'retrans' in k or 'dup' in k or 'seq' in k or 'icrc' in k or
		 'timeout' in k or 'probe' in k)}")"
done
check "the faults struck" holds 0 counters "any(v for k, v in rows.items() if 'fault' in k)"

topology_finish
