#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program that fails is explained behind its own last words, ends as without that, and no program
# that ends well has a word more.
. "$(dirname "$0")/../lib.sh"

mkdir "$WORK/explained"
socket=$WORK/explained/rnicd.sock
address=$loopback.9
rnic_run=("$BIN/rnic-run" --socket "$socket" --address "$address")

# explains NAME STATUS TEXT COMMAND...: the command ends so, and its end is explained by that text.
explains() {
	local name=$1 status=$2 text=$3 found=0
	timeout 30 "${@:4}" >"$WORK/said" 2>&1 || found=$?
	check "$name: status $status" test $found = "$status"
	if grep -q -- "$text" <(tail -n 12 "$WORK/said"); then
		pass "$name: $text"
	else
		fail "$name: $text" "$WORK/said"
	fi
}

# time_out COMMAND...: timeout(1), whose time is over once the command has a queue pair.
cat >"$WORK/time_out" <<-END
	#!/bin/bash
	waits() { $BIN/rnicctl show qps --socket $socket 2>&1 | grep -q INIT; }
	while kill -0 \$\$ && ! waits; do sleep 0.05; done && kill -ALRM \$\$ &
	exec timeout 20 "\$@"
END
chmod +x "$WORK/time_out"

has_no_queue_pairs() {
	! "$BIN/rnicctl" show qps --socket "$socket" 2>&1 | grep -q INIT
}

explain_path() {
	local way=$1 run=("${rnic_run[@]}" --explain "${@:2}")
	echo "# $way"
	explains "$way, refused" 255 "CM_NO_LISTENER, at the peer: Nobody listened" \
		"${run[@]}" rping -c -a "$address" -C 1
	explains "$way, time-out around" 124 "queue pair 0x.* (RC, INIT)" \
		"$WORK/time_out" "${run[@]}" ibv_rc_pingpong -g 0
	wait_for 10 has_no_queue_pairs
	explains "$way, time-out inside" 124 "queue pair 0x.* (RC, INIT)" \
		"${run[@]}" "$WORK/time_out" ibv_rc_pingpong -g 0
	wait_for 10 has_no_queue_pairs
	explains "$way, of a child" 3 "CM_NO_LISTENER, at the peer: Nobody listened" \
		"${run[@]}" sh -c "rping -c -a $address -C 1; exit 3"
	explains "$way, SIGKILL" 137 "ended by signal 9" "${run[@]}" sh -c 'kill -KILL $$'
	explains "$way, a handler of its own" 7 "ended with status 7" \
		timeout --preserve-status 1 "${run[@]}" sh -c \
		'trap "exit 7" TERM; while :; do sleep 0.1; done'
	explains "$way, no device touched" 1 "the device knows of no trouble" "${run[@]}" false
	"${run[@]}" ibv_devinfo >"$WORK/good" 2>"$WORK/silent"
	check "$way, a program that ends well says nothing more" \
		sh -c "! grep -v 'no rnicd answered' '$WORK/silent'"
}

explain_path shared
[ ! -e "$BUILD/lib/librnic-direct.so" ] || explain_path direct --direct

echo "# without rnic-run around, to standard error"
"${rnic_run[@]}" env -0 >"$WORK/environment"
mapfile -d '' -t variables < <(grep -z -E '^(LD_PRELOAD|LD_LIBRARY_PATH|RNIC_SOCKET)=' \
	"$WORK/environment")
explains "alone" 255 "CM_NO_LISTENER, at the peer: Nobody listened" env "${variables[@]}" \
	RNIC_EXPLAIN=1 PATH="$BIN:$PATH" rping -c -a "$address" -C 1
explains "without rnicctl on the PATH" 255 "REJECTED" env "${variables[@]}" \
	RNIC_EXPLAIN=1 rping -c -a "$address" -C 1
# The whole group gets a signal while rnicctl is under way, as from timeout(1).
mkdir "$WORK/loud"
printf '%s\n' '#!/bin/sh' 'kill -TERM 0' 'echo explained' >"$WORK/loud/rnicctl"
chmod +x "$WORK/loud/rnicctl"
# shellcheck disable=SC2016 # for the inner shell
timeout 30 bash -c 'set -m; "$@" & wait $!' - env "${variables[@]}" RNIC_EXPLAIN=1 \
	PATH="$WORK/loud:$PATH" rping -c -a "$address" -C 1 >"$WORK/said" 2>&1
check "a signal to the group meanwhile ends no explanation" grep -qx explained "$WORK/said"
echo untouched >"$WORK/precious"
explains "a file with a name is not written" 255 "REJECTED" env "${variables[@]}" \
	RNIC_EXPLAIN="$BIN/rnicctl:$WORK/precious" rping -c -a "$address" -C 1
check "it is as before" grep -qx untouched "$WORK/precious"

echo "# a daemon that ends before the program"
explains "the log is asked" 1 "CM_NO_LISTENER" \
	"${rnic_run[@]}" --explain bash -c \
	"rping -c -a $address -C 1 & wait \$!; pid=\$!; unset RNIC_EXPLAIN
	$BIN/rnicctl show device --json --socket $socket |
		grep -oP '\"pid\": \\K[0-9]+' | xargs kill
	while [ -e $socket ]; do sleep 0.1; done
	$BIN/rnicctl explain --socket $socket --pid \$pid; exit 1"
check "it names the cause" grep -q "^  0xe0 CM_NO_LISTENER: Nobody" "$WORK/said"
check "and nothing is known of another process" \
	test -z "$("$BIN/rnicctl" explain --socket "$socket" --pid 1 2>/dev/null)"
check "a process id is a number" \
	sh -c "! '$BIN/rnicctl' explain --socket '$socket' --pid x 2>/dev/null"
test_finish
