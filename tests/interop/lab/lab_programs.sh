# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# rnic-lab on both sides, for the tests of its modes: source it after lib.sh and topology_start.

here=$(dirname "$0")
host=$server_address
[ "${side_address[0]}" = "${side_address[0]/:/}" ] || host=${side_address[0]}

# server_start INPUT MODE OPTION...: rnic-lab on side 0, fed by INPUT, on a port of its own.
server_start() {
	next_port=$((next_port + 1))
	while is_listening 0 $next_port; do next_port=$((next_port + 1)); done
	server_start_again "$@"
}

# The same on the port that the last one had. It does not hold the client's input open.
server_start_again() {
	local input=$1
	shift
	(
		[ -z "${typing:-}" ] || exec {typing}>&-
		exec_on 0 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" "$BIN/rnic-lab" \
			"$@" -p $next_port
	) <<<"$input" >"$WORK/server.out" 2>"$WORK/server.err" &
	server_pid=$!
	own $!
	wait_for 20 server_listens_or_ended $server_pid $next_port
}

# server_stop: it goes on until it is told to end, and ends well.
server_stop() {
	signal_process TERM "$server_pid"
	wait_for 10 has_ended "$server_pid" || signal_process KILL "$server_pid"
	wait "$server_pid"
	check "the server ends on SIGTERM" test $? -eq 0
}

# client MODE OPTION...: rnic-lab on side 1 with our standard input; its status.
client() {
	local mode=$1
	shift
	rnic 1 timeout 60 "$BIN/rnic-lab" "$mode" -p $next_port "$@" "$host" \
		>"$WORK/client.out" 2>"$WORK/client.err"
}

# client_start MODE OPTION...: in the background, with an input that stays open: $typing.
client_start() {
	local mode=$1
	shift
	rm -f "$WORK/typed" "$WORK/client.out"
	mkfifo "$WORK/typed"
	exec_on 1 "$BIN/rnic-run" --no-daemon --socket "${side_socket[1]}" "$BIN/rnic-lab" "$mode" \
		-p $next_port "$@" "$host" <"$WORK/typed" >"$WORK/client.out" 2>"$WORK/client.err" &
	client_pid=$!
	own $!
	exec {typing}>"$WORK/typed"
}

# client_ends WHAT STATUS: the one in the background, in time and so.
client_ends() {
	check "$1: the client ends" wait_for 30 has_ended "$client_pid"
	end_process "$client_pid"
	wait "$client_pid"
	check "$1: with status $2" test $? -eq "$2"
}

# client_fails WHAT REASON: it ends with 1 and this reason, though its input does not.
client_fails() {
	client_ends "$1" 1
	check "$1: and says why" grep -q "$2" "$WORK/client.err"
	exec {typing}>&-
}

# terminal STEP... -- MODE OPTION...: the client at a terminal.
terminal() {
	local steps=() mode
	while [ "$1" != -- ]; do
		steps+=("$1")
		shift
	done
	mode=$2
	shift 2
	rnic 1 "$here/lab_terminal.py" "${steps[@]}" -- "$BIN/rnic-lab" "$mode" -p $next_port "$@" \
		"$host"
}

# says FILE TEXT: these are its lines, all of them.
says() {
	printf '%s\n' "$2" | diff - "$WORK/$1" >"$WORK/difference"
}

# connect_in_silence COUNT [MORE]: so many connections that say nothing, and in Python what then.
connect_in_silence() {
	rm -f "$WORK/silent.out"
	exec_on 1 python3 -c "
import signal, socket
peers = [socket.create_connection(('$host', $next_port)) for _ in range($1)]
${2:-}
print('connected', flush=True)
signal.pause()" >"$WORK/silent.out" &
	silent_pid=$!
	own $!
	wait_for 20 grep -q connected "$WORK/silent.out"
}
