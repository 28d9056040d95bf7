#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Bad input at the start and on the wire: one readable line and exit status 1, or a documented
# fallback.
. "$(dirname "$0")/../lib.sh"

require_descriptors 4096

here=$(cd "$(dirname "$0")" && pwd)

# refuses WHAT PATTERN COMMAND...: exit status 1 and exactly one line, which matches the pattern.
refuses() {
	local what=$1 pattern=$2 status
	shift 2
	timeout 20 "$@" >"$WORK/refusal" 2>&1 </dev/null
	status=$?
	if [ $status -eq 1 ] && [ "$(wc -l <"$WORK/refusal")" -eq 1 ] &&
		grep -Eqi -- "$pattern" "$WORK/refusal"; then
		pass "$what: $(cat "$WORK/refusal")"
	else
		fail "$what: status $status, wanted 1 and one line with \"$pattern\"" \
			"$WORK/refusal"
	fi
}

# ends_with WHAT STATUS COMMAND...
ends_with() {
	local what=$1 wanted=$2 status
	shift 2
	"$@" >"$WORK/ended" 2>&1
	status=$?
	if [ $status -eq "$wanted" ]; then
		pass "$what: exit status $wanted"
	else
		fail "$what: exit status $status, not $wanted" "$WORK/ended"
	fi
}

echo "# no daemon"
mkdir "$WORK/none"
nobody_home=$WORK/none/rnicd.sock
touch "$WORK/gone.sock.log"
refuses "rnicctl names the log of who was there" "the log of the last one is $WORK/gone.sock.log" \
	"$BIN/rnicctl" show --socket "$WORK/gone.sock"
refuses "rnic-run says what to start" "start one.*rnicd --socket" \
	"$BIN/rnic-run" --no-daemon --socket "$nobody_home" ibv_devices
refuses "rnicctl says what to start" "start rnicd" "$BIN/rnicctl" show --socket "$nobody_home"
bare() {
	env RNIC_SOCKET="$nobody_home" LD_LIBRARY_PATH="$BUILD/lib/verbs" "$@"
}
ends_with "ibv_devices without a daemon" 0 bare ibv_devices
check "its list is empty" test "$(bare ibv_devices | wc -l)" -eq 2
check "ibv_devinfo says so in its own words" grep -q "No IB devices found" <(bare ibv_devinfo 2>&1)

topology_start pair socket 4
address=${side_address[0]}

echo "# daemons that cannot start"
refuses "the address is taken" "taken by (another program; ss -lnup shows|PID [0-9]+)" \
	"$BIN/rnicd" --socket "$WORK/other.sock" --address "$address"
refuses "the socket is taken" "already|in use|taken" \
	"$BIN/rnicd" --socket "${side_socket[0]}" --address "$loopback.99"
refuses "two daemons on one socket: the message is about the socket" \
	"already serves on ${side_socket[0]}" \
	"$BIN/rnicd" --socket "${side_socket[0]}" --address "$address"
refuses "a closed --ready-fd" "ready-fd 7.*not open" \
	"$BIN/rnicd" --socket "$WORK/other.sock" --address "$loopback.99" --ready-fd 7
refuses "a --ready-fd that only reads" "ready-fd 0.*not for writing" \
	"$BIN/rnicd" --socket "$WORK/other.sock" --address "$loopback.99" --ready-fd 0
refuses "not a mode" "0660" \
	"$BIN/rnicd" --socket "$WORK/other.sock" --address "$loopback.99" --socket-mode rw
refuses "no such user" "no user 'nosuchuser'" \
	"$BIN/rnicd" --socket "$WORK/other.sock" --address "$loopback.99" --user nosuchuser
refuses "no such interface" "nosuchif0" \
	"$BIN/rnicd" --socket "$WORK/other.sock" --netdev nosuchif0
refuses "no such address" "203\.0\.113\.9" \
	"$BIN/rnicd" --socket "$WORK/other.sock" --address 203.0.113.9
refuses "not an address" "kitchen" \
	"$BIN/rnicd" --socket "$WORK/other.sock" --address kitchen
refuses "no option" "'$loopback\\.99' has no option before it, such as --address" \
	"$BIN/rnicd" "$loopback.99"
refuses "no such directory" "nosuchdir" \
	"$BIN/rnicd" --socket "$WORK/nosuchdir/rnicd.sock" --address "$loopback.99"
refuses "no right to the path" "/proc/rnicd.sock" \
	"$BIN/rnicd" --socket /proc/rnicd.sock --address "$loopback.99"
refuses "not a port" "pigeon-post" \
	"$BIN/rnicd" --socket "$WORK/other.sock" --address "$loopback.99" --port pigeon-post
refuses "not a fault" "often.*percentage" \
	"$BIN/rnicd" --socket "$WORK/other.sock" --address "$loopback.99" --fault drop=often
refuses "no right to the capture" "/proc/x" \
	"$BIN/rnicd" --socket "$WORK/other.sock" --address "$loopback.99" --capture /proc/x
check "none of them left a file" test ! -e "$WORK/other.sock"

echo "# a port whose last holder has ended, and which the kernel still closes"
python3 "$here/port_on_its_way.py" "$loopback.96" 0.5 >"$WORK/on_its_way" &
on_its_way=$!
own $on_its_way
wait_for 20 grep -q taken "$WORK/on_its_way"
"$BIN/rnicd" --socket "$WORK/patient.sock" --address "$loopback.96" 2>"$WORK/patient.log" &
patient=$!
own $patient
check "a start waits for it" wait_for 20 "$BIN/rnicctl" show device --socket "$WORK/patient.sock"
end_process $patient
wait $patient $on_its_way
rm "$WORK/on_its_way"
python3 "$here/port_on_its_way.py" "$loopback.96" inf >"$WORK/on_its_way" &
on_its_way=$!
own $on_its_way
wait_for 20 grep -q taken "$WORK/on_its_way"
refuses "but not for ever" "taken by another program" \
	"$BIN/rnicd" --socket "$WORK/patient.sock" --address "$loopback.96"
end_process $on_its_way

echo "# a start with closed descriptors"
"$BIN/rnicd" --socket "$WORK/closed.sock" --address "$loopback.97" <&- >&- 2>&- &
closed=$!
own $closed
check "it serves" wait_for 20 "$BIN/rnicctl" show device --socket "$WORK/closed.sock"
check "no socket has their numbers" test "$(readlink "/proc/$closed/fd/0" "/proc/$closed/fd/1" \
	"/proc/$closed/fd/2" | sort -u)" = /dev/null
end_process $closed
wait $closed

echo "# io_uring refused"
refuses "--port uring" "io_uring" python3 "$here/refuse_calls.py" uring \
	"$BIN/rnicd" --socket "$WORK/other.sock" --address "$loopback.99" --port uring
python3 "$here/refuse_calls.py" uring "$BIN/rnicd" --socket "$WORK/fallback.sock" \
	--address "$loopback.98" --port auto >"$WORK/fallback.log" 2>&1 &
fallback=$!
own $fallback
check "--port auto starts" wait_for 20 "$BIN/rnicctl" show device --socket "$WORK/fallback.sock"
check "rnicctl takes its options in front, too" \
	"$BIN/rnicctl" --socket "$WORK/fallback.sock" show device
refuses "rnicctl with a kind and no show" "type rnicctl show counters" "$BIN/rnicctl" counters
refuses "rnicctl with another word" "\"status\" is not one of show, explain, .*, cdi; see" \
	"$BIN/rnicctl" status
check "rnicctl explains a status in words" grep -q "RETRY_EXCEEDED" \
	<("$BIN/rnicctl" explain "transport retry counter exceeded")
check "it uses sockets" grep -Eq '"udp_port": "socket"' \
	<("$BIN/rnicctl" show device --json --socket "$WORK/fallback.sock")
check "it says so" grep -Eqi "io_uring" "$WORK/fallback.log"
end_process $fallback
check "its log says what ended it" grep -q "ending on SIGTERM; programs .*: 0" "$WORK/fallback.log"

echo "# rnic-run"
refuses "another address than the running daemon's" "another address" \
	"$BIN/rnic-run" --socket "${side_socket[0]}" --address "$loopback.99" true
refuses "another interface" "not nosuchif0" \
	"$BIN/rnic-run" --socket "${side_socket[0]}" --netdev nosuchif0 true
ls -l /etc/passwd* >"$WORK/etc.before"
refuses "a path that is no socket" "/etc/passwd exists and is no socket" \
	"$BIN/rnic-run" --socket /etc/passwd --address "$loopback.99" true
check "nothing is written beside it" cmp "$WORK/etc.before" <(ls -l /etc/passwd*)
refuses "a port that is taken names the way out" \
	"is taken by.*give --address 127\.0\.0\.[0-9]+ for a device of your own" \
	"$BIN/rnic-run" --socket "$WORK/none/captive.sock" --address "$address" true
refuses "a captive daemon that cannot start" "rnicd did not start.*203\.0\.113\.9" \
	"$BIN/rnic-run" --socket "$WORK/none/captive.sock" --address 203.0.113.9 true
ends_with "its own address" 0 "$BIN/rnic-run" --socket "${side_socket[0]}" --address "$address" true
ends_with "command not found" 127 "$BIN/rnic-run" --socket "${side_socket[0]}" nosuchcommand
check "it names the PATH" grep -q "there is no command nosuchcommand in the PATH" "$WORK/ended"
ends_with "a socket as the command" 126 "$BIN/rnic-run" --address "$loopback.99" \
	"${side_socket[0]}"
check "it names the option" grep -q "${side_socket[0]} is a socket.*--socket" "$WORK/ended"
ends_with "no command, and no daemon" 127 "$BIN/rnic-run" --socket "$WORK/none/typo.sock" \
	--address "$loopback.99" nosuchcommand
check "no daemon starts for it" test ! -e "$WORK/none/typo.sock.log"
ends_with "command not executable" 126 "$BIN/rnic-run" --socket "${side_socket[0]}" /etc/passwd
ends_with "status of the command" 42 "$BIN/rnic-run" --socket "${side_socket[0]}" sh -c 'exit 42'
ends_with "signal of the command" 143 "$BIN/rnic-run" --socket "${side_socket[0]}" \
	sh -c 'kill -TERM $$'
check "RNIC_DISABLE=1 hides the device" grep -q "No IB devices found" \
	<(RNIC_DISABLE=1 "$BIN/rnic-run" --socket "${side_socket[0]}" ibv_devinfo 2>&1)

echo "# garbage on the wire while a program runs"
pair_start ibv_rc_pingpong -c -n 20000
for round in 1 2 3 4 5; do
	check "round $round is sent" python3 "$here/garbage_sender.py" "$address"
done
pair_wait 150 # 20,000 rounds on a busy machine
check "the client goes on" test "$client_status" -eq 0
check "the server goes on" test "$server_status" -eq 0
check "it was counted" holds 0 counters "sum(v for k, v in rows.items() if
	'drop' in k or 'icrc' in k or 'trunc' in k or 'malformed' in k) >= 1000"
check "rnicctl shows it unasked" grep -Eq "^  (icrc_errors|undecodable_pkts) +[1-9]" <(control 0)

topology_finish
