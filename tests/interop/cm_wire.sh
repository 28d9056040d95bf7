#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What an RNIC says on queue pair 1: to a stranger on a plain socket, and as tshark reads it.
#
#     cm_wire.sh uring|socket
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
capture=$WORK/cm.pcapng

# dissects FILTER: exactly one packet of the capture passes.
dissects() {
	[ "$(tshark -r "$capture" -Y "$1" -T fields -e frame.number 2>/dev/null | wc -l)" -eq 1 ]
}

command -v tshark >/dev/null || skip_test "tshark is not installed"
topology_start one "$1" 4 --capture "$capture"
check "a stranger is answered" python3 "$here/cm_stranger.py" "$loopback.3" "${side_address[0]}"
check "all of it is counted" holds 0 counters \
	"rows['cm_rcvd_mads'] == 3 and rows['cm_sent_mads'] == 3 and rows['cm_malformed'] == 0"
daemon_finish 0
side_pid[0]=""
check "tshark reads the request, and its port" \
	dissects "infiniband.mad.attributeid == 0x10 && infiniband.cm.req.serviceid.dport == 7174"
check "tshark reads the refusal" dissects "infiniband.cm.rej.reason == 8"
check "tshark reads the farewell" dissects "infiniband.mad.attributeid == 0x16"
check "every ICRC is right" python3 "$here/icrc_check.py" "$capture"
check "nothing is malformed" test -z "$(tshark -r "$capture" -Y _ws.malformed 2>/dev/null)"
test_finish
