#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What an RNIC says on queue pair 1: to a stranger on a plain socket, and as tshark reads it.
#
#     cm_wire.sh uring|socket
. "$(dirname "$0")/../lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
capture=$WORK/cm.pcapng

# dissects COUNT FILTER: exactly so many packets of the capture pass.
dissects() {
	[ "$(count_packets "$capture" "$2")" -eq "$1" ]
}

command -v tshark >/dev/null || skip_test "tshark is not installed"
topology_start one "$1" 4 --capture "$capture"
check "a stranger is answered" python3 "$here/cm_stranger.py" "$loopback.3" "${side_address[0]}"
check "all of it is counted" holds 0 counters \
	"rows['cm_rcvd_mads'] == 3 and rows['cm_sent_mads'] == 3 and rows['cm_malformed'] == 0"

# One connection to connection_load, which is not in a hurry.
"$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" "$BUILD/tests/connection_load" \
	serve "${side_address[0]}" 7174 1 >"$WORK/server.out" 2>&1 &
server_pid=$!
own $server_pid
check "a program listens" wait_for 20 cm_is_ready
check "a stranger connects" python3 "$here/cm_stranger.py" "$loopback.3" "${side_address[0]}" \
	$server_pid
check "its program has seen it come and go" wait $server_pid
daemon_finish 0
side_pid[0]=""
check "tshark reads the request, and its port" \
	dissects 3 "infiniband.mad.attributeid == 0x10 && infiniband.cm.req.serviceid.dport == 7174"
check "tshark reads the refusal" dissects 1 "infiniband.cm.rej.reason == 8"
check "tshark reads the plea for patience" dissects 1 "infiniband.mad.attributeid == 0x11"
check "tshark reads the answer" dissects 1 "infiniband.mad.attributeid == 0x13"
check "tshark reads that there is no other path" dissects 1 "infiniband.mad.attributeid == 0x1a"
check "tshark reads the farewells" dissects 2 "infiniband.mad.attributeid == 0x16"
check "every ICRC is right" python3 "$INTEROP/icrc_check.py" "$capture"
check "nothing is malformed" test -z "$(tshark -r "$capture" -Y _ws.malformed 2>/dev/null)"
test_finish
