#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Messages to the connection manager from the address and the port of a peer, by somebody who knows
# all but the random numbers of the connection: what they end, what they draw, and what they take
# from others. RNIC_TEST_DIRECT=1: the device is in the program that is attacked.
. "$(dirname "$0")/../interop/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
connections=400
pairs=5

# forge WAY [OWN RNIC]
forge() {
	python3 "$here/forged_requests.py" "$1" "${2:-$loopback.3}" "${3:-${side_address[0]}}"
}

# server_start MODE COUNT: a program accepts connections at port 7174 of side 0.
server_start() {
	exec_program 0 "$BUILD/tests/connection_load" "$1" "${side_address[0]}" 7174 "$2" \
		>"$WORK/server.out" 2>&1 &
	server_pid=$!
	own $server_pid
	check "a program listens" wait_for 20 cm_is_ready
}

# under_flood ADDRESS: sets `rate`, the set-ups in a second of side 1 while somebody floods ADDRESS.
under_flood() {
	local flood_pid
	: >"$WORK/flood.out"
	python3 "$here/forged_requests.py" flood "$loopback.4" "$1" >"$WORK/flood.out" 2>&1 &
	flood_pid=$!
	own $flood_pid
	wait_for 20 grep -q floods "$WORK/flood.out" || return 1
	(exec_program 1 "$BUILD/tests/connection_load" connect "${side_address[0]}" 7174 \
		$connections 8) >"$WORK/rate.out"
	rate=$(sed -n 's/.*"connections_per_second": \([0-9.]*\).*/\1/p' "$WORK/rate.out")
	kill -KILL $flood_pid
	wait $flood_pid 2>/dev/null
	[ -n "$rate" ]
}

# flood_leaves_half: the median of alternating pairs.
flood_leaves_half() {
	local i rates=()
	for ((i = 0; i < pairs; i++)); do
		under_flood "$loopback.9" || return 1 # nobody is there
		rates+=("$rate")
		under_flood "${side_address[0]}" || return 1
		rates+=("$rate")
	done
	python3 -c "
import statistics, sys
rates = [float(text) for text in sys.argv[1:]]
ratios = [under / beside for beside, under in zip(rates[::2], rates[1::2])]
print('set-ups a second, beside and under the flood:', rates)
sys.exit(statistics.median(ratios) < 0.5)" "${rates[@]}"
}

topology_start one socket 4
server_start endure 3
check "10,000 forgeries of each kind end no living connection" forge living
sed 's/^/#     /' "$WORK/check.out"
check "those that lacked a number are counted" \
	holds 0 counters "rows['cm_unproven'] >= 40000 and rows['cm_named_living'] >= 9000"
check "a peer that has forgotten its connection gets in" forge restart
sed 's/^/#     /' "$WORK/check.out"
check "its old connection ended for want of a sign of life" \
	holds 0 counters "rows['cm_peers_gone'] == 1"
check "the program has seen three connections end" wait_for 20 has_ended $server_pid

if [ -n "${RNIC_TEST_DIRECT:-}" ]; then
	# The rest is the control plane's alone.
	daemon_finish 0
	side_pid[0]=""
	test_finish
fi
server_start endure $((2 * pairs * connections))
check "a forged request draws three datagrams at most" forge amplify
sed 's/^/#     /' "$WORK/check.out"
check "a flood leaves others half of their set-ups" flood_leaves_half
sed 's/^/#     /' "$WORK/check.out"
check "the flood was held to its share" holds 0 counters "rows['cm_peer_share'] > 0"
check "the program has seen all others come and go" wait_for 20 has_ended $server_pid
daemon_finish 0
side_pid[0]=""
test_finish
