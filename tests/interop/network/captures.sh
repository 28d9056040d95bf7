#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What others see of our packets: captures.sh TOPOLOGY PORT FAMILY VIEW
#
#   built-in   the files that rnicd --capture writes
#   comments   what those files say of packets that were lost, refused or repeated
#   wire       a plain tcpdump beside the sender, without any switch
#   segments   GSO batches, cut as a device without offload cuts them, seen by the receiver
#   holes      the files of daemons that lose packets, and tell each other which
#
# tshark must read every packet as RoCEv2 without a malformed one or an expert error, and
# icrc_check.py, which shares no code with the project, must find every ICRC valid.
. "$(dirname "$0")/../lib.sh"

view=$4
family=$3

# judge FILE [OPTION...]: the options are those of icrc_check.py.
judge() {
	local file=$1 all
	shift
	all=$(count_packets "$file" frame)
	check "$(basename "$file") has packets ($all)" test "$all" -gt 100
	check "all are RoCEv2" test "$(count_packets "$file" infiniband.bth)" -eq "$all"
	check "none is malformed" test "$(count_packets "$file" _ws.malformed)" -eq 0
	check "none has an expert error" \
		test "$(count_packets "$file" '_ws.expert.severity >= 0x00800000')" -eq 0
	check "every ICRC is valid" python3 "$INTEROP/icrc_check.py" "$@" "$file"
}

traffic() {
	pair_run ibv_rc_pingpong -c -n 50
	pair_run ibv_rc_pingpong -c -n 10 -s 100001
	for verb in write read send; do
		pair_run ib_${verb}_bw -F -c RC -s 65536 -n 20
		pair_run ib_${verb}_lat -F -c RC -s 3 -n 50
	done
	pair_run ib_atomic_bw -F -c RC -n 50
	pair_run ibv_uc_pingpong -n 50
	pair_run ibv_ud_pingpong -n 50
}

is_capturing() {
	[ "$(on "$1" awk 'NR > 1' /proc/net/packet | wc -l)" -ge "$2" ]
}

# capture_start SIDE FILE COUNT: COUNT is how many captures then run in that namespace.
capture_start() {
	# The buffer holds all packets of the test, each in a slot of the size of -s.
	exec_on "$1" tcpdump -i "veth$1" -U -s 9200 -B 131072 --immediate-mode -w "$2" \
		udp port 4791 >"$WORK/tcpdump.log" 2>&1 &
	own $!
	capture_pid=$!
	wait_for 10 is_capturing "$1" "$3" || fail "tcpdump starts" "$WORK/tcpdump.log"
}

# Everything that was sent is in the file when the daemons are silent and tcpdump has ended.
capture_stop() {
	signal_process INT "$1"
	wait_for 10 has_ended "$1"
	check "tcpdump lost nothing" grep -q '^0 packets dropped by kernel' "$WORK/tcpdump.log"
}

# mistaken MISTAKE: both programs of one mistake to their end.
mistaken() {
	local program=$BUILD/tests/mistaken_program side name
	forget_output meeting server.out client.out
	exec {holder}<>"$WORK/held"
	for side in 0 1; do
		name=$([ $side = 0 ] && echo server || echo client)
		exec_program $side "$program" "$WORK/meeting" $name "${side_gid[$side]}" "$1" \
			<"$WORK/held" {holder}>&- >"$WORK/$name.out" 2>&1 &
		own $!
		wait_for 20 grep -q . "$WORK/$name.out"
	done
	wait_for 20 grep -qE '^(done|completion)' "$WORK/client.out" ||
		fail "$1 comes to its end" "$WORK/client.out"
	exec {holder}>&-
	wait_for 10 has_ended $!
}

# says SIDE PATTERN: a packet in the side's capture has a comment that matches the whole pattern.
says() {
	dissect -r "$WORK/comments$1.pcapng" -T fields -e frame.comment >"$WORK/words"
	if grep -qE "$2" "$WORK/words"; then
		pass "side $1: $2"
	else
		sort "$WORK/words" | uniq -c | sort -rn >"$WORK/kinds"
		fail "side $1: $2" "$WORK/kinds"
	fi
}

case $view in
comments)
	topology_start "$1" "$2" "$family" --capture "$WORK/comments@SIDE.pcapng"
	mkfifo "$WORK/held"
	mistaken wrong_rkey
	mistaken no_receive
	check "side 0 gets a rule" "$BIN/rnicctl" fault --socket "${side_socket[0]}" add \
		"rx:drop=5%,seed=3"
	check "side 1 gets a rule" "$BIN/rnicctl" fault --socket "${side_socket[1]}" add \
		"tx:drop=5%,seed=4"
	pair_run ib_write_bw -F -c RC -s 65536 -n 200
	for side in 0 1; do
		[ -z "${side_pid[$side]}" ] || daemon_finish $side
	done
	says 1 'mistaken_progr.* \(pid [0-9]+\), wr_id 0x[0-9a-f]+'
	says 1 'ib_write_bw \(pid [0-9]+\), wr_id 0x[0-9a-f]+, retransmission'
	says 1 'wr_id 0x[0-9a-f]+, retransmission 1 of 7$'
	says 1 'mistaken_progr.*, wr_id 0x42, retransmission$'
	says 0 '^dropped by rule [0-9]+$'
	says 1 'ib_write_bw \(pid [0-9]+\), wr_id 0x[0-9a-f]+.*, dropped by rule [0-9]+, not sent$'
	check "every ICRC of side 1 is valid" python3 "$INTEROP/icrc_check.py" \
		"$WORK/comments1.pcapng"
	says 0 '[Nn]o receive'
	says 0 'rkey|key'
	says 0 '^packets before this one are missing$'
	test_finish
	;;
built-in)
	topology_start "$1" "$2" "$family" --capture "$WORK/built-in@SIDE.pcapng"
	traffic
	for side in 0 1; do
		[ -z "${side_pid[$side]}" ] || daemon_finish $side
	done
	for file in "$WORK"/built-in*.pcapng; do judge "$file"; done
	test_finish
	;;
wire)
	noticed=()
	topology_start "$1" "$2" "$family"
	# Each daemon notices the first capture in its namespace while this traffic runs; then comes
	# the one that is judged.
	for side in 0 1; do
		capture_start $side /dev/null 1
		noticed+=("$capture_pid")
	done
	pair_run ibv_rc_pingpong -n 5000
	pair_run ib_write_bw -F -c RC -s 65536 -D 1
	capture_start 1 "$WORK/wire.pcap" 2
	traffic
	capture_stop "$capture_pid"
	judge "$WORK/wire.pcap"
	for capture in "${noticed[@]}"; do end_process "$capture"; done
	topology_finish
	;;
holes)
	topology_start "$1" "$2" "$family" --fault drop=1% --capture "$WORK/holes@SIDE.pcapng"
	pair_run ib_write_bw -F -c RC -s 65536 -n 200
	for side in 0 1; do
		[ -z "${side_pid[$side]}" ] || daemon_finish $side
	done
	for file in "$WORK"/holes*.pcapng; do
		judge "$file"
		told=$(count_packets "$file" 'infiniband.bth.opcode == 0xc0')
		check "packets of holes are among them ($told)" test "$told" -gt 0
	done
	test_finish
	;;
segments)
	topology_start "$1" "$2" "$family" --segmentation on
	for side in 0 1; do
		on $side ethtool -K veth$side tx-udp-segmentation off ||
			skip_test "veth$side cannot do without segmentation offload"
	done
	capture_start 0 "$WORK/segments.pcap" 1
	traffic
	capture_stop "$capture_pid"
	if [ "$family" = 4 ]; then
		judge "$WORK/segments.pcap" --segments
	else
		judge "$WORK/segments.pcap"
	fi
	topology_finish
	;;
esac
