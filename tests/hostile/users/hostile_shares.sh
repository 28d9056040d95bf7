#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Ten users hold all that root's daemon gives to each of them. An eleventh user's program and
# rnicctl get in all the same. A user at the limit still has rnicctl.
. "$(dirname "$0")/../../interop/lib.sh"
. "$(dirname "$0")/../../interop/family/user_programs.sh"

require_users
require_descriptors 4096
users=10
holders=()

# holder_start UID [programs]
holder_start() {
	(
		side_user[0]=$1
		exec_program 0 "$BUILD/tests/user_holder" "${@:2}"
	) >"$WORK/holder.$1.out" 2>&1 &
	holders+=($!)
	own $!
	wait_for 20 grep -q "^ready [1-9][0-9]* [1-9]" "$WORK/holder.$1.out"
}

# hold_all: by one user after the other.
hold_all() {
	local number uid
	for ((number = 0; number < users; number++)); do
		uid=$((user_a + 10 + number))
		check "user $number holds something" holder_start "$uid"
		echo "#     $(cat "$WORK/holder.$uid.out")"
	done
}

rnicctl_of() {
	as "$1" timeout 5 "$BIN/rnicctl" show --socket "${side_socket[0]}"
}

# others_get_in WHEN
others_get_in() {
	check "$1: a program of an eleventh user works" new_program_works $user_b
	check "$1: rnicctl of root answers" rnicctl_answers
	check "$1: rnicctl of an eleventh user answers" rnicctl_of $user_b
	check "$1: a program of root works" new_program_works 0
}

# holder_is_told: a user whose programs hold all that they can still sees them, and the next program
# hears why it does not start.
holder_is_told() {
	local uid=$((user_a + 10 + users))
	check "a user's programs hold all they can" holder_start $uid programs
	check "rnicctl of this user answers" wait_for 5 rnicctl_of $uid
	check "the next program of this user fails" new_program_fails $uid
	check "the program says why" \
		grep -q "user $uid has as many clients as one user may have" "$WORK/refused.out"
}

# holders_end: what they held is free again.
holders_end() {
	local holder
	for holder in "${holders[@]}"; do
		signal_process KILL "$holder"
		wait "$holder" 2>/dev/null
	done
	check "the holders are forgotten" wait_for 20 holds 0 clients "rows == []"
}

topology_start one uring 4
others_get_in "before"
hold_all
others_get_in "ten users hold all they can"
holder_is_told
holders_end
others_get_in "after"
check "the device processes of all users end" wait_for 20 has_no_device 0
topology_finish
