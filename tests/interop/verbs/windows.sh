#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Memory windows, invalidation, FLUSH and ATOMIC WRITE from a program to the wire: windows.sh PORT
#
# What tshark knows of it must be well-formed, and icrc_check.py must find every ICRC valid. tshark
# 4.0 has no dissector for FLUSH and ATOMIC WRITE, whose packets it is not asked about.
. "$(dirname "$0")/../lib.sh"

file=$WORK/windows0.pcapng

has() {
	check "$1 is there" test "$(count_packets "$file" "infiniband.bth.opcode == $2")" -gt 0
}

topology_start pair "$1" 4 --capture "$WORK/windows@SIDE.pcapng"
check "windows, invalidation, FLUSH, ATOMIC WRITE" \
	"$RNIC_BUILD/tests/window_program" "${side_socket[0]}" "${side_socket[1]}"
check "no window is left" wait_for 10 holds 0 mws "rows == []"
check "the responder counted two FLUSHes" holds 0 counters "rows['rcvd_flush_requests'] == 2"
daemon_finish 0
daemon_finish 1
side_pid=("" "")
has "SEND ONLY with invalidate" 23
has "FLUSH" 28
has "ATOMIC WRITE" 29
known="infiniband.bth.opcode < 28"
check "none is malformed" test "$(count_packets "$file" "$known && _ws.malformed")" -eq 0
check "none has an expert error" \
	test "$(count_packets "$file" "$known && _ws.expert.severity >= 0x00800000")" -eq 0
check "every ICRC is valid" python3 "$INTEROP/icrc_check.py" "$file"
test_finish
