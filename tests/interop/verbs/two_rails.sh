#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# UCX with two rails: each program has two devices, and a message goes over both: two_rails.sh PORT
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/ucx.sh"

PAIR_SECONDS=60
size=1048576
rounds=200
long_rounds=2000
for ((side = 0; side < 4; side++)); do
	side_namespace[side]=""
	side_user[side]=""
	side_address[side]=$loopback.$((side + 2))
	daemon_start $side --address "${side_address[side]}" --port "$1"
done
server=(--socket "${side_socket[0]}" --socket "${side_socket[1]}")
client=(--socket "${side_socket[2]}" --socket "${side_socket[3]}")

# sent SIDE: the bytes that its device has sent, headers included.
sent() {
	echo $(($("$BIN/rnic-run" --no-daemon --socket "${side_socket[$1]}" \
		cat /sys/class/infiniband/rnic0/ports/1/counters/port_xmit_data) * 4))
}

# has_sent SIDE BYTES: the counters are written four times a second.
has_sent() {
	[ "$(sent "$1")" -ge "$2" ]
}

# ucx_start RAILS DEVICES ROUNDS SETTING...: ucx_perftest over these devices of each side.
ucx_start() {
	local rounds=$3
	local settings=(UCX_NET_DEVICES="$2" UCX_TLS='rc_verbs,ud_verbs,self'
		UCX_MAX_RNDV_RAILS="$1" UCX_RNDV_SCHEME=put_zcopy UCX_LOG_LEVEL=warn "${@:4}")
	next_port=$((next_port + 1))
	forget_output
	(exec env "${settings[@]}" "$BIN/rnic-run" --no-daemon "${server[@]}" "${direct[@]}" \
		"${ucx_perftest[@]}" -p $next_port) >"$WORK/server.out" 2>&1 &
	server_pid=$!
	own $server_pid
	wait_for 20 server_listens_or_ended $server_pid $next_port
	(exec env "${settings[@]}" "$BIN/rnic-run" --no-daemon "${client[@]}" "${direct[@]}" \
		"${ucx_perftest[@]}" -p $next_port -t tag_bw -s $size -n $rounds -w 10 127.0.0.1) \
		>"$WORK/client.out" 2>&1 &
	client_pid=$!
	own $client_pid
}

ucx() {
	ucx_start "$@"
	pair_wait $((PAIR_SECONDS * (${SLOW:-0} * 3 + 1)))
	pair_judge "ucx_perftest over $2"
}

rail() {
	"$BIN/rnicctl" link "$1" --socket "${side_socket[3]}"
}

# is_under_way: the second rail has carried data of the run.
is_under_way() {
	has_sent 3 $((before + 20 * size))
}

# lose_rail SETTING...: the second rail goes down in the middle of a run.
lose_rail() {
	before=$(sent 3)
	ucx_start 2 rnic0:1,rnic1:1 "$@"
	check "both rails carry data" wait_for 20 is_under_way
	check "a rail goes down" rail down
}

ucx 2 rnic0:1,rnic1:1 $rounds
for side in 2 3; do
	check "a third and more of the data goes over $((side - 2))" \
		wait_for 5 has_sent $side $((size * rounds / 3))
done
before=$(sent 2)
ucx 1 rnic1:1 $rounds
check "a device that is not chosen sends nothing of it" \
	test $(($(sent 2) - before)) -lt $((size * rounds / 10))
# UCX waits for a second, seven times; it has no way to move what a rail has to do to another.
lose_rail $long_rounds
sleep 2 # no poll: the length of the outage is what is tested
check "and comes up" rail up
pair_wait $PAIR_SECONDS
pair_judge "an outage of two seconds of one rail"
lose_rail $long_rounds UCX_RC_TIMEOUT=50ms UCX_RC_RETRY_COUNT=2
check "a longer outage ends the program" wait_for 20 has_ended "$client_pid"
check "which says why" grep -q "transport retry counter exceeded" "$WORK/client.out"
end_process "$server_pid"
rail up
# Nor has it one with error handling: the endpoint is gone, with both rails. The program is told,
# and so is its peer, which sends nothing and finds out by keeping alive.
ucx_perftest+=(-e)
lose_rail $long_rounds UCX_RC_TIMEOUT=50ms UCX_RC_RETRY_COUNT=2 UCX_KEEPALIVE_INTERVAL=1s
for end in client server; do
	check "the error handler of the $end is called" \
		wait_for 20 grep -q "error handler called with status" "$WORK/$end.out"
done
end_process "$client_pid"
end_process "$server_pid"
rail up
for ((side = 0; side < 4; side++)); do daemon_finish $side; done
test_finish
