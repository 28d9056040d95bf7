#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# How tshark reads the samples: samples_capture.sh TOPOLOGY PORT FAMILY
#
# Between hosts by the samples' own capture command, beside the client; else by rnicd --capture.
. "$(dirname "$0")/../lib.sh"

scripts=$INTEROP/../../tools/examples/modular-samples/scripts
command -v tshark >/dev/null || skip_test "tshark is not installed"
capture=$WORK/side1.pcapng
captures=() # processes

# capture_start SIDE FILE
capture_start() {
	exec_on "$1" "$scripts/capture.sh" "veth$1" "$2" 2>"$2.log" &
	captures+=($!)
	own $!
	check "capture.sh starts" wait_for 20 grep -q "listening on" "$2.log"
}

# exchange PORT: both examples.
exchange() {
	cm_run "$BIN/samples/rdma_server" -n 1 "$1" -- \
		"$BIN/samples/rdma_client" -s 5000 -c 3 "${side_address[0]}" "$1"
	cm_run "$BIN/samples/rdma_server_imm" -n 1 $(($1 + 1)) -- \
		"$BIN/samples/rdma_client_imm" -s 5000 -c 7 "${side_address[0]}" $(($1 + 1))
}

has_both_ends() {
	[ "$(count_packets "$capture" "infiniband.mad.attributeid == 0x16")" -ge 2 ]
}

if [ "$1" = pair ]; then
	topology_start "$@" --capture "$WORK/side@SIDE.pcapng"
	exchange 7471
	daemon_finish 0
	daemon_finish 1
	side_pid=("" "")
else
	topology_start "$@"
	# Each daemon notices, while it has traffic, that someone in its namespace captures.
	capture_start 0 "$WORK/first0.pcap"
	capture_start 1 "$WORK/first1.pcap"
	exchange 7461
	capture_start 1 "$capture"
	exchange 7471
	wait_for 20 has_both_ends
	for pid in "${captures[@]}"; do end_process "$pid"; done
fi

# has COUNT WHAT FILTER: so many packets of the capture pass, or more where some came again.
has() {
	local found
	found=$(count_packets "$capture" "$3")
	check "tshark reads $2 ($found)" test "$found" -ge "$1"
}

opcode() {
	local codes="$*"
	echo "infiniband.bth.opcode in {${codes// /,}}"
}

has 1 "example 1's REQ" "infiniband.cm.req.serviceid.dport == 7471"
has 1 "example 2's REQ" "infiniband.cm.req.serviceid.dport == 7472"
has 2 "REP" "infiniband.mad.attributeid == 0x13"
has 2 "RTU" "infiniband.mad.attributeid == 0x14"
has 2 "DREQ" "infiniband.mad.attributeid == 0x15"
has 2 "DREP" "infiniband.mad.attributeid == 0x16"
has 3 "the last packets of WRITEs" "$(opcode 0x08 0x0a)"
has 4 "READs" "$(opcode 0x0c)"
has 4 "their answers" "$(opcode 0x0d 0x10)"
has 7 "WRITEs with immediate" "$(opcode 0x09 0x0b)"
for number in 0 6; do
	has 1 "the immediate data of message $number" "infiniband.immdt == 00:00:00:0$number"
done
has 7 "replies" "$(opcode 0x04)"
check "all are RoCEv2" test "$(count_packets "$capture" frame)" -eq \
	"$(count_packets "$capture" infiniband.bth)"
# By every dissector, also those that guess.
check "no dissector finds anything malformed" test -z \
	"$(tshark -r "$capture" -Y _ws.malformed -T fields -e frame.protocols 2>/dev/null)"
grep -oE '`infiniband[^`]*`' "$scripts/../README.md" | tr -d '`' | while read -r filter; do
	tshark -r "$capture" -c 1 -Y "$filter" >/dev/null 2>&1 || echo "$filter"
done >"$WORK/no_fields"
check "the README's filters are filters" test ! -s "$WORK/no_fields"
check "nothing is malformed" test "$(count_packets "$capture" _ws.malformed)" -eq 0
check "every ICRC is right" python3 "$INTEROP/icrc_check.py" "$capture"
topology_finish
