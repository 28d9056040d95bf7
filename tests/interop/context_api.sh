#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The context API between two programs: context_api.sh TOPOLOGY PORT FAMILY [FAULTS]
#
# With faults only what takes part in them is run: transfers, not the failures.
. "$(dirname "$0")/lib.sh"

faults=${4:-}
topology_start "$1" "$2" "$3" ${faults:+--fault "$faults"}

program=$BUILD/tests/context_program
service=7590
seconds=60
[ -z "$SLOW$faults" ] || seconds=150

# start SIDE NAME SCENARIO: in the background, its number in $pid, its words in $WORK/NAME.
start() {
	rm -f "$WORK/$2" # what an earlier one said
	RNIC_SOCKET=${side_socket[$1]} exec_on "$1" "$program" "$3" "${side_address[0]}" $service \
		>"$WORK/$2" 2>&1 &
	pid=$!
	processes+=($!)
}

start_server() {
	start 0 server serve
	server_pid=$pid
	wait_for 20 cm_is_ready_or_ended listening
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

# start_survivor [SCENARIO]
start_survivor() {
	start 1 survivor "${1:-survive}"
	client_pid=$pid
	wait_for 20 grep -q ready "$WORK/survivor" || fail "a survivor gets ready" "$WORK/survivor"
}

# A client in the midst of a transfer ends with an error, not a hang.
lose_server() {
	start_survivor write-until-lost
	kill -KILL "$server_pid"
	wait_for $seconds has_ended "$client_pid"
	end_process "$client_pid"
	check "a writer whose server is killed ends" wait "$client_pid"
	wait_for 20 holds 0 cm "all(r['state'] != 'listening' for r in rows)"
	start_server
}

# A host that no longer answers says no good-bye.
survive_silence() {
	start_survivor
	kill -STOP "${side_pid[0]}"
	wait_for $seconds grep -q lost "$WORK/survivor"
	kill -CONT "${side_pid[0]}"
	expect_survival "the server's host is silent for a while"
}

# Both ends in one process.
run_alone() {
	if RNIC_SOCKET=${side_socket[0]} on 0 timeout $seconds "$BUILD/tests/context_alone" \
		"${side_address[0]}" >"$WORK/alone" 2>&1; then
		pass "context_alone"
	else
		fail "context_alone" "$WORK/alone"
	fi
}

start_server
for scenario in transfer threads shared; do run_client $scenario; done
run_alone
if [ -z "$faults" ]; then
	run_client wrong
	lose_server
	[ "$1" = one ] || survive_silence
	start_survivor
	kill -KILL "$server_pid"
	wait_for 10 has_ended "$server_pid"
	wait_for 20 holds 0 cm "all(r['state'] != 'listening' for r in rows)"
	run_client refused
	start_server
	expect_survival "the server is killed and restarted"
	start_survivor
	kill -KILL "${side_pid[0]}"
	wait "${side_pid[0]}" 2>/dev/null
	wait_for 20 has_ended "$server_pid"
	check "its daemon killed, the server ends with an error" \
		grep -q "the server ends" "$WORK/server"
	daemon_restart 0
	[ "$1" != one ] || side_socket[1]=${side_socket[0]}
	start_server
	expect_survival "the peer's daemon is killed and restarted"
	if [ "$1" != one ]; then
		start_survivor
		kill -KILL "${side_pid[1]}"
		wait "${side_pid[1]}" 2>/dev/null
		wait_for 20 grep -q lost "$WORK/survivor"
		daemon_restart 1
		expect_survival "its own daemon is killed and restarted"
	fi
	run_client transfer
fi
check "the server still serves" is_running "$server_pid"
end_process "$server_pid"

topology_finish
