#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Remote procedure calls between two hosts, or on one: rpc.sh TOPOLOGY PORT FAMILY [FAULTS]
#
# Whatever the network does, calls succeed and none is executed twice; what cannot succeed (no
# answer, no service, a server that dies or is not there) ends with its own status and in time.
. "$(dirname "$0")/lib.sh"

options=()
[ -z "${4:-}" ] || options=(--fault "$4")
topology_start "$1" "$2" "$3" "${options[@]}"

host=${side_address[0]}
port=7791
count=2000
[ -z "$SLOW" ] || count=300

server_is_ready_or_ended() {
	has_ended "$server_pid" || cm_is_ready
}

# What the server waits for is that the daemon knows it, and that one before it is gone.
server_start() {
	wait_for 10 holds 0 cm "rows == []"
	RNIC_SOCKET=${side_socket[0]} exec_on 0 "$BIN/rpc_echo" serve $port \
		>"$WORK/rpc-server.out" 2>&1 &
	server_pid=$!
	processes+=($!)
	wait_for 20 server_is_ready_or_ended
}

# expect STATUS WHAT NUMBER: the client's call ends so, within a minute.
expect() {
	local wanted=$1 status
	RNIC_SOCKET=${side_socket[1]} on 1 timeout 60 "$BIN/rpc_echo" "$2" "$host" $port "$3" \
		>"$WORK/rpc-client.out" 2>&1
	status=$?
	if [ $status -eq "$wanted" ]; then
		pass "$2 $3 ends with $wanted"
	else
		fail "$2 $3 ends with $status, not $wanted" "$WORK/rpc-client.out"
	fi
}

ok=0 cancelled=1 deadline_exceeded=2 no_service=3 unavailable=8 outcome_unknown=9

server_start
for bytes in 0 1 64 943 4096 65536 1000000; do expect $ok echo $bytes; done
expect $ok add $count
expect $deadline_exceeded hold 300
expect $cancelled cancel 0
expect $no_service stranger 0

# The server dies while it has a call that has no deadline.
RNIC_SOCKET=${side_socket[1]} exec_on 1 "$BIN/rpc_echo" hold "$host" $port 0 \
	>"$WORK/rpc-hold.out" 2>&1 &
client_pid=$!
processes+=($!)
check "the client has a session" \
	wait_for 20 grep -q "a session with the server is open" "$WORK/rpc-hold.out"
kill -KILL "$server_pid"
wait "$server_pid" 2>/dev/null
check "the call of a server that died ends" wait_for 30 has_ended "$client_pid"
end_process "$client_pid"
wait "$client_pid"
check "with OUTCOME_UNKNOWN" test $? -eq $outcome_unknown
expect $unavailable echo 10

# Another incarnation serves again, also a client that called before it was there.
RNIC_SOCKET=${side_socket[1]} exec_on 1 "$BIN/rpc_echo" echo "$host" $port 10 \
	>"$WORK/rpc-early.out" 2>&1 &
client_pid=$!
processes+=($!)
server_start
wait_for 30 has_ended "$client_pid"
end_process "$client_pid"
wait "$client_pid"
check "a call before the server was there" test $? -eq $ok
expect $ok echo 100000
end_process "$server_pid"
wait "$server_pid" 2>/dev/null
topology_finish
