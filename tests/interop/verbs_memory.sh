#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Memory and handles that no program of the distribution uses in this way: verbs_memory.sh PORT
. "$(dirname "$0")/lib.sh"

topology_start one "$1" 4

timeout 60 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" "$BUILD/tests/verbs_memory" \
	>"$WORK/verbs_memory" 2>&1
status=$?
grep -E "^\[ +(OK|FAILED)" "$WORK/verbs_memory"
if [ $status -eq 0 ]; then pass "verbs_memory"; else fail "verbs_memory" "$WORK/verbs_memory"; fi

topology_finish
