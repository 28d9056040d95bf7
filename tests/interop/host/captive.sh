#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rnic-run starts a daemon where none answers, one for all, and it goes away by itself, with its
# device processes.
. "$(dirname "$0")/../lib.sh"

mkdir "$WORK/captive"
socket=$WORK/captive/rnicd.sock
address=$loopback.9
here=$(cd "$(dirname "$0")" && pwd)

run_captive() {
	"$BIN/rnic-run" --socket "$socket" --address "$address" "$@"
}

echo "# eight rnic-runs at the same moment"
runs=()
for run in 1 2 3 4 5 6 7 8; do
	run_captive ibv_devinfo >"$WORK/run$run.out" 2>&1 &
	runs+=($!)
done
for run in 1 2 3 4 5 6 7 8; do
	wait "${runs[$((run - 1))]}" || fail "run $run" "$WORK/run$run.out"
	check "run $run sees the device" grep -q rnic0 "$WORK/run$run.out"
done

daemon=$("$BIN/rnicctl" show device --json --socket "$socket" |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["device"]["pid"])')
own "$daemon"
check "the one that starts it says so" test "$(grep -l "no rnicd answered on $socket: started one" \
	"$WORK"/run*.out | wc -l)" = 1
check "one daemon serves them" test "$(pgrep -f "^$BIN/rnicd --socket $socket ")" = "$daemon"

echo "# a server and a client on it, as two terminals would"
side_socket=("$socket" "$socket")
pair_run ib_write_bw -F -c RC -s 65536 -n 100
pair_run ibv_rc_pingpong -c

echo "# and it leaves"
for process in $(devices_of "$daemon"); do own "$process"; done
check "the daemon ends by itself" wait_for 20 has_ended "$daemon"
check "its socket is gone" test ! -e "$socket"
check "the next rnic-run starts another" grep -q rnic0 <(run_captive ibv_devices)
daemon=$("$BIN/rnicctl" show device --json --socket "$socket" |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["device"]["pid"])')
own "$daemon"
for process in $(devices_of "$daemon"); do own "$process"; done
check "and that one ends too" wait_for 20 has_ended "$daemon"

echo "# a command that opens its device late, as a program below a debugger does"
check "the daemon waits for the command" \
	grep -q rnic0 <(run_captive sh -c 'sleep 7; ibv_devices')
daemon=$("$BIN/rnicctl" show device --json --socket "$socket" |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["device"]["pid"])')
own "$daemon"
for process in $(devices_of "$daemon"); do own "$process"; done
check "and ends after it" wait_for 20 has_ended "$daemon"

# find_daemon: sets daemon and device; their command has ended.
find_daemon() {
	run_captive ibv_devices >/dev/null
	daemon=$("$BIN/rnicctl" show device --json --socket "$socket" |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["device"]["pid"])')
	own "$daemon"
	run_captive ibv_devinfo >/dev/null
	device=$(devices_of "$daemon")
	own "$device"
}

# A device process that stopped takes a second or more to end, and the daemon waits for it.
echo "# a command that comes while the daemon ends"
find_daemon
signal_process STOP "$device"
wait_for 20 test ! -e "$socket"
check "after an idle end, when the socket is gone" grep -q rnic0 <(run_captive ibv_devices)
wait_for 20 has_ended "$daemon"
find_daemon
signal_process STOP "$device"
signal_process TERM "$daemon"
wait_for 20 grep -q "ending on SIGTERM" "$socket.log"
check "after SIGTERM" grep -q rnic0 <(run_captive ibv_devices)
check "the daemon has ended" wait_for 20 has_ended "$daemon"
find_daemon
find_daemon
check "and the last one too" wait_for 20 has_ended "$daemon"
echo "# a daemon that hangs up three times before its socket is gone"
python3 "$here/ending_daemon.py" "$socket" 3 >"$WORK/ending" &
ending=$!
own $ending
check "it serves" wait_for 20 grep -q serving "$WORK/ending"
find_daemon
check "the next one starts" is_running "$daemon"
wait $ending
check "and ends" wait_for 20 has_ended "$daemon"
test_finish
