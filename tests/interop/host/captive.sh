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

echo "# a command that opens its device late, as a program below a debugger does"
check "the next rnic-run starts another daemon, which waits for the command" \
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

# end_daemon: without the seconds for which it would wait for another command.
end_daemon() {
	signal_process TERM "$daemon"
	check "the daemon ends" wait_for 20 has_ended "$daemon"
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
end_daemon
echo "# a daemon that hangs up three times before its socket is gone"
python3 "$here/ending_daemon.py" "$socket" 3 >"$WORK/ending" &
ending=$!
own $ending
check "it serves" wait_for 20 grep -q serving "$WORK/ending"
find_daemon
check "the next one starts" is_running "$daemon"
wait $ending
end_daemon

# ended_troubles: what rnicctl shows without a daemon; never longer than a moment.
ended_troubles() {
	timeout 5 "$BIN/rnicctl" show troubles --socket "$socket" "$@" 2>&1
}

echo "# the troubles of a daemon that has ended"
run_captive timeout 20 rping -c -a "$address" -C 1 >/dev/null 2>&1
find_daemon
check "the daemon of the failed program ends" wait_for 20 has_ended "$daemon"
check "its troubles are shown" grep -q "why: nobody listens at that port" <(ended_troubles)
check "with their cause" grep -q "CM_NO_LISTENER" <(ended_troubles)
check "as JSON, too" test "$(ended_troubles --json | sed 1d | python3 -c 'import json, sys
print(json.load(sys.stdin)["troubles"][0]["program"])')" = rping
check "other listings still need a daemon" \
	sh -c "! '$BIN/rnicctl' show qps --socket '$socket' 2>/dev/null"

echo "# a log that somebody has spoiled"
{
	head -c 300000 /dev/urandom
	printf '\nrnicd: x\033[2J (pid 7, user 0), queue: \033]0;title\nrnicd: (pid\n'
	printf 'rnicd: %0400d (pid 1, user 0), a: b\n' 0
	yes '' | head -c 200000
} >"$socket.log"
ended_troubles >"$WORK/spoiled"
check "rnicctl shows the line that is one, without control characters" \
	sh -c "grep -q 'why: ?]0;title' '$WORK/spoiled' && ! grep -q '[[:cntrl:]]' '$WORK/spoiled'"
ln "$socket.log" "$WORK/second"
check "a log with a second name is refused" grep -q "cannot read the troubles" <(ended_troubles)
rm "$socket.log" "$WORK/second"
ln -s /etc/passwd "$socket.log"
check "and a symbolic link" grep -q "Permission denied" <(ended_troubles)
rm "$socket.log"
mkfifo "$socket.log"
check "and a pipe" grep -q "Permission denied" <(ended_troubles)
rm "$socket.log"
if [ "$(id -u)" = 0 ]; then
	strange=$(mktemp -d /tmp/rnic-log.XXXXXX)
	chmod 755 "$strange"
	echo "rnicd: x (pid 1, user 0), a: b" >"$strange/s.log"
	chmod 644 "$strange/s.log"
	check "and another user's" grep -q "Permission denied" <(setpriv --reuid=65534 \
		--clear-groups timeout 5 "$BIN/rnicctl" show troubles --socket "$strange/s" 2>&1)
	rm -r "$strange"
fi
check "without a log there is a sentence" grep -q "No such file" <(ended_troubles)
test_finish
