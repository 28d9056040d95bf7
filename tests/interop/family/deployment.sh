#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# How an operator lets a daemon run, and what strangers on the host can do to it. A daemon of root
# becomes an ordinary user and serves that user; root keeps no socket where a stranger could replace
# it; nobody is led to a socket of a stranger; who finds the port taken hears of a way out.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/user_programs.sh"

require_users
chmod 711 "$WORK"
group=31005
work=$BUILD/tests/first_completion
address=$loopback.9
victim=$((400000 + RUN_ID % 100000)) # a user of this run alone, for places outside of its directory

# as_is UID COMMAND...: as that user, without variables that name a socket.
as_is() {
	(exec_as "$@")
}

# exec_as UID COMMAND...: replaces the shell.
exec_as() {
	local uid=$1
	shift
	exec setpriv --reuid "$uid" --regid "$uid" --clear-groups \
		env -u XDG_RUNTIME_DIR -u RNIC_SOCKET "$@"
}

# daemon_begin SOCKET OPTION...: sets daemon.
daemon_begin() {
	socket=$1
	shift
	"$BIN/rnicd" --socket "$socket" --address "$address" "$@" >"$WORK/daemon.log" 2>&1 &
	daemon=$!
	own $daemon
	wait_for 20 "$BIN/rnicctl" show device --socket "$socket" ||
		fail "rnicd starts" "$WORK/daemon.log"
}

daemon_end() {
	local process
	for process in $(devices_of "$daemon"); do own "$process"; done
	end_process "$daemon"
	wait "$daemon"
	check "the daemon leaves nothing" test -z "$(ls -d "$socket"* 2>/dev/null)"
}

serves() {
	as_is "$1" "$BIN/rnic-run" --no-daemon --socket "$socket" "$work"
}

# says PATTERN COMMAND...: the command fails and says so.
says() {
	local pattern=$1
	shift
	"$@" >"$WORK/said" 2>&1 && cat "$WORK/said" && return 1
	grep -Eq -- "$pattern" "$WORK/said" || { cat "$WORK/said" && return 1; }
}

status_of() {
	awk -v name="$1:" '$1 == name { $1 = ""; print }' "/proc/$daemon/status" | tr -s '\t ' ' '
}

echo "# root becomes a user"
daemon_begin "$WORK/run/rnicd.sock" --user $user_a --group $group --socket-mode 0660 \
	--allow $user_b
check "user" test "$(status_of Uid)" = " $user_a $user_a $user_a $user_a"
check "group" test "$(status_of Gid)" = " $group $group $group $group"
check "no other group" test "$(status_of Groups)" = ""
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
	check "$set" test "$(status_of $set)" = " 0000000000000000"
done
check "NO_NEW_PRIVS" test "$(status_of NoNewPrivs)" = " 1"
check "a filter of system calls" test "$(status_of Seccomp)" = " 2"
check "the directory is that user's" test "$(stat -c '%u %a' "$WORK/run")" = "$user_a 755"
check "the socket has the mode and the group" test "$(stat -c '%u %g %a' "$socket")" = \
	"$user_a $group 660"
check "it serves that user" serves $user_a
check "and root" serves 0
side_pid[0]=$daemon
check "by a device process of that user" test -n "$(device_of 0 $user_a)"
check "who is not in the group cannot connect" says "[Pp]ermission denied" serves $user_b
check "who is in it is served, if --allow names him" setpriv --reuid $user_b --regid $user_b \
	--groups $group "$BIN/rnic-run" --no-daemon --socket "$socket" "$work"
check "who is in it and not allowed gets a sentence" says "rnicd --allow 31003" \
	setpriv --reuid 31003 --regid $group --clear-groups \
	"$BIN/rnic-run" --no-daemon --socket "$socket" "$work"
check "the log has the user and the process" grep -Eq "pid [0-9]+, user 31003\)" "$WORK/daemon.log"
daemon_end

echo "# places where root keeps no socket"
mkdir "$WORK/strange" "$WORK/strange/inner" "$WORK/open"
chown $user_b "$WORK/strange"
chmod 777 "$WORK/open"
for place in strange strange/inner open; do
	check "$place" says "not safe there" \
		timeout 10 "$BIN/rnicd" --socket "$WORK/$place/rnicd.sock" --address "$address"
	check "$place, by rnic-run" says "safe" \
		timeout 10 "$BIN/rnic-run" --socket "$WORK/$place/rnicd.sock" \
		--address "$address" true
done
for place in strange strange/inner open; do
	check "$place, a capture" says "not safe there" \
		timeout 10 "$BIN/rnicd" --socket "$WORK/safe.sock" --address "$address" \
		--capture "$WORK/$place/packets.pcapng"
done
echo whole >"$WORK/victim"
ln -s "$WORK/victim" "$WORK/link"
check "a capture follows no link" says "symbolic link" \
	timeout 10 "$BIN/rnicd" --socket "$WORK/safe.sock" --address "$address" \
	--capture "$WORK/link"
check "nor is the other file cut" grep -qx whole "$WORK/victim"
check "nothing of root's is left there" \
	test -z "$(find "$WORK/strange" "$WORK/open" -type s -o -name packets.pcapng)"

echo "# sudo rnic-run serves root alone"
socket=$WORK/alone.sock
"$BIN/rnic-run" --socket "$socket" --address "$address" "$work" >"$WORK/alone" 2>&1 ||
	fail "it starts" "$WORK/alone"
daemon=$("$BIN/rnicctl" show device --json --socket "$socket" |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["device"]["pid"])')
own "$daemon"
check "it says so" grep -q "for root alone" "$WORK/alone"
check "others cannot connect" says "[Pp]ermission denied" serves $user_a
end_process "$daemon"
rm -f "$socket.log" "$socket.lock"

# The kernel tells who listens, so a stranger's socket is no use to the stranger.
echo "# a stranger at the place of a user's socket"
squatted=/tmp/rnicd-$victim
rm -rf "$squatted"
as_is $user_b mkdir -m 755 "$squatted"
exec_as $user_b "$BIN/rnicd" --socket "$squatted/rnicd.sock" --address "$address" --allow $victim \
	>"$WORK/stranger.log" 2>&1 &
stranger=$!
own $stranger
wait_for 20 test -S "$squatted/rnicd.sock"
wait_for 20 grep -q serves "$WORK/stranger.log"
check "rnic-run does not go there" says "stranger, user $user_b" as_is $victim "$BIN/rnic-run" true
check "rnicctl neither" says "stranger, user $user_b" as_is $victim "$BIN/rnicctl" show
check "nor does a program without rnic-run" says . as_is $victim \
	env LD_LIBRARY_PATH="$BUILD/lib/verbs" "$work"
end_process $stranger
wait $stranger
check "nothing is written into the stranger's directory" says "belongs to user $user_b" \
	as_is $victim "$BIN/rnic-run" true
check "it is as it was" test -z "$(ls -A "$squatted")"
rm -rf "$squatted"

echo "# a second user finds the port taken"
first=$WORK/first
mkdir "$first"
chown $user_b "$first"
exec_as $user_b "$BIN/rnicd" --socket "$first/rnicd.sock" --address "$address" \
	>"$WORK/first.log" 2>&1 &
other=$!
own $other
wait_for 20 grep -q serves "$WORK/first.log"
check "the daemon of another user is named, and that it does not serve" \
	says "$first/rnicd.sock does not serve you .*--allow $victim.*; give --address 127" \
	as_is $victim "$BIN/rnic-run" --address "$address" true
end_process $other
wait $other
daemon_begin "$WORK/rnicd.sock"
check "the daemon of root is named, and that it serves" \
	says "user 0 on $socket serves you: give --socket $socket; or give --address 127" \
	as_is $victim "$BIN/rnic-run" --address "$address" true
check "and so it is" serves $victim
daemon_end
rm -rf "$squatted"

echo "# an upgrade"
never() {
	! wait_for "$@"
}
daemon_begin "$WORK/upgrade.sock"
exec_as 0 "$BIN/rnic-run" --no-daemon --socket "$socket" ibv_asyncwatch >"$WORK/watch.out" 2>&1 &
program=$!
own $program
check "a program runs" wait_for 20 grep -qF "async event" "$WORK/watch.out"
signal_process USR1 "$daemon"
check "the daemon says what comes" \
	wait_for 5 grep -q "ending as soon as no program" "$WORK/daemon.log"
# Twice the time after which an idle one ends.
check "it goes on for the program" never 2 has_ended "$daemon"
check "and serves new ones, of any user" serves $user_b
end_process $program
wait $program 2>/dev/null
check "it ends after the last one" wait_for 20 has_ended "$daemon"
wait "$daemon"
check "so that another begins" test $? = 75
check "and leaves nothing" test -z "$(ls -d "$socket"* 2>/dev/null)"
test_finish
