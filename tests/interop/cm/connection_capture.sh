#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# How tshark reads the connections of real programs: connection_capture.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

family=$3
command -v tshark >/dev/null || skip_test "tshark is not installed"
topology_start "$1" "$2" "$family" --capture "$WORK/side@SIDE.pcapng"
server=${side_address[0]}
capture=$WORK/side0.pcapng

cm_run rping -s -a "$server" -p 7700 -C 10 -- rping -c -a "$server" -p 7700 -C 10
cm_run ucmatose -b "$server" -p 7701 -c 10 -- ucmatose -s "$server" -p 7701 -c 10
cm_run udaddy -b "$server" -c 10 -- udaddy -s "$server" -c 10
check "nobody listens at another port" bash -c '! "$@"' - "$BIN/rnic-run" --no-daemon \
	--socket "${side_socket[0]}" rping -c -a "$server" -p 7703 -C 1
for side in 0 1; do
	[ -z "${side_pid[$side]}" ] || daemon_finish $side
	side_pid[side]=""
done

# at_least COUNT WHAT FILTER: so many packets of the capture pass.
at_least() {
	local found
	found=$(count_packets "$capture" "$3")
	check "tshark reads $2 ($found)" test "$found" -ge "$1"
}

at_least 1 "rping's REQ, and its port" "infiniband.cm.req.serviceid.dport == 7700"
at_least 10 "ucmatose's" "infiniband.cm.req.serviceid.dport == 7701"
at_least 1 "whom nobody awaited" "infiniband.cm.req.serviceid.dport == 7703"
at_least 12 "REQs of clients' ports" "infiniband.cm.req.ip_cm.sport >= 32768"
at_least 11 "REP" "infiniband.mad.attributeid == 0x13"
at_least 11 "RTU" "infiniband.mad.attributeid == 0x14"
at_least 11 "DREQ" "infiniband.mad.attributeid == 0x15"
at_least 11 "DREP" "infiniband.mad.attributeid == 0x16"
at_least 1 "REJ, and its reason" "infiniband.cm.rej.reason == 8"
at_least 10 "SIDR_REQ" "infiniband.mad.attributeid == 0x17"
at_least 10 "SIDR_REP" "infiniband.mad.attributeid == 0x18"
check "whatever is for queue pair 1 is such a message" test \
	"$(count_packets "$capture" "infiniband.bth.destqp == 1")" -eq \
	"$(count_packets "$capture" "infiniband.mad.mgmtclass == 0x07")"
check "nothing is malformed" test "$(count_packets "$capture" _ws.malformed)" -eq 0
check "every ICRC is right" python3 "$INTEROP/icrc_check.py" "$capture"
test_finish
