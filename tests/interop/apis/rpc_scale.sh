#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Very many clients of one RPC server at the same time: rpc_scale.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

require_descriptors 4096

topology_start "$@"

host=${side_address[0]}
port=7793
processes_of_clients=4
clients=1000
calls=20
[ -z "$SLOW" ] || clients=100

RNIC_SOCKET=${side_socket[0]} exec_on 0 "$BIN/rpc_echo" serve $port >"$WORK/server.out" 2>&1 &
server_pid=$!
own $!
wait_for 20 grep -q "^port" "$WORK/server.out"

all_stand() {
	[ "$(cat "$WORK"/load-*.out | grep -c standing)" -eq $processes_of_clients ]
}

all_have_ended() {
	local pid
	for pid in "${load_pids[@]}"; do has_ended "$pid" || return 1; done
}

# run OPTION...: all conversations stand at the same time, then all call.
run() {
	local i pid failed=0
	load_pids=()
	rm -f "$WORK"/load-*.out
	for ((i = 0; i < processes_of_clients; i++)); do
		mkfifo "$WORK/hold-$i"
		exec {hold}<>"$WORK/hold-$i"
		holds_open[i]=$hold
		RNIC_SOCKET=${side_socket[1]} exec_on 1 "$BUILD/tests/rpc_load" "$@" "$host" $port \
			$((clients / processes_of_clients)) $calls \
			<"$WORK/hold-$i" >"$WORK/load-$i.out" 2>&1 &
		load_pids+=($!)
		own $!
	done
	check "$clients clients stand (${*:---ud})" wait_for 90 all_stand
	for ((i = 0; i < processes_of_clients; i++)); do
		hold=${holds_open[$i]}
		echo >&"$hold"
		exec {hold}>&-
		rm "$WORK/hold-$i"
	done
	wait_for 90 all_have_ended
	for pid in "${load_pids[@]}"; do
		end_process "$pid"
		wait "$pid" || failed=1
	done
	cat "$WORK"/load-*.out >"$WORK/load.out"
	check "and all their calls succeed (${*:---ud})" test $failed -eq 0
	cat "$WORK/load.out"
}

holds_open=()
run
run --rc
check "the server serves" is_running "$server_pid"
end_process "$server_pid"
wait "$server_pid" 2>/dev/null
topology_finish
