#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# rnic-lab trace: its lines are what tcpdump saw on the same interface meanwhile, packet for packet
# and in this order, and the steps stand where they belong. trace_judge.py compares, tshark reads.
. "$(dirname "$0")/../lib.sh"

here=$INTEROP/lab
[ -n "${RNIC_TEST_ISOLATED:-}" ] && [ "$(id -u)" -eq 0 ] ||
	skip_test "tcpdump needs root, and an interface that nobody else uses"
unset RNIC_DIRECT RNIC_SOCKET

is_watching() {
	[ "$(awk 'NR > 1' /proc/net/packet | wc -l)" -gt 0 ]
}

# traces NAME ARGUMENT...: a session, whose trace is $WORK/NAME.json. All come into $WORK/all.json.
traces() {
	local name=$1
	shift
	check "$name: trace $*" timeout 60 "$BIN/rnic-lab" trace --json "$@"
	cp "$WORK/check.out" "$WORK/$name.json"
	cat "$WORK/$name.json" >>"$WORK/all.json"
}

# counts NAME COUNT WORDS: so many lines of the trace have the words.
counts() {
	check "$1: $2 times $3" test "$(grep -c -- "$3" "$WORK/$1.json")" -eq "$2"
}

tcpdump -i lo -U -s 9200 -B 65536 --immediate-mode -w "$WORK/lo.pcap" udp port 4791 \
	>"$WORK/tcpdump.log" 2>&1 &
own $!
tcpdump=$!
wait_for 10 is_watching || fail "tcpdump starts" "$WORK/tcpdump.log"

traces send send
traces imm write-imm --bytes 1024 --count 2 --mtu 512
traces read read --count 2
traces add add
traces lost write --fault drop@rc-write-middle/first=1
traces unheard write --bytes 10 --ack-timeout 10 --fault drop@rc-acknowledge/first=1
traces late send --bytes 100 --receive-after 3
traces gone write --bytes 9 --ack-timeout 8 --retry-count 2 --fault drop@rc-write
traces broken write --bytes 50 --ack-timeout 10 --fault corrupt@rc-write/first=1

signal_process INT "$tcpdump"
wait_for 10 has_ended "$tcpdump"
check "tcpdump lost nothing" grep -q '^0 packets dropped by kernel' "$WORK/tcpdump.log"
tshark -r "$WORK/lo.pcap" -T fields -e ip.src -e infiniband.bth.opcode -e infiniband.bth.destqp \
	-e infiniband.bth.psn -e infiniband.bth.padcnt -e udp.length -e infiniband.aeth.syndrome \
	>"$WORK/seen" 2>"$WORK/tshark.log"
check "the traces are what tcpdump saw" \
	python3 -B "$here/trace_judge.py" "$WORK/all.json" "$WORK/seen"
awk '!/"opcode":17/ || seen++' "$WORK/all.json" >"$WORK/short.json"
is_found() {
	! python3 -B "$here/trace_judge.py" "$1" "$WORK/seen"
}
check "a trace that leaves out a packet is found" is_found "$WORK/short.json"

counts lost 1 '"lost":true'
counts lost 1 "NAK: 1001 is missing"
check "lost: and sent again" grep -q '"what":"WRITE MIDDLE","meaning":"again' "$WORK/lost.json"
check "unheard: B answers again" grep -q "has it, answers again" "$WORK/unheard.json"
counts late 1 '"what":"completion","meaning":"receive 1: success"'
check "late: B is not ready before" grep -q "RNR NAK: 1000 found no receive" "$WORK/late.json"
counts gone 3 '"lost":true'
counts gone 1 "transport retry counter exceeded"
counts broken 1 '"lost":true'

# ---- for people ----

"$BIN/rnic-lab" trace send --bytes 10 >"$WORK/text"
check "no colours in a file" test "$(grep -c $'\033' "$WORK/text")" -eq 0
check "an arrow for each packet" test "$(grep -c -- '---' "$WORK/text")" -eq 2
script -qec "$BIN/rnic-lab trace send --bytes 10" /dev/null >"$WORK/terminal" </dev/null
check "colours on a terminal" test "$(grep -c $'\033' "$WORK/terminal")" -eq 2
NO_COLOR=1 script -qec "$BIN/rnic-lab trace send --bytes 10" /dev/null >"$WORK/plain" </dev/null
check "but none with NO_COLOR" test "$(grep -c $'\033' "$WORK/plain")" -eq 0

# ---- what cannot be ----

refuses() {
	local words=$1
	shift
	! timeout 60 "$@" 2>"$WORK/refusal" >&2 && grep -q "$words" "$WORK/refusal"
}
check "a rule that is none" refuses "expected drop" "$BIN/rnic-lab" trace send --fault nonsense
check "no operation" refuses "trace what: send" "$BIN/rnic-lab" trace
check "another operation" refuses "trace shows send" "$BIN/rnic-lab" trace flush
check "the device in the program" refuses "leave it out" \
	env RNIC_DIRECT=1 "$BIN/rnic-lab" trace send
check "no such directory" refuses "cannot open the directory" \
	"$BIN/rnic-lab" trace send --captures "$WORK/none"
mkdir "$WORK/kept"
check "captures are kept" "$BIN/rnic-lab" trace send --captures "$WORK/kept"
check "and good" "$BIN/rnic-inspect" --quiet "$WORK/kept/a.pcapng"

TMPDIR=$WORK "$BIN/rnic-lab" trace write --fault drop@rc-write --retry-count 7 >"$WORK/ended" 2>&1 &
own $!
tracer=$!
is_at_work() {
	ls "$WORK"/rnic-lab-*/b.sock
}
wait_for 10 is_at_work
signal_process TERM "$tracer"
wait_for 10 has_ended "$tracer"
wait "$tracer"
check "a signal ends it" test $? -eq 143
are_gone() {
	! ls -d "$WORK"/rnic-lab-* && ! pgrep -x rnicd
}
check "and its hosts, and leaves nothing" are_gone
test_finish
