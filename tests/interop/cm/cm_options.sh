#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls of librdmacm that no program of the distribution makes: cm_options.sh PORT
. "$(dirname "$0")/../lib.sh"

command -v tshark >/dev/null || skip_test "tshark is not installed"
capture=$WORK/options.pcapng
topology_start one "$1" 4 --capture "$capture" --cm-tos 72

timeout 60 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" \
	"$BUILD/tests/cm_options" "${side_address[0]}" >"$WORK/options" 2>&1
status=$?
grep -E "^\[ +(OK|FAILED)" "$WORK/options"
if [ $status -eq 0 ]; then pass "cm_options"; else fail "cm_options" "$WORK/options"; fi
cm_run rping -s -a "${side_address[0]}" -C 5 -- rping -c -a "${side_address[0]}" -C 5
daemon_finish 0
side_pid[0]=""

# with_tos WHAT FILTER: some of them are in the capture, with the type of service of the test.
with_tos() {
	check "$1 of a connection with a type of service have it" test \
		"$(count_packets "$capture" "($2) && ip.dsfield == 0x68")" -gt 0
}

with_tos "messages" "infiniband.mad.attributeid == 0x10 || infiniband.mad.attributeid == 0x14"
with_tos "answers" "infiniband.mad.attributeid == 0x13"
with_tos "data" "infiniband.bth.opcode == 4"
with_tos "acknowledgements" "infiniband.bth.opcode == 17"
has_default() {
	[ "$(count_packets "$capture" "$1 && ip.dsfield == 0x48")" -gt 0 ]
}
check "a connection without one has that of --cm-tos" \
	has_default "infiniband.mad.attributeid == 0x10"
check "in its data, too" has_default "infiniband.bth.opcode == 4"
test_finish
