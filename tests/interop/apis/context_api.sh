#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The context API between two programs: context_api.sh TOPOLOGY PORT FAMILY [FAULTS]
#
# With faults only what takes part in them is run: transfers, not the failures.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/survival.sh"

survival_start "$1" "$2" "$3" context_program 7590 "${4:-}"

start_server
for scenario in transfer threads shared; do run_client $scenario; done
run_alone context_alone "${side_address[0]}"
run_alone context_verbs "${side_address[0]}"
if [ -z "$faults" ]; then
	run_client wrong
	lose_server
	survive_all survive
	run_client transfer
fi
survival_finish
