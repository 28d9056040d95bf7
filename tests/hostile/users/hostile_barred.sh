#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A user connects to the control socket of root's daemon as fast as it can and says nothing. The
# kernel refuses this user at the socket's file, and nobody else. The user gets in again when that
# is over.
. "$(dirname "$0")/../../interop/lib.sh"
. "$(dirname "$0")/../../interop/family/user_programs.sh"

require_users
require_descriptors 4096

# has_lists: the file system of the socket has access control lists.
has_lists() {
	touch "$WORK/lists" && python3 - "$WORK/lists" <<'END'
import os, struct, sys
OWNER, USER, GROUP, MASK, OTHER = 1, 2, 4, 16, 32
entries = [(OWNER, 6, -1), (USER, 1, 31001), (GROUP, 6, -1), (MASK, 6, -1), (OTHER, 6, -1)]
packed = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
os.setxattr(sys.argv[1], "system.posix_acl_access", packed)
END
}

# connects UID: prints 0, or the errno of a connection to the control socket.
connects() {
	as "$1" python3 - "${side_socket[0]}" <<'END'
import socket, sys
print(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect_ex(sys.argv[1]))
END
}

is_refused() {
	[ "$(connects "$1")" = 13 ] # EACCES
}

gets_in() {
	[ "$(connects "$1")" = 0 ]
}

attack() {
	(
		side_user[0]=$user_a
		exec_program 0 "$BUILD/tests/user_attacker" silent 1000
	) >"$WORK/attack.out" 2>&1 &
	attacker=$!
	own $attacker
	wait_for 20 grep -q ready "$WORK/attack.out"
}

attack_ends() {
	signal_process KILL "$attacker"
	wait "$attacker" 2>/dev/null
}

has_no_list() {
	python3 - "${side_socket[0]}" <<'END'
import os, sys
sys.exit("system.posix_acl_access" in os.listxattr(sys.argv[1]))
END
}

topology_start one uring 4
has_lists || skip_test "the file system of $WORK has no access control lists"
program_start victim $user_b
check "the attack begins" attack
check "the kernel refuses the user" wait_for 20 is_refused $user_a
check "the log says so" \
	wait_for 5 grep -q "the kernel refuses connections of user $user_a" "$WORK/daemon0.log"
check "it refuses no other user" gets_in $user_b
check "a program of another user works" program_works victim
check "a new program of another user works" new_program_works $user_b
check "a new program of root works" new_program_works 0
check "rnicctl of root answers" rnicctl_answers
check "the attacker still attacks" is_running $attacker
attack_ends
check "a program of the user works again" wait_for 20 new_program_works $user_a
check "the socket's file is as before" wait_for 5 has_no_list
program_end victim
topology_finish
