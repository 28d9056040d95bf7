#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Remote procedure calls between two hosts, or on one:
#
#     rpc.sh TOPOLOGY PORT FAMILY [FAULTS|none [--ud|--rc]]
#
# By this transport or by both: whatever the network does, calls succeed and none is executed twice;
# what cannot succeed (no answer, no service, a server, a client or a daemon that dies or is not
# there) ends with its own status and in time.
. "$(dirname "$0")/../lib.sh"
[ "${4:-}" != none ] || set -- "${@:1:3}" "" "${@:5}"

options=()
[ -z "${4:-}" ] || options=(--fault "$4")
topology_start "$1" "$2" "$3" "${options[@]}"

host=${side_address[0]}
port=7791
declare -A many
count=2000
large=5000000
# By transport: takes seconds, so that the network goes meanwhile. With faults, a connection
# rests for an ACK timeout now and then.
many=([--ud]=1000000 [--rc]=1000000)
[ -z "${4:-}" ] || many=([--ud]=300000 [--rc]=600000) large=500000
[ -z "$SLOW" ] || many=([--ud]=100000 [--rc]=100000) count=300
transport=() # an option of the client
waiting=()   # likewise

ok=0 cancelled=1 deadline_exceeded=2 no_service=3 unavailable=8 outcome_unknown=9 internal=10
too_large=11

server_is_ready_or_ended() {
	has_ended "$server_pid" || grep -q "^port" "$WORK/rpc-server.out"
}

# What the server waits for is that the one before it has left its port.
server_start() {
	wait_for 10 holds 0 cm "not any(r['state'] == 'listening' for r in rows)"
	rm -f "$WORK/rpc-server.out"
	RNIC_SOCKET=${side_socket[0]} exec_on 0 "$BIN/rpc_echo" serve $port \
		>"$WORK/rpc-server.out" 2>&1 &
	server_pid=$!
	own $!
	wait_for 20 server_is_ready_or_ended
	is_running "$server_pid" || fail "the server starts" "$WORK/rpc-server.out"
}

server_kill() {
	signal_process KILL "$server_pid"
	wait "$server_pid" 2>/dev/null
}

# client WHAT NUMBER: replaces the shell.
client() {
	RNIC_SOCKET=${side_socket[1]} exec_on 1 \
		"$BIN/rpc_echo" "${transport[@]}" "${waiting[@]}" "$1" "$host" $port "$2"
}

# client_begin WHAT NUMBER: in the background. Output in $WORK/rpc-begun.out.
client_begin() {
	rm -f "$WORK/rpc-begun.out"
	client "$@" >"$WORK/rpc-begun.out" 2>&1 &
	client_pid=$!
	own $!
}

client_begin_held() {
	client_begin hold 0
	check "the client has a conversation" \
		wait_for 20 grep -q "a conversation with the server is open" "$WORK/rpc-begun.out"
}

# client_ends STATUS WHAT: the one in the background, within half a minute.
client_ends() {
	expect_end 30 "$client_pid" "$1" "$2" "$WORK/rpc-begun.out"
}

# expect STATUS WHAT NUMBER: the client's call ends so, within a minute.
expect() {
	(client "$2" "$3") >"$WORK/rpc-client.out" 2>&1 &
	client_pid=$!
	own $!
	expect_end 60 "$client_pid" "$1" "$2 $3" "$WORK/rpc-client.out"
}

judge_calls() {
	for bytes in 0 1 64 943 4096 65536 1000000; do expect $ok echo $bytes; done
	for bytes in 131060 140000 $large; do expect $ok echo $bytes; done
	for bytes in 0 1 $((10 * large)); do expect $ok pour $bytes; done
	expect $internal pour -$large
	expect $ok spill $((10 * large))
	expect $too_large echo 100000000
	expect $ok add $count
	expect $deadline_exceeded hold 300
	expect $cancelled cancel 0
	expect $no_service stranger 0
}

# The server dies while it has a call that has no deadline, and another incarnation comes.
judge_server_death() {
	client_begin_held
	server_kill
	client_ends $outcome_unknown "the call of a server that died"
	server_start
	client_begin pour 100000000000
	check "a stream flows" \
		wait_for 20 grep -q "the first bytes have come" "$WORK/rpc-begun.out"
	server_kill
	client_ends $outcome_unknown "the stream of a server that died"
	began=${EPOCHREALTIME/./}
	expect $unavailable echo 10
	check "a call to a port where nobody listens ends without a timeout" \
		test $((${EPOCHREALTIME/./} - began)) -lt 10000000
	check "and says so" grep -q "nobody listens at port $port" "$WORK/rpc-client.out"
	waiting=(--wait)
	client_begin echo 10
	server_start
	client_ends $ok "a call before the server was there"
	waiting=()
	expect $ok echo 100000
}

# A client that dies leaves its place to others.
judge_client_death() {
	client_begin_held
	signal_process KILL "$client_pid"
	wait "$client_pid" 2>/dev/null
	client_begin pour 100000000000
	check "a stream flows" \
		wait_for 20 grep -q "the first bytes have come" "$WORK/rpc-begun.out"
	signal_process KILL "$client_pid"
	wait "$client_pid" 2>/dev/null
	expect $ok echo 100
}

# The network is gone, as the server's daemon stands still, until the client has lost its
# conversation in the middle of very many calls. In the next conversation none is lost, and none is
# executed twice.
judge_lost_conversation() {
	server_kill
	server_start
	client_begin add "${many[${transport[0]:---ud}]}"
	check "the client calls" \
		wait_for 20 grep -q "a conversation with the server is open" "$WORK/rpc-begun.out"
	daemon_stop 0
	check "the client loses its conversation" \
		wait_for 30 grep -q "the conversation has ended" "$WORK/rpc-begun.out"
	daemon_continue 0
	client_ends $ok "calls over two conversations"
	server_kill
	server_start
}

# judge_daemon_death SIDE: of the server's daemon, or of the client's.
judge_daemon_death() {
	client_begin_held
	daemon_kill "$1"
	client_ends $outcome_unknown "the call over side $1's daemon, which died,"
	daemon_restart "$1"
	if [ "$1" = 0 ]; then
		wait_for 10 has_ended "$server_pid"
		check "the server ends with its daemon" has_ended "$server_pid"
		server_start
	fi
	expect $ok echo 10
}

# A number beyond the ports is no port, and not the number modulo 65536.
judge_ports() {
	local number
	for number in 65536 70000 -1 7x; do
		RNIC_SOCKET=${side_socket[1]} on 1 "$BIN/rpc_echo" echo "$host" "$number" 1 \
			>"$WORK/rpc-port.out" 2>&1
		check "a client of port $number" grep -q "is no port" "$WORK/rpc-port.out"
		RNIC_SOCKET=${side_socket[0]} on 0 timeout 10 "$BIN/rpc_echo" serve "$number" \
			>"$WORK/rpc-port.out" 2>&1
		check "a server at port $number" grep -q "is no port" "$WORK/rpc-port.out"
	done
}

judge_ports
server_start
for option in ${5:---ud --rc}; do
	echo "# transport $option"
	transport=()
	[ "$option" = --ud ] || transport=("$option") # it is the default
	judge_calls
	judge_client_death
	judge_server_death
	[ "$1" = one ] || judge_lost_conversation
done
if [ "$1" != one ] && [ -z "${4:-}" ] && [ "${5:-}" != --ud ]; then
	judge_daemon_death 1
	judge_daemon_death 0
fi
end_process "$server_pid"
wait "$server_pid" 2>/dev/null
topology_finish
