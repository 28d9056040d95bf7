#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rnic-lab as its user meets it: lab.sh TOPOLOGY PORT FAMILY [FAULTS]
#
# What its manual shows, at a terminal and from a pipe; and what cannot be (a range outside, a peer
# that dies, stops or was never there) ends with a reason, in time and with a status that says so.
. "$(dirname "$0")/../lib.sh"

options=()
[ -z "${4:-}" ] || options=(--fault "$4")
topology_start "$1" "$2" "$3" "${options[@]}"
. "$(dirname "$0")/lab_programs.sh"

# ---- send ----

server_start "" send
check "send, at a terminal" terminal "expect > " "type Hello, RDMA!" "expect Server acknowledged" \
	"expect > " "type again" "expect Server acknowledged" "expect > " end -- send
printf 'one\n\nthree\n' | client send --segments 3
check "send, from a pipe" test $? -eq 0
check "send: nothing but answers" says client.out "$(yes 'Server acknowledged' | head -n 3)"
seq 300 | client send
check "send, 300 messages" test $? -eq 0
check "send: all of them in order" says server.out \
	"$(printf 'Received: %s\n' 'Hello, RDMA!' again one '' three $(seq 300) | cat)"
head -c 5000 /dev/zero | tr '\0' x | client send
check "send: a line that is too long" test $? -eq 1
printf 'x\n' | client read
check "another mode is refused" grep -q 'refuses: this server serves "send"' "$WORK/client.err"
terminal "expect > " interrupt -- send >"$WORK/client.out"
check "Ctrl-C ends a client" test $? -eq 130

# ---- a peer that is gone, or never was one ----

head -c 300 /dev/urandom | on 1 timeout 5 python3 -c "
import socket, sys
peer = socket.create_connection(('$host', $next_port))
peer.sendall(sys.stdin.buffer.read())
while peer.recv(100): pass" 2>"$WORK/garbage.err"
echo still there | client send
check "garbage does not stop the server" test $? -eq 0

connect_in_silence 64
echo still there | client send
check "64 who connect and say nothing do not keep a client out" test $? -eq 0
check "and one of them gave way" grep -q "make room for another" "$WORK/server.err"
end_process "$silent_pid"

client_start send
echo first >&$typing
check "a message before the end" wait_for 20 grep -q acknowledged "$WORK/client.out"
second_client() {
	echo meanwhile | rnic 1 timeout 60 "$BIN/rnic-lab" send -p $next_port "$host"
}
check "a second client does not wait for the first" second_client
signal_process KILL "$client_pid"
wait "$client_pid" 2>/dev/null
exec {typing}>&-
echo still there | client send
check "a client that was killed does not stop the server" test $? -eq 0

client_start send
echo first >&$typing
wait_for 20 grep -q acknowledged "$WORK/client.out"
signal_process KILL "$server_pid"
wait "$server_pid" 2>/dev/null
client_fails "the server was killed" "the server is gone"

client_start send --tries 8
server_start_again "" send
echo hello >&$typing
check "a client that was there first finds the server" \
	wait_for 20 grep -q acknowledged "$WORK/client.out"
exec {typing}>&-
client_ends "its input ends" 0

client_start send --timeout 2
echo hello >&$typing
wait_for 20 grep -q acknowledged "$WORK/client.out"
stopped=$(pgrep -P "$server_pid")
signal_process STOP $stopped
echo hello >&$typing
client_fails "the server stopped" "the peer does not answer"
signal_process CONT $stopped
server_stop
echo nobody | client send --tries 2
check "no server" grep -q "cannot reach.*tried 2 times" "$WORK/client.err"

server_start "" send --once
connect_in_silence 1 "peers.clear()"
end_process "$silent_pid"
connect_in_silence 1
echo last | client send
check "a server for one client serves it, whoever says nothing" test $? -eq 0
end_process "$silent_pid"
check "a server for one client: it ends by itself" wait_for 20 has_ended "$server_pid"
wait "$server_pid"
check "and well" test $? -eq 0

server_start "" send
seq 100000 | rnic 1 timeout 60 "$BIN/rnic-lab" send -p $next_port "$host" 2>"$WORK/client.err" |
	head -n 1 >"$WORK/first"
check "a client whose output nobody reads: status 1" test "${PIPESTATUS[1]}" -eq 1
check "and it says why" grep -q "nobody reads" "$WORK/client.err"
server_stop

# ---- write ----

server_start "" write --buffer-size 10000
check "write, at a terminal" terminal "expect > " "type Writing directly to server memory" \
	"expect Message sent successfully" "expect > " end -- write
head -c 9999 /dev/zero | tr '\0' y | client write --buffer-size 20000 --segments 32 --mtu 256
check "write, 9999 bytes in 32 pieces" test $? -eq 0
head -c 10001 /dev/zero | tr '\0' y | client write --buffer-size 20000
check "write: more than the server has" grep -q "more than 10000 bytes" "$WORK/client.err"
seq 300 | client write
check "write, 300 messages" test $? -eq 0
check "write: all of them in order" says server.out \
	"$(printf 'Received: %s\n' 'Writing directly to server memory' \
		"$(head -c 9999 /dev/zero | tr '\0' y)" $(seq 300))"
server_stop

# ---- read ----

server_start "Hello from server memory!" read
check "read, at a terminal" terminal "expect Enter range (start end): " "type 0 5" \
	"expect Read data (6 bytes from position 0): Hello " "expect Enter range" end -- read
terminal "expect Enter range" "type 11 99" "expect outside the stored text" "expect Enter range" \
	end -- read >"$WORK/client.out"
check "read: a range outside" test $? -eq 1
printf '0 24\n24 24\n6 9\n' | client read --segments 5
check "read, from a pipe" test $? -eq 0
check "read: what was asked for" says client.out \
	"Read data (25 bytes from position 0): Hello from server memory!
Read data (1 bytes from position 24): !
Read data (4 bytes from position 6): from"
for range in "0 25" "25 25" "5 4" "x" "0 4294967296" "-1 3"; do
	echo "$range" | client read
	check "read: no range \"$range\"" test $? -eq 1
	check "and nothing is shown" test ! -s "$WORK/client.out"
done
server_stop
on 0 "$BIN/rnic-lab" read </dev/null >"$WORK/server.out" 2>&1
check "read: a server without a text" test $? -eq 1
rnic 0 "$here/lab_terminal.py" "expect Enter text to store: " "type Hello" "expect listening" \
	interrupt -- "$BIN/rnic-lab" read -p 0 >"$WORK/server.out"
check "read: a server at a terminal" test $? -eq 0

topology_finish
