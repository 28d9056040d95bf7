#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The static probes of a running device, by gdb and the example of the tree: probes.sh
here=$(dirname "$0")
. "$here/../lib.sh"
. "$here/../daemon_family.sh"

command -v gdb >/dev/null || skip_test "there is no gdb"
gdb -q -batch -ex "info probes stap rnic" "$BUILD/libexec/rnicd-device" 2>/dev/null |
	grep -q packet_sent || skip_test "the build has no probes: <sys/sdt.h> is missing"

topology_start one socket 4
pair_start ibv_rc_pingpong -s 1000 -n 100000000
wait_for 20 test -n "$(device_of 0)"
device=$(device_of 0)
timeout 60 gdb -q -batch -p "$device" -x "$here/../../../tools/examples/gdb_probes.py" \
	>"$WORK/events" 2>"$WORK/gdb.err"
for event in wqe_fetched packet_sent packet_received cqe_delivered; do
	check "$event was seen" grep -qE "^$event +QP [0-9]+ " "$WORK/events"
done
check "40 events were seen" \
	test "$(grep -cE "^[a-z_]+ +QP [0-9]+[ ,]" "$WORK/events")" = 40
check "a message of 1000 bytes was one of them" \
	grep -qE "^packet_sent .*, 1000 bytes" "$WORK/events"
check "the program goes on" is_running "$client_pid"
check "the device goes on" is_running "$device"
end_process "$client_pid"
end_process "$server_pid"
topology_finish
