#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A daemon that may open few descriptors: few_lanes.sh TOPOLOGY PORT FAMILY
#
# Each lane costs a descriptor at each address. The daemon serves as many users as that allows, and
# says how many.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/user_programs.sh"

require_users
user_c=31003
# Two users, root, and the control plane, 51 descriptors for each at most, with half of all
# descriptors.
daemon_prefix=(prlimit --nofile=414:414)
topology_start "$@"

check "the log says how many users" \
	grep -q "users at a time that are served: 3, because of few descriptors" \
	"$WORK/daemon0.log"
check "rnicctl too" holds 0 device "rows['lanes'] == '3' and rows['lane_count'] == 3"
program_start a $user_a
program_start b $user_b
check "the first user is served" program_works a
check "the second too" program_works b
check "a third user is refused" new_program_fails $user_c
check "for no lane is left" grep -q "no lane is left" "$WORK/refused.out"
check "the last one is for root" grep -q "is kept for root" "$WORK/refused.out"
check "and root gets in" new_program_works 0
check "another program of the first user is served" new_program_works $user_a
program_end a
device_signal KILL 0 $user_a
check "a lane that ended serves the third" wait_for 5 new_program_works $user_c
program_end b
topology_finish
