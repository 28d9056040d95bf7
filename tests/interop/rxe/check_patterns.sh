#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check_patterns.sh: rxe.sh with a pattern that no stage or case matches must fail at once, or a
# misspelt one would pass.
set -u
here=$(cd "$(dirname "$0")" && pwd)
failures=0

# fails_at_once VARIABLE=PATTERN...
fails_at_once() {
	local output status
	output=$(env -u RNIC_RXE_STAGES -u RNIC_RXE_CASES "$@" "$here/rxe.sh" 2>&1)
	status=$?
	if [ $status -ne 1 ] || [[ $output != "FAIL  no case to run: "* ]]; then
		echo "FAIL  $*: status $status: $output"
		failures=$((failures + 1))
	fi
}

# is_listed CASES STAGE: the other way round, a case is found in its stage.
is_listed() {
	local stages
	stages=$(python3 -B "$here/rxe_run.py" --list --only "$1")
	if ! grep -q "^$2:" <<<"$stages"; then
		echo "FAIL  no '$1' in the stage $2"
		failures=$((failures + 1))
	fi
}

fails_at_once RNIC_RXE_STAGES="no such stage"
fails_at_once RNIC_RXE_CASES="no such case"
fails_at_once RNIC_RXE_STAGES=failures RNIC_RXE_CASES="RC outage*"
is_listed "RC SEND, path MTU 256, rxe to rnicd, IPv4" transfers
is_listed "RC atomic, unknown rkey*" failures
is_listed "RC FLUSH, rxe to rnicd, IPv6" scenarios
is_listed "RC all operations, path MTU 1024, rnicd to rxe, IPv6" "drop at rnicd"
is_listed "rping*IPv6, server on rxe" programs
exit $((failures > 0))
