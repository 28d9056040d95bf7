#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# How connections fail, explained at both ends: refused_connections.sh PORT
. "$(dirname "$0")/../lib.sh"

topology_start pair "$1" 4
port=$((20000 + $$ % 20000))

# explained SIDE CAUSE QUESTION...: rnicctl explain names it first.
explained() {
	on "$1" "$BIN/rnicctl" explain --json --socket "${side_socket[$1]}" "${@:3}" \
		>"$WORK/explained" 2>&1
	grep -qF "\"cause\":\"$2\"" <(head -n 1 "$WORK/explained")
}

# is_named WHAT SIDE CAUSE QUESTION...
is_named() {
	if wait_for 5 explained "${@:2}"; then
		pass "$1, side $2: explained by $3"
	else
		fail "$1, side $2: explained by $3" "$WORK/explained" "$WORK/client.out"
	fi
}

# connect_to ADDRESS: a client at side 1.
connect_to() {
	exec_program 1 rping -c -a "$1" -p $port -C 1 >"$WORK/client.out" 2>&1 &
	client_pid=$!
	own $client_pid
}

# says_wait PID: of side 0's listener, whose address and port are told.
says_wait() {
	on 0 "$BIN/rnicctl" explain --socket "${side_socket[0]}" "$1" >"$WORK/explained" 2>&1
	grep -qF "connection listening at ${side_address[0]} port $port" "$WORK/explained" &&
		grep -qF "WAITS FOR: a peer's request for a connection to port $port" \
			"$WORK/explained"
}

# A program in its TCP exchange has opened the device, and made nothing.
exec_program 0 ib_write_bw -p $port >"$WORK/server.out" 2>&1 &
server_pid=$!
own $server_pid
is_named "the peer never comes" 0 UNUSED_DEVICE $server_pid
end_process $server_pid

connect_to "${side_address[0]}"
wait_for 20 has_ended $client_pid
is_named "nobody listens" 1 CM_NO_LISTENER $client_pid
is_named "nobody listens" 0 CM_NO_LISTENER --last

exec_program 0 "$BUILD/tests/rejecting_server" "${side_address[0]}" $port >"$WORK/server.out" 2>&1 &
server_pid=$!
own $server_pid
wait_for 20 grep -q listens "$WORK/server.out"
connect_to "${side_address[0]}"
wait_for 20 has_ended $client_pid
check "the server refused" wait $server_pid
is_named "the program refuses" 1 CM_REFUSED $client_pid
check "the chain has both messages" grep -q "sent REQ.*received REJ" "$WORK/explained"

exec_program 0 rping -s -a "${side_address[0]}" -p $port -C 1 >"$WORK/server.out" 2>&1 &
server_pid=$!
own $server_pid
check "a listener says for what it waits" wait_for 5 says_wait $server_pid
check "the link goes down" on 0 "$BIN/rnicctl" link --socket "${side_socket[0]}" down
says_down() {
	says_wait $server_pid && grep -qF "; the link is down: rnicctl link up" "$WORK/explained"
}
check "and why no request comes" wait_for 5 says_down
connect_to "${side_address[0]}"
is_named "the listener's link is down" 1 CM_UNANSWERED $client_pid
check "nothing came back at all" grep -qF "nothing at all came back" "$WORK/explained"
is_named "the listener's link is down" 1 LINK_DOWN --peer "${side_socket[0]}" $client_pid
kill $client_pid
wait_for 20 has_ended $client_pid
check "the link comes up" on 0 "$BIN/rnicctl" link --socket "${side_socket[0]}" up
connect_to "${side_address[0]}"
wait_for 20 has_ended $client_pid
wait_for 20 has_ended $server_pid
is_named "the peer disconnects" 0 CM_DISCONNECTED $server_pid

# What the control plane says for a program that was killed is no word of the peer's.
exec_program 0 rping -s -a "${side_address[0]}" -p $port >"$WORK/server.out" 2>&1 &
server_pid=$!
own $server_pid
wait_for 20 says_wait $server_pid
exec_program 1 rping -c -a "${side_address[0]}" -p $port >"$WORK/client.out" 2>&1 &
client_pid=$!
own $client_pid
wait_for 20 holds 1 cm "any(row['state'] == 'connected' for row in rows)"
signal_process KILL $client_pid
wait_for 20 has_ended $client_pid
says_late() {
	on 1 "$BIN/rnicctl" explain --socket "${side_socket[1]}" $client_pid \
		>"$WORK/explained" 2>&1
	grep -q "sent DREQ of the connection.*when its program had let go" "$WORK/explained"
}
wait_for 10 says_late || cat "$WORK/explained"
check "what was said for a program that was killed is in the chain" says_late
check "and no cause" sh -c "! grep -qE 'CM_(REFUSED|DISCONNECTED)' '$WORK/explained'"
is_named "the peer is killed" 0 CM_DISCONNECTED $server_pid
end_process $server_pid

connect_to "$loopback.77"
is_named "no device at the peer" 1 CM_UNANSWERED $client_pid
kill $client_pid
wait_for 20 has_ended $client_pid

topology_finish
