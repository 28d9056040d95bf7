#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The record of one user and another one: recorder_users.sh
#
# A user whose queue pairs all fail has no more rings than others leave, and is told so; nobody sees
# another user's record but root. Damaged records are refused with a sentence.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../family/user_programs.sh"

declare -A program_pid program_input # of user_programs.sh

require_users
topology_start one uring 4
[ ! -e "$BUILD/lib/librnic-direct.so" ] || has_direct=yes
count=1000
[ -z "$SLOW" ] || count=200
mkdir -m 1777 "$WORK/saved"
chmod 755 "$WORK"

# failing_start NAME UID COUNT OPTION...: many_failures, until failing_end. Sets first and last.
failing_start() {
	local name=$1 uid=$2
	mkfifo "$WORK/$name.in"
	as "$uid" "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" "${@:4}" \
		"$BUILD/tests/many_failures" "$3" <"$WORK/$name.in" >"$WORK/$name.out" 2>&1 &
	program_pid[$name]=$!
	own $!
	exec {input}>"$WORK/$name.in"
	program_input[$name]=$input
	wait_for 60 grep -q ready "$WORK/$name.out" ||
		fail "$name fails $3 times" "$WORK/$name.out"
	first=$(sed -n 1p "$WORK/$name.out")
	last=$(grep 0x "$WORK/$name.out" | tail -n 1)
}

failing_end() {
	local input=${program_input[$1]}
	exec {input}>&-
	wait "${program_pid[$1]}"
}

rnicctl_as() {
	as "$1" "$BIN/rnicctl" "$2" --socket "${side_socket[0]}" "${@:3}"
}

# says UID WORDS COMMAND...: rnicctl of this user says so.
says() {
	rnicctl_as "$1" "${@:3}" >"$WORK/said" 2>&1
	grep -q -- "$2" "$WORK/said" || { cat "$WORK/said"; return 1; }
}

# is_refused UID QPN: rnicctl explains nothing of it, and says so.
is_refused() {
	says "$1" "recorded anything that you may see" explain "$2" &&
		! rnicctl_as "$1" explain "$2" >/dev/null 2>&1
}

# uids_in FILE: of the rows of a record.
uids_in() {
	python3 -c '
import json, sys
print(*sorted({row["uid"] for row in json.load(open(sys.argv[1]))["record"]}))' "$1"
}

# save_as UID NAME: the record is in saved/NAME, and what is said in NAME.said.
save_as() {
	rm -f "$WORK/saved/$2"
	rnicctl_as "$1" record save "$WORK/saved/$2" 2>"$WORK/$2.said"
}

others_are_hidden() {
	check "$1: user A may not see user B's queue pair" is_refused $user_a "$of_b"
	check "$1: nor the other way round" is_refused $user_b "$last_of_a"
	check "$1: user B's own is explained" says $user_b "LOCAL_PROTECTION" explain "$of_b"
	check "$1: root sees both" says 0 "LOCAL_PROTECTION" explain "$of_b"
	check "$1: root sees the last of user A's" says 0 "LOCAL_PROTECTION" explain "$last_of_a"
	save_as $user_a a
	save_as $user_b b
	save_as 0 root
	check "$1: user A's record is of user A" test "$(uids_in "$WORK/saved/a")" = $user_a
	check "$1: user B's record is of user B" test "$(uids_in "$WORK/saved/b")" = $user_b
	check "$1: root's record has both" \
		grep -q "$user_a $user_b" <(uids_in "$WORK/saved/root")
}

echo "# user B fails once, user A $count times"
failing_start b $user_b 1
of_b=$first
failing_start a $user_a $count
first_of_a=$first last_of_a=$last
others_are_hidden living
check "user B has a ring" says $user_b " own *$" show record
check "user A's first has a ring" says $user_a "LOCAL_PROTECTION" explain "$first_of_a"
check "it is told of no gap" sh -c "! grep -q RECORD: '$WORK/said'"
check "user A's last shares one, and the explanation says so" \
	says $user_a "shares a ring of the recorder" explain "$last_of_a"
check "it has its program" grep -q "of many_failures (pid" "$WORK/said"
check "record save says so" grep -q "others share one" "$WORK/a.said"
check "user B is told of no gap" test ! -s "$WORK/b.said"

echo "# after their ends"
failing_end a
failing_end b
wait_for 20 has_no_device 0
others_are_hidden ended

if [ -n "${has_direct:-}" ]; then
	echo "# root's program with the device inside"
	failing_start direct 0 1 --direct
	check "another user may not see its queue pair" is_refused $user_a "$first"
	check "root may" says 0 "LOCAL_PROTECTION" explain "$first"
	failing_end direct
	check "root may after its end" wait_for 10 says 0 "LOCAL_PROTECTION" explain "$first"
	check "another user may not" is_refused $user_a "$first"
fi

echo "# damaged records"
# has_checksum FILE: computed as the manual says.
has_checksum() {
	python3 -c '
import json, sys, zlib
d = json.load(open(sys.argv[1])); written = d.pop("crc32")
text = json.dumps(d, sort_keys=True, separators=(",", ":"))
sys.exit(written != zlib.crc32(text.encode()))' "$1"
}
check "the checksum is the one of the manual" has_checksum "$WORK/saved/root"
explains_with() {
	says $user_b "$1" explain --peer "$WORK/peer.record" "$of_b"
}
cp "$WORK/saved/b" "$WORK/peer.record"
check "a whole one is read" explains_with LOCAL_PROTECTION
sed -i '0,/"qpn": [1-9]/s/"qpn": [1-9]/&0/' "$WORK/peer.record"
check "a digit that was changed is seen" explains_with "it was changed"
head -c 500 "$WORK/saved/b" >"$WORK/peer.record"
check "so is an end that is missing" explains_with "is no record that can be read"
cat "$WORK/saved/b" "$WORK/saved/a" >"$WORK/peer.record"
check "two in one file are none" explains_with "is no record that can be read"
echo '{"format": "rnic-record", "version": 1}' >"$WORK/peer.record"
check "nor is one without a checksum" explains_with "it was changed"
chmod 600 "$WORK/saved/root"
check "a file that may not be read is named" says $user_b "saved/root: " \
	explain --peer "$WORK/saved/root" "$of_b"

topology_finish
