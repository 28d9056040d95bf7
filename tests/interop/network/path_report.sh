#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What rnicctl says of long paths, and of a timeout that is too short for one: path_report.sh PORT
# The hosts are the ends of a wire with a round trip, tests/bench/path_forwarder.c.
. "$(dirname "$0")/../lib.sh"

peer=10.77.0.1

# path EXPRESSION: true of `row`, the client's path.
path() {
	holds 1 paths "[row for row in rows if row['peer_gid'] == '$peer' and ($1)]"
}

# reaches WHAT EXPRESSION
reaches() {
	if wait_for 20 path "$2"; then
		pass "$1"
	else
		control 1 paths >"$WORK/paths"
		fail "$1" "$WORK/paths"
	fi
}

# start PORT MS: the daemons, on a wire whose round trip takes so many milliseconds.
start() {
	local side
	echo "# $2 ms, $1${direct[*]:+, ${direct[*]}}"
	make_wire 9000 --round-trip "$2"
	for side in 0 1; do
		daemon_start $side --netdev veth$side --port "$1"
		side_address[side]=10.77.0.$((side + 1))
		find_gid $side "${side_address[$side]}"
	done
}

finish() {
	local side
	for side in 0 1; do daemon_finish $side; done
	end_process "$wire_pid"
	for side in 0 1; do ip netns delete "${side_namespace[$side]}"; done
}

end_pair() {
	end_process "$client_pid"
	end_process "$server_pid"
	wait "$client_pid" "$server_pid"
}

another_user_sees_none() {
	control 1 paths | grep -q "$peer" &&
		on 1 setpriv --reuid 31007 --regid 31007 --clear-groups \
			"$BIN/rnicctl" show --socket "${side_socket[1]}" paths | grep -q "no paths"
}

# A round trip of 40 ms, and a timeout of 67 ms.
start "$1" 40
pair_start ib_write_bw -F -c RC -s 65536 -t 512 -u 14 -D 600
reaches "the round trip is that of the path" "40000 <= row['least_round_trip_us'] < 45000"
reaches "the rate and the window follow it" "row['rate_mbit_per_s'] > 100 and
	row['window_bytes'] > 2 << 20 and row['in_flight_bytes'] > 1 << 20 and row['qps'] == 1"
reaches "the path holds the program back" "row['limit'] in ('window', 'pace', 'loss')"
check "another user sees no path" another_user_sees_none
check "the timeout fits the path" holds 1 qps "all(row['timeout'] == '' for row in rows)"
end_pair
pair_start ib_write_bw -F -c RC -s 8 -t 1 -u 14 -D 600
reaches "a program that waits for each answer holds itself back" "row['limit'] == 'program'"
end_pair
pair_start ib_send_bw -F -c RC -s 4096 -t 512 -u 14 -D 600
reaches "the program sends" "row['in_flight_bytes'] > 0"
signal_process STOP "$server_pid"
reaches "a program that takes nothing holds the other back" "row['limit'] == 'peer'"
signal_process CONT "$server_pid"
end_pair
finish

# 100 ms, and a timeout of 67 ms.
start "$1" 100
pair_start ib_write_bw -F -c RC -s 8 -t 1 -u 14 -D 600
reaches "a round trip beyond the timeout is measured" "100000 <= row['least_round_trip_us']"
check "the queue pair says so" holds 1 qps "any(row['timeout'].startswith(
	'the timeout of 67 ms is shorter than the path\'s round trip of 1') for row in rows)"
signal_process STOP "$wire_pid"
check "the program's troubles, too" wait_for 30 holds 1 troubles "any(
	'timeout of 67 ms is shorter' in row['reason'] for row in rows)"
signal_process CONT "$wire_pid"
end_pair
finish
test_finish
