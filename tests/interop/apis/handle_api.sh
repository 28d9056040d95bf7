#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The handle API between two programs, and in one:
#
#     handle_api.sh TOPOLOGY PORT FAMILY [FAULTS|none [SURVIVAL]]
#
# With faults only what takes part in them is run: transfers, not the failures. SURVIVAL is one of
# the ways to survive (survive, survive-polling), each of which takes half a minute; else both.
. "$(dirname "$0")/../lib.sh"
[ "${4:-}" != none ] || set -- "${@:1:3}" "" "${@:5}"
. "$(dirname "$0")/survival.sh"

survival_start "$1" "$2" "$3" handle_program 7690 "${4:-}"

ipv4_address=${side_address[0]}
[ "$3" = 4 ] || ipv4_address=$server_address

refused_keys() {
	query 0 counters "rows['access_errors']"
}

# The document's example prints nothing when its made-up key is refused.
run_example() {
	local before
	before=$(refused_keys)
	run_alone handle_example
	check "the example says nothing of success" test ! -s "$WORK/alone"
	check "and was refused" test "$(refused_keys)" -eq $((before + 1))
}

start_server
for scenario in transfer threads; do run_client $scenario; done
if [ -z "$faults" ]; then
	# A refusal that is lost comes no second time: the queue pair that refused has failed.
	run_alone handle_alone
	run_client wrong
	run_example
	run_alone handle_beside_rdmacm "$ipv4_address"
	lose_server
	for scenario in ${5:-survive survive-polling}; do survive_all "$scenario"; done
	run_client transfer
fi
survival_finish
