#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs with one mistake each, and whether the device names it: mistaken_programs.sh PORT
. "$(dirname "$0")/../lib.sh"

topology_start pair "$1" 4
program=$BUILD/tests/mistaken_program
mapfile -t mistakes < <("$program" --list)
check "the programs make 28 mistakes or more" test ${#mistakes[@]} -ge 28

# run_end SIDE NAME MISTAKE: one of the two programs, which holds on until the pipe is closed.
run_end() {
	exec_program "$1" "$program" "$WORK/meeting" "$2" "${side_gid[$1]}" "$3" \
		<"$WORK/held" {holder}>&- >"$WORK/$2.out" 2>&1 &
	own $!
}

has_said_all() {
	grep -qE '^(done|ibv_|exchange|connect|no device)' "$WORK/server.out" &&
		grep -qE '^(done|ibv_|exchange|connect|no device)' "$WORK/client.out"
}

now_ms() {
	date +%s%3N
}

# names_it SIDE LISTING COLUMN SENTENCE: the column is that of the listing's text. Troubles are
# those of this mistake alone, which begin with their age.
names_it() {
	control "$1" "$2" 2>/dev/null |
		awk -v listing="$2" -v most=$(($(now_ms) - started_ms)) '
			/^ +[0-9]+ / { is_late = listing == "troubles" && $1 > most }
			!is_late' |
		grep -F -- "$3: " | grep -qF -- "$4"
}

# look_for MISTAKE WHEN: the lines of mistakes.txt about living programs, or about ended ones.
look_for() {
	local mistake side listing column sentence
	while read -r mistake side listing column sentence; do
		[ "$mistake" = "$1" ] || continue
		[ "$([ "$listing" = troubles ] && echo ended || echo living)" = "$2" ] || continue
		named=$((named + 1))
		if wait_for 5 names_it "$side" "$listing" "${column/_/ }" "$sentence"; then
			pass "$mistake, side $side: $sentence"
		else
			control "$side" >"$WORK/shown"
			fail "$mistake, side $side: $sentence" "$WORK/shown" "$WORK/server.out" \
				"$WORK/client.out"
		fi
	done < <(grep -v '^#' "$(dirname "$0")/mistakes.txt")
}

# The code of a failed completion has words, for the same status.
explains_completion() {
	local status code
	read -r status code < <(sed -nE 's/^completion: ([1-9][0-9]*), vendor_err (.*)/\1 \2/p' \
		"$WORK/client.out")
	[ -z "$status" ] ||
		check "$mistake: rnicctl explains $code, of status $status" \
			grep -qF "($status)" <("$BIN/rnicctl" explain "$code")
}

mkfifo "$WORK/held"
for mistake in "${mistakes[@]}"; do
	named=0
	started_ms=$(now_ms)
	rm -f "$WORK/meeting" "$WORK/server.out" "$WORK/client.out"
	exec {holder}<>"$WORK/held"
	run_end 0 server "$mistake"
	server_pid=$!
	wait_for 20 grep -q listens "$WORK/server.out"
	run_end 1 client "$mistake"
	client_pid=$!
	wait_for 20 has_said_all || fail "$mistake: both programs get to the end" \
		"$WORK/server.out" "$WORK/client.out"
	look_for "$mistake" living
	exec {holder}>&-
	wait_for 10 has_ended $server_pid && wait_for 10 has_ended $client_pid ||
		fail "$mistake: the programs end"
	look_for "$mistake" ended
	explains_completion
	check "$mistake is in mistakes.txt" test $named -gt 0
done

topology_finish
