#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls of librdmacm that no program of the distribution makes in this way: cm_calls.sh PORT
. "$(dirname "$0")/../lib.sh"

topology_start one "$1" 4

timeout 120 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" "$BUILD/tests/cm_calls" \
	"${side_address[0]}" >"$WORK/cm_calls" 2>&1
status=$?
grep -E "^\[ +(OK|FAILED)" "$WORK/cm_calls"
if [ $status -eq 0 ]; then pass "cm_calls"; else fail "cm_calls" "$WORK/cm_calls"; fi

topology_finish
