#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Marks of congestion on the wire and what answers them: congestion.sh TOPOLOGY PORT FAMILY
#
# Both daemons mark some of what they send in the IP header, as a switch with a long queue does. The
# other one finds the marks by its socket, answers with notifications, and is slowed down by those
# that it gets. tshark and icrc_check.py, which share no code with the project, judge the packets.
. "$(dirname "$0")/../lib.sh"

topology_start "$@" --ecn on --fault mark=2% --capture "$WORK/side@SIDE.pcapng"
pair_run ib_write_bw -F -c RC -s 65536 -n 300
pair_run ib_read_bw -F -c RC -s 65536 -n 300
pair_run ib_write_bw -F -c UC -s 65536 -n 100
for side in 0 1; do
	check "side $side finds marks" holds $side counters "rows['ecn_marked'] > 0"
	check "side $side answers them" holds $side counters "rows['cnps_sent'] > 0"
	check "side $side is told of them" holds $side counters "rows['cnps_received'] > 0"
done
for side in 0 1; do daemon_finish $side; done

field=ip.dsfield
[ "$3" = 4 ] || field=ipv6.tclass
for side in 0 1; do
	file=$WORK/side$side.pcapng
	notifications="infiniband.bth.opcode == 0x81"
	check "side $side: notifications are on the wire" \
		test "$(count_packets "$file" "$notifications")" -gt 0
	as_they_should_be="$field.dscp == 48 && $field.ecn == 0 && infiniband.bth.b == 1"
	check "side $side: all have DSCP 48, no ECN, and BECN" test "$(count_packets "$file" \
		"$notifications && !($as_they_should_be)")" -eq 0
	check "side $side: all else may be marked" test "$(count_packets "$file" \
		"infiniband.bth && !($notifications) && $field.ecn != 2 && $field.ecn != 3")" -eq 0
	check "side $side: some of it is" \
		test "$(count_packets "$file" "infiniband.bth && $field.ecn == 3")" -gt 0
	check "side $side: none is malformed" \
		test "$(count_packets "$file" _ws.malformed)" -eq 0
	check "side $side: every ICRC is valid" python3 "$INTEROP/icrc_check.py" "$file"
done
test_finish
