#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The samples when one end goes: samples_death.sh TOPOLOGY PORT FAMILY
#
# Whoever is left ends with an error, or serves the next one, and nobody waits for longer than -t.
. "$(dirname "$0")/../lib.sh"

topology_start "$@"

server=${side_address[0]}
port=7480
endless="-c 100000000"

# begin SUFFIX SERVER-OPTION...: a pair, in the middle of a conversation that has no end.
begin() {
	local suffix=$1
	shift
	port=$((port + 1))
	# shellcheck disable=SC2086 # two words
	cm_start listening "$BIN/samples/rdma_server$suffix" "$@" $port -- \
		"$BIN/samples/rdma_client$suffix" -t $client_patience $endless "$server" $port
	wait_for 20 is_under_way
}

is_under_way() {
	grep -q "^rdma_server.*: client .*: 100000000 messages" "$WORK/server.out" &&
		holds 1 qps "any(r['state'] == 'RTS' for r in rows)"
}

# ends_with STATUS WHO PID: at once, by the clock of who waits for somebody that is gone.
ends_with() {
	expect_end 15 "$3" "$1" "the $2" "$WORK/$2.out"
}

serves() {
	rnic 1 timeout 60 "$BIN/samples/rdma_client$1" -t 30 "$server" $port
}

# said_failed COUNT: so many clients of this server.
said_failed() {
	[ "$(grep -c "^rdma_server.*: client .*: failed" "$WORK/server.out")" -eq "$1" ]
}

for suffix in "" _imm; do
	client_patience=300
	begin "$suffix" -t 300
	signal_process KILL "$server_pid"
	ends_with 1 client "$client_pid"
	wait "$server_pid" 2>/dev/null
	check "and is refused where the server was" bash -c '! "$@"' - \
		timeout 20 "$BIN/rnic-run" --no-daemon --socket "${side_socket[1]}" \
		"$BIN/samples/rdma_client$suffix" -t 300 "$server" $port

	# Another server at the same port serves again, also after a client that died.
	port=$((port - 1))
	begin "$suffix" -n 2 -t 300
	signal_process KILL "$client_pid"
	wait "$client_pid" 2>/dev/null
	check "the client is killed: its server says so" wait_for 15 said_failed 1
	check "and serves the next one" serves "$suffix"
	ends_with 1 server "$server_pid"

	begin "$suffix" -t 300
	signal_process TERM "$server_pid"
	ends_with 1 server "$server_pid"
	ends_with 1 client "$client_pid"

	begin "$suffix" -n 1 -t 300
	signal_process INT "$client_pid"
	ends_with 1 client "$client_pid"
	ends_with 1 server "$server_pid"
done

# A peer that neither answers nor dies.
client_patience=2
begin _imm -n 2 -t 2
signal_process STOP "$server_pid"
ends_with 1 client "$client_pid"
check "it says that nothing came" grep -q "nothing came for 2000 ms" "$WORK/client.out"
signal_process CONT "$server_pid"
check "the server that was stopped goes on" serves _imm
ends_with 1 server "$server_pid"

client_patience=300
begin _imm -n 2 -t 2
signal_process STOP "$client_pid"
check "a client that is silent fails" wait_for 20 said_failed 1
check "and the next one is served" serves _imm
ends_with 1 server "$server_pid"
signal_process CONT "$client_pid"
ends_with 1 client "$client_pid"

# The daemon of one end.
begin "" -t 300
side=1
[ -n "${side_pid[1]}" ] || side=0
daemon_kill $side
ends_with 1 client "$client_pid"
daemon_restart $side
[ $side -eq 0 ] || end_process "$server_pid"
ends_with 1 server "$server_pid"

topology_finish
