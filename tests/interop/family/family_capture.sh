#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# One capture of several processes: family_capture.sh TOPOLOGY PORT FAMILY
#
# The control plane and the device processes of two users write to one file, and then to one pipe:
# every packet is there whole. A rule of --fault with a count acts in each device process.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/user_programs.sh"

require_users
topology=$1 port_kind=$2 version=$3

# has_all FILE: packets of the connection manager and of both users' lanes, and every ICRC is right.
has_all() {
	python3 "$INTEROP/icrc_check.py" "$1" && python3 - "$INTEROP" "$1" <<'END'
import collections
import sys

sys.path.insert(0, sys.argv[1])
import icrc_check

packets = collections.Counter()
for link, frame, _ in icrc_check.read_packets(sys.argv[2]):
    packet, header_bytes = icrc_check.ip_packet(link, frame)
    qpn = int.from_bytes(packet[header_bytes + 13:header_bytes + 16], "big")
    packets["queue pair 1" if qpn == 1 else qpn >> 16] += 1
print(dict(packets))
lanes = [lane for lane in packets if lane != "queue pair 1"]
assert packets["queue pair 1"] >= 3, "no connection"
assert len(lanes) == 2 and all(lane >= 0x80 for lane in lanes), "not two lanes"
assert all(packets[lane] >= 200 for lane in lanes), "too few packets"
END
}

# traffic_of_two: queue pairs of two users with each other, by the connection manager too.
traffic_of_two() {
	side_user=($user_a $user_b)
	pair_run ibv_rc_pingpong -s 256 -n 200 # which a pipe holds, whoever reads it
	cm_run rping -s -a "${side_address[0]}" -p 7990 -C 50 -- \
		rping -c -a "${side_address[0]}" -p 7990 -C 50
	side_user=("" "")
}

# capture_to WHAT PATH FILE: two users' traffic with --capture PATH, and then look at FILE.
capture_to() {
	topology_start "$topology" "$port_kind" "$version" --capture "$2" \
		--fault "drop@rc-send/first=1"
	traffic_of_two
	check "two processes dropped a packet each" holds 0 counters \
		"sum(v for k, v in rows.items() if k.startswith('fault')) == 2"
	daemon_finish 0
	side_pid[0]=""
	check "nobody says that the capture ended before" \
		bash -c '! grep "capture ends" "$1"' - "$WORK/daemon0.log"
	[ -z "$reader" ] || wait "$reader"
	if has_all "$3" >"$WORK/judged" 2>&1; then
		pass "$1: every packet is whole, and all processes' are there"
	else
		fail "$1: every packet is whole, and all processes' are there" "$WORK/judged"
	fi
}

reader=""
capture_to "a file" "$WORK/file.pcapng" "$WORK/file.pcapng"
mkfifo "$WORK/pipe"
cat "$WORK/pipe" >"$WORK/pipe.pcapng" &
reader=$!
own $reader
capture_to "a pipe" "$WORK/pipe" "$WORK/pipe.pcapng"
test_finish
