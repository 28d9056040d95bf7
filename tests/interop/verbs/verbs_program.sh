#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A test that calls libibverbs itself, on a device with one address: verbs_program.sh PROGRAM PORT
. "$(dirname "$0")/../lib.sh"

program=$1
limit=${LONG:+1800}
limit=${limit:-120}
topology_start one "$2" 4

rnic 0 timeout "$limit" "$BUILD/tests/$program" >"$WORK/$program" 2>&1
status=$?
grep -E "^\[ +(OK|FAILED)|^(among|a million|mapped|kernel|skipped)" "$WORK/$program"
if [ $status -eq 0 ]; then pass "$program"; else fail "$program" "$WORK/$program"; fi

topology_finish
