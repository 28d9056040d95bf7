# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced after lib.sh by the tests of this folder: programs of ordinary users on root's daemon.
# Nobody has an account for the users.

user_a=31001
user_b=31002
work_seconds=$((10 + ${SLOW:-0} * 10)) # a program that does one piece of work must end in that time
declare -A program_pid program_input

# as UID COMMAND...: runs the command as this user, on side 0.
as() {
	local uid=$1
	shift
	on 0 setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

require_users() {
	[ "$(id -u)" -eq 0 ] || skip_test "programs of other users need root"
	as $user_a test -x "$BIN/rnic-run" ||
		skip_test "an ordinary user cannot reach $BIN/rnic-run"
}

# rnic_as UID PROGRAM...: runs a program of this user on the device of side 0.
rnic_as() {
	local uid=$1
	shift
	as "$uid" "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" "$@"
}

# program_start NAME UID: starts family_client, which then obeys program_tell.
program_start() {
	local name=$1 input
	mkfifo "$WORK/$name.in"
	exec {input}<>"$WORK/$name.in"
	program_input[$name]=$input
	(
		side_user[0]=$2
		exec_program 0 "$BUILD/tests/family_client"
	) <"$WORK/$name.in" >"$WORK/$name.out" 2>&1 &
	program_pid[$name]=$!
	own $!
	wait_for 20 program_is_ready "$name"
	grep -q ready "$WORK/$name.out" ||
		fail "$name, a program of user $2, gets ready" "$WORK/$name.out"
}

program_is_ready() {
	grep -q ready "$WORK/$1.out" || has_ended "${program_pid[$1]}"
}

program_tell() {
	echo "$2" >&"${program_input[$1]}"
}

# program_said NAME PATTERN: prints how many lines match.
program_said() {
	grep -c -- "$2" "$WORK/$1.out"
}

program_said_more() {
	[ "$(program_said "$1" "$2")" -gt "$3" ]
}

# program_answers NAME PATTERN: the program is told to work, and one more line matches.
program_answers() {
	local before
	before=$(program_said "$1" "$2")
	program_tell "$1" work
	wait_for $((work_seconds + 2)) program_said_more "$1" "$2" "$before"
}

program_works() {
	program_answers "$1" "^worked"
}

program_fails() {
	program_answers "$1" "^failed"
}

# program_is_unharmed NAME: no event has come, and the program's queue pair works.
program_is_unharmed() {
	program_works "$1" && [ "$(program_said "$1" ^event)" -eq 0 ]
}

program_is_told() {
	wait_for 5 program_said_more "$1" "^event device fatal" 0
}

# program_end NAME [SIGNAL]: ends the program, whatever state the program is in.
program_end() {
	local input=${program_input[$1]}
	signal_process "${2:-KILL}" "${program_pid[$1]}"
	wait_for 5 has_ended "${program_pid[$1]}"
	wait "${program_pid[$1]}" 2>/dev/null
	exec {input}>&-
	rm -f "$WORK/$1.in" "$WORK/$1.out"
}

# new_program_works UID: a program that starts now completes a WRITE soon.
new_program_works() {
	rnic_as "$1" timeout "$work_seconds" "$BUILD/tests/first_completion"
}

# new_program_fails UID [SECONDS]: a program that starts now ends with an error in time, and says
# why.
new_program_fails() {
	rnic_as "$1" timeout "${2:-10}" "$BUILD/tests/first_completion" >"$WORK/refused.out" 2>&1
	case $? in 0 | 124) cat "$WORK/refused.out" && return 1 ;; esac
	[ -s "$WORK/refused.out" ]
}

# rnicctl_answers: all rows come in time.
rnicctl_answers() {
	on 0 timeout 5 "$BIN/rnicctl" show --socket "${side_socket[0]}"
}

now_ms() {
	date +%s%3N
}
