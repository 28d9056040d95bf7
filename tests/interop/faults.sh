#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same programs on a network that misbehaves, both ways: faults.sh TOPOLOGY PORT FAMILY FAULT
. "$(dirname "$0")/lib.sh"

fault=$4
topology_start "$1" "$2" "$3" --fault "$fault,seed=1@SIDE"

PAIR_SECONDS=100
count=100
[ -z "$LONG" ] || count=1000

pair_run ibv_rc_pingpong -c -n 500
pair_run ibv_rc_pingpong -c -e -n 200
pair_run ibv_rc_pingpong -c -s 262144 -n 20
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
		 'timeout' in k)}")"
done
check "the faults struck" holds 0 counters "any(v for k, v in rows.items() if 'fault' in k)"

topology_finish
