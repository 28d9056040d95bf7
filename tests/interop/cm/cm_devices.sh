#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Connections of a program with three devices, and of rping with two: cm_devices.sh PORT
. "$(dirname "$0")/../lib.sh"

count=3
all=()
for ((side = 0; side < count; side++)); do
	side_namespace[side]=""
	side_user[side]=""
	side_address[side]=$loopback.$((side + 2))
	daemon_start $side --address "${side_address[side]}" --port "$1"
	all+=(--socket "${side_socket[side]}")
done

echo "# the calls"
mkfifo "$WORK/answers"
(exec timeout 200 "$BIN/rnic-run" --no-daemon "${all[@]}" "${direct[@]}" "$BUILD/tests/cm_devices" \
	"${side_address[@]}" <"$WORK/answers" >"$WORK/program" 2>&1) &
program=$!
own $program
exec {answers}>"$WORK/answers"

# asks_or_ended WHAT: the program wants that to happen to a daemon.
asks_or_ended() {
	has_ended $program || grep -qx "$1" "$WORK/program"
}

# serve WHAT COMMAND...: does it when the program asks for it.
serve() {
	wait_for 100 asks_or_ended "$1"
	if ! has_ended $program; then
		"${@:2}"
		echo "did $1" >&"$answers"
	fi
}

# lose SIDE: its daemon ends, and its device with it.
is_lost=false
lose() {
	is_lost=true
	own_family "$1"
	signal_process KILL "${side_pid[$1]}"
	wait "${side_pid[$1]}"
	wait_for 10 family_has_ended
}
serve "stop 1" signal_process STOP "${side_pid[1]}"
serve "continue 1" signal_process CONT "${side_pid[1]}"
serve "lose 1" lose 1
expect_end 30 $program 0 cm_devices "$WORK/program"
exec {answers}>&-
grep -E "^\[ +(OK|FAILED)" "$WORK/program"
if $is_lost; then daemon_restart 1; fi

# rping_on NUMBER: a server on all devices, and a client on the first one that names the address of
# another one.
rping_on() {
	local to=${side_address[$1]}
	forget_output
	(exec "$BIN/rnic-run" --no-daemon "${all[@]}" "${direct[@]}" rping -s -v -C 10 \
		-p "$next_port") >"$WORK/server.out" 2>&1 &
	server_pid=$!
	own $server_pid
	wait_for 20 cm_is_ready_or_ended listening
	check "rping listens on each device" holds "$1" cm \
		"any(r['state'] == 'listening' for r in rows)"
	rnic 0 timeout 30 rping -c -v -C 10 -a "$to" -p "$next_port" >"$WORK/client.out" 2>&1
	check "rping to $to" test $? -eq 0
	expect_end 20 $server_pid 0 "its server" "$WORK/server.out"
	next_port=$((next_port + 1))
}
echo "# rping"
rping_on 1
rping_on 2
rping_on 0

for ((side = 0; side < count; side++)); do daemon_finish $side; done
test_finish
