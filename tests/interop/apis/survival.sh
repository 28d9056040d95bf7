# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced after lib.sh by tests of a program that is both server and client: transfers, and whether
# each end finds out that the other is gone and finds it again.
#
#   $program SCENARIO ADDRESS PORT   "serve" serves until it is killed. "survive" says "ready" once
#                                    it is connected, "lost" when the peer is gone, and connects
#                                    again. "refused" expects that nobody serves.

# survival_start TOPOLOGY PORT FAMILY PROGRAM SERVICE [FAULTS]
survival_start() {
	program=$BUILD/tests/$4
	service=$5
	faults=${6:-}
	topology_start "$1" "$2" "$3" ${faults:+--fault "$faults"}
	seconds=60
	[ -z "$SLOW$faults" ] || seconds=150
}

# start SIDE NAME SCENARIO: in the background, its number in $pid, its words in $WORK/NAME.
start() {
	rm -f "$WORK/$2" # what an earlier one said
	RNIC_SOCKET=${side_socket[$1]} exec_on "$1" "$program" "$3" "${side_address[0]}" $service \
		>"$WORK/$2" 2>&1 &
	pid=$!
	own $!
}

start_server() {
	start 0 server serve
	server_pid=$pid
	wait_for 20 cm_is_ready_or_ended listening
}

# A server that was killed no longer listens.
await_silence() {
	wait_for 20 holds 0 cm "all(r['state'] != 'listening' for r in rows)"
}

run_client() {
	if on 1 env RNIC_SOCKET="${side_socket[1]}" timeout $seconds "$program" "$1" \
		"${side_address[0]}" $service >"$WORK/client" 2>&1; then
		pass "$1"
	else
		cat "$WORK/server" >>"$WORK/client"
		fail "$1" "$WORK/client"
	fi
}

# run_alone PROGRAM ARGUMENT...: both ends in one process.
run_alone() {
	if RNIC_SOCKET=${side_socket[0]} on 0 timeout $seconds "$BUILD/tests/$1" "${@:2}" \
		>"$WORK/alone" 2>&1; then
		pass "$1"
		grep '^skipped: ' "$WORK/alone"
	else
		fail "$1" "$WORK/alone"
	fi
}

# start_survivor SCENARIO
start_survivor() {
	start 1 survivor "$1"
	client_pid=$pid
	wait_for 20 grep -q ready "$WORK/survivor" || fail "a survivor gets ready" "$WORK/survivor"
}

# expect_survival WHAT: the client that waits has noticed, connects again, and ends well.
expect_survival() {
	wait_for $seconds has_ended "$client_pid"
	end_process "$client_pid"
	if wait "$client_pid"; then
		pass "$1: $(grep lost "$WORK/survivor")"
	else
		fail "$1" "$WORK/survivor"
	fi
}

# A client in the midst of a transfer ends with an error, not a hang.
lose_server() {
	start_survivor write-until-lost
	signal_process KILL "$server_pid"
	wait_for $seconds has_ended "$client_pid"
	end_process "$client_pid"
	check "a writer whose server is killed ends" wait "$client_pid"
	await_silence
	start_server
}

# survive_server SCENARIO, and so on: who was connected loses the peer, and finds it again.
survive_server() {
	start_survivor "$1"
	signal_process KILL "$server_pid"
	wait_for 10 has_ended "$server_pid"
	await_silence
	run_client refused
	start_server
	expect_survival "$1: the server is killed and restarted"
}

survive_peers_daemon() {
	start_survivor "$1"
	daemon_kill 0
	wait_for 20 has_ended "$server_pid"
	check "its daemon killed, the server ends with an error" \
		grep -q "the server ends" "$WORK/server"
	daemon_restart 0
	[ -n "${side_pid[1]}" ] || side_socket[1]=${side_socket[0]}
	start_server
	expect_survival "$1: the server's daemon is killed and restarted"
}

survive_own_daemon() {
	start_survivor "$1"
	daemon_kill 1
	wait_for 20 grep -q lost "$WORK/survivor"
	daemon_restart 1
	expect_survival "$1: its own daemon is killed and restarted"
}

# A host that no longer answers says no good-bye.
survive_silence() {
	start_survivor "$1"
	daemon_stop 0
	wait_for $seconds grep -q lost "$WORK/survivor"
	daemon_continue 0
	expect_survival "$1: the server's host is silent for a while"
}

# survive_all SCENARIO: as far as the topology has two hosts.
survive_all() {
	survive_server "$1"
	survive_peers_daemon "$1"
	[ -n "${side_pid[1]}" ] || return 0
	survive_silence "$1"
	survive_own_daemon "$1"
}

survival_finish() {
	check "the server still serves" is_running "$server_pid"
	end_process "$server_pid"
	topology_finish
}
