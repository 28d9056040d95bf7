#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs and device processes that are killed or stopped in the middle of their work, explained at
# both ends: lost_processes.sh PORT
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../daemon_family.sh"

topology_start pair "$1" 4
port=$((20000 + $$ % 20000))

# explained SIDE CAUSE WHERE QUESTION: rnicctl explain, which asks the other side's daemon, too,
# names the cause first. WHERE: here or peer.
explained() {
	local other=$((1 - $1))
	on "$1" "$BIN/rnicctl" explain --json --socket "${side_socket[$1]}" \
		--peer "${side_socket[$other]}" "$4" >"$WORK/explained" 2>&1
	python3 -c '
import json, sys
first = json.loads(sys.stdin.readline())
sys.exit(first.get("cause") != sys.argv[1] or first["undetermined"] or
         first.get("at_peer", False) != (sys.argv[2] == "peer"))' "$2" "$3" \
		<"$WORK/explained" 2>/dev/null
}

# is_named WHAT SIDE CAUSE WHERE QUESTION
is_named() {
	if wait_for 5 explained "${@:2}"; then
		pass "$1, side $2: explained by $3, $4"
	else
		fail "$1, side $2: explained by $3, $4" "$WORK/explained" "$WORK/server.out" \
			"$WORK/client.out"
	fi
}

# run SIDE NAME COMMAND...: a program in the background; its process is in NAME_pid.
run() {
	local side=$1 name=$2
	shift 2
	exec_program "$side" "$@" >"$WORK/$name.out" 2>&1 &
	printf -v "${name}_pid" '%s' $!
	own $!
}

are_connected() {
	holds 0 cm "any(row['state'] == 'connected' for row in rows)" &&
		holds 1 cm "any(row['state'] == 'connected' for row in rows)"
}

has_listener() {
	holds 0 cm "any(row['state'] == 'listening' for row in rows)"
}

# start_pings SIZE: rping, whose client lets its server read from it and write to it for ever.
start_pings() {
	run 0 server rping -s -a "${side_address[0]}" -p $port -S "$1"
	wait_for 20 has_listener || fail "the server listens" "$WORK/server.out"
	run 1 client rping -c -a "${side_address[0]}" -p $port -S "$1"
	wait_for 20 are_connected || fail "they are connected" "$WORK/client.out"
}

end_pings() {
	local process
	for process in $server_pid $client_pid; do
		has_ended "$process" || signal_process KILL "$process"
		wait_for 20 has_ended "$process" || fail "process $process ends"
	done
}

start_pings 64
signal_process STOP $server_pid
is_named "a stopped program" 0 PROGRAM_STOPPED here $server_pid
check "it says how it goes on" grep -qF "kill -CONT $server_pid lets it go on" "$WORK/explained"
check "its listing says so" \
	holds 0 clients "[row['stop'] for row in rows if row['pid'] == $server_pid] == ['stopped']"
# Its peer has no word of that: no cause is named but that it waits, or that its requests time out.
on 1 "$BIN/rnicctl" explain --json --socket "${side_socket[1]}" --peer "${side_socket[0]}" \
	$client_pid >"$WORK/explained" 2>&1
check "its peer makes no guess" sh -c "! grep -oE '\"cause\":\"[A-Z_]*\"' '$WORK/explained' |
	grep -vE 'WAITING|RETRY_EXCEEDED'"
signal_process CONT $server_pid
runs_again() {
	holds 0 clients "[row['stop'] for row in rows if row['pid'] == $server_pid] == ['-']"
}
check "one that goes on is stopped no more" wait_for 10 runs_again
check "and nothing says so" sh -c "! '$BIN/rnicctl' explain --socket '${side_socket[0]}' \
	$server_pid | grep -q PROGRAM_STOPPED"
end_pings

run 0 server rping -s -a "${side_address[0]}" -p $port
wait_for 20 has_listener || fail "the server listens" "$WORK/server.out"
signal_process STOP $server_pid
is_named "a stopped listener" 0 PROGRAM_STOPPED here $server_pid
end_process $server_pid

# The rest is of device processes: a device that is inside its program ends with the program.
if [ ${#direct[@]} -ne 0 ]; then
	topology_finish
	exit
fi

start_pings 64
device_pid=$(devices_of "${side_pid[0]}")
own "$device_pid"
signal_process KILL "$device_pid"
is_named "a killed device process" 0 DEVICE_FAILED here $server_pid
is_named "a killed device process" 1 DEVICE_FAILED peer $client_pid
end_pings

# A program that is killed while its own requests use its memory. Its server is stopped first, or
# it would end with the TCP connection.
run 0 server ib_write_bw -p $port -s 65536 -D 60
check "its server waits for it" wait_for 20 is_listening 0 $port
run 1 client ib_write_bw -p $port -s 65536 -D 60 "${side_address[0]}"
moves_data() {
	holds 0 qps "any(int(row['received_packets']) > 1000 for row in rows)"
}
wait_for 20 moves_data || fail "the programs move data" "$WORK/server.out" "$WORK/client.out"
signal_process STOP $server_pid
signal_process KILL $client_pid
wait_for 20 has_ended $client_pid
is_named "a killed requester" 0 PEER_ENDED peer $server_pid
# Its device may have needed its memory before the end was known, or not: then nothing failed here.
if ! wait_for 2 explained 1 PROGRAM_GONE here $client_pid; then
	check "a killed requester, side 1: nothing is known of it" \
		grep -qF "recorded anything that you may see" "$WORK/explained"
else
	pass "a killed requester, side 1: explained by PROGRAM_GONE, here"
fi
end_pings

topology_finish
