#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The handle API between two programs, and in one: handle_api.sh TOPOLOGY PORT FAMILY [FAULTS]
#
# With faults only what takes part in them is run: transfers, not the failures.
. "$(dirname "$0")/lib.sh"

faults=${4:-}
topology_start "$1" "$2" "$3" ${faults:+--fault "$faults"}

tests=$BUILD/tests
service=7690
ipv4_address=${side_address[0]}
[ "$3" = 4 ] || ipv4_address=$server_address
seconds=60
[ -z "$SLOW$faults" ] || seconds=150

# start SIDE NAME SCENARIO: in the background, its number in $pid, its words in $WORK/NAME.
start() {
	rm -f "$WORK/$2" # what an earlier one said
	RNIC_SOCKET=${side_socket[$1]} exec_on "$1" "$tests/handle_program" "$3" \
		"${side_address[0]}" $service >"$WORK/$2" 2>&1 &
	pid=$!
	processes+=($!)
}

start_server() {
	start 0 server serve
	server_pid=$pid
	wait_for 20 cm_is_ready_or_ended listening
}

# run_alone PROGRAM ARGUMENT...: on one host it ends well.
run_alone() {
	if RNIC_SOCKET=${side_socket[0]} on 0 timeout $seconds "$tests/$1" "${@:2}" \
		>"$WORK/alone" 2>&1; then
		pass "$1"
	else
		fail "$1" "$WORK/alone"
	fi
}

run_client() {
	if on 1 env RNIC_SOCKET="${side_socket[1]}" timeout $seconds "$tests/handle_program" "$1" \
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

refused_keys() {
	query 0 counters "rows['access_errors']"
}

# The document's example prints nothing when its made-up key is refused.
run_example() {
	local before
	before=$(refused_keys)
	run_alone handle_example
	check "the example says nothing of success" test ! -s "$WORK/alone"
	check "and was refused" test "$(refused_keys)" -eq $((before + 1))
}

# survive_server SCENARIO: a server that is killed is missed, and found again.
survive_server() {
	start_survivor "$1"
	kill -KILL "$server_pid"
	wait_for 10 has_ended "$server_pid"
	wait_for 20 holds 0 cm "all(r['state'] != 'listening' for r in rows)"
	run_client refused
	start_server
	expect_survival "$1: the server is killed and restarted"
}

survive_peers_daemon() {
	start_survivor "$1"
	kill -KILL "${side_pid[0]}"
	wait "${side_pid[0]}" 2>/dev/null
	wait_for 20 has_ended "$server_pid"
	check "its daemon killed, the server ends with an error" \
		grep -q "the server ends" "$WORK/server"
	daemon_restart 0
	start_server
	expect_survival "$1: the server's daemon is killed and restarted"
}

survive_own_daemon() {
	start_survivor "$1"
	kill -KILL "${side_pid[1]}"
	wait "${side_pid[1]}" 2>/dev/null
	wait_for 20 grep -q lost "$WORK/survivor"
	daemon_restart 1
	expect_survival "$1: its own daemon is killed and restarted"
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
	start_survivor "$1"
	kill -STOP "${side_pid[0]}"
	wait_for $seconds grep -q lost "$WORK/survivor"
	kill -CONT "${side_pid[0]}"
	expect_survival "$1: the server's host is silent for a while"
}

start_server
for scenario in transfer threads; do run_client $scenario; done
run_alone handle_alone
if [ -z "$faults" ]; then
	run_client wrong
	run_example
	run_alone handle_beside_rdmacm "$ipv4_address"
	lose_server
	for scenario in survive survive-polling; do
		survive_server $scenario
		survive_peers_daemon $scenario
		[ "$1" = one ] || survive_silence $scenario
		[ "$1" = one ] || survive_own_daemon $scenario
	done
	run_client transfer
fi
check "the server still serves" is_running "$server_pid"
end_process "$server_pid"

topology_finish
