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

# cause_of SIDE QUESTION: what rnicctl explain prints first, with the record of the other side;
# "undetermined" when it says so.
cause_of() {
	local other=$((1 - $1)) side=$1
	on $other "$BIN/rnicctl" record --socket "${side_socket[$other]}" save \
		"$WORK/peer.record" &&
		on "$side" "$BIN/rnicctl" explain --json --socket "${side_socket[$side]}" \
			--peer "$WORK/peer.record" "$2" >"$WORK/explained" 2>&1
	python3 -c '
import json, sys
first = json.loads(sys.stdin.readline())
print("undetermined" if first["undetermined"] else first.get("cause"))' <"$WORK/explained" 2>&1
}

is_explained_by() {
	cause=$(cause_of "$1" "$2")
	[ "$cause" = "$3" ]
}

# judge MISTAKE SIDE QUESTION CAUSE: counts how the first cause is named, and the time until then.
judge() {
	local since_ms
	since_ms=$(now_ms)
	judged=$((judged + 1))
	if wait_for 2 is_explained_by "$2" "$3" "$4"; then
		named_right=$((named_right + 1))
		since_ms=$(($(now_ms) - since_ms))
		[ $since_ms -le $slowest_ms ] || slowest_ms=$since_ms
		pass "$1, side $2: explained by $4"
	elif [ "$cause" = undetermined ]; then
		undetermined=$((undetermined + 1))
		echo "  $1, side $2: undetermined, not $4"
	else
		fail "$1, side $2: explained by $4, not $cause" "$WORK/explained"
	fi
}

# question_of SIDE LISTING: what rnicctl explain is asked: the living queue pair, or the last
# failure.
question_of() {
	if [ "$2" = troubles ]; then
		echo --last
	else
		query "$1" qps "'0x%06x' % int(str(rows[-1]['qpn']), 0)"
	fi
}

# look_for MISTAKE WHEN: the lines of mistakes.txt about living programs, or about ended ones.
look_for() {
	local mistake side listing column cause_wanted sentence
	while read -r mistake side listing column cause_wanted sentence; do
		[ "$mistake" = "$1" ] || continue
		[ "$([ "$listing" = troubles ] && echo ended || echo living)" = "$2" ] || continue
		named=$((named + 1))
		judge "$mistake" "$side" "$(question_of "$side" "$listing")" "$cause_wanted"
		[ "$listing" != explain ] || continue
		if wait_for 5 names_it "$side" "$listing" "${column/_/ }" "$sentence"; then
			pass "$mistake, side $side: $sentence"
		else
			control "$side" >"$WORK/shown"
			fail "$mistake, side $side: $sentence" "$WORK/shown" "$WORK/server.out" \
				"$WORK/client.out"
		fi
	done < <(grep -v '^#' "$(dirname "$0")/mistakes.txt")
}

# Conditions that the script makes while the client pauses between its connection and its work.
ctl() {
	on "$1" "$BIN/rnicctl" "${@:2}" --socket "${side_socket[$1]}" >/dev/null
}

is_connected() {
	grep -q "both are connected" "$WORK/client.out"
}

make_condition() {
	case $1 in
	link_down | requests_lost | answers_lost) wait_for 20 is_connected ;;
	esac
	case $1 in
	link_down) ctl 0 link down ;;
	requests_lost) ctl 0 fault add rx:drop@rc-send ;;
	answers_lost) ctl 0 fault add tx:drop@rc-acknowledge ;;
	esac
}

end_condition() {
	case $1 in
	link_down) ctl 0 link up ;;
	requests_lost | answers_lost) ctl 0 fault clear ;;
	esac
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

# A context of its own takes no rules of faults.
can_happen() {
	case $1 in
	requests_lost | answers_lost) [ ${#direct[@]} -eq 0 ] ;;
	esac
}

judged=0 named_right=0 undetermined=0 slowest_ms=0
mkfifo "$WORK/held"
for mistake in "${mistakes[@]}"; do
	can_happen "$mistake" || continue
	named=0
	started_ms=$(now_ms)
	rm -f "$WORK/meeting" "$WORK/server.out" "$WORK/client.out"
	exec {holder}<>"$WORK/held"
	run_end 0 server "$mistake"
	server_pid=$!
	wait_for 20 grep -q listens "$WORK/server.out"
	run_end 1 client "$mistake"
	client_pid=$!
	make_condition "$mistake"
	wait_for 20 has_said_all || fail "$mistake: both programs get to the end" \
		"$WORK/server.out" "$WORK/client.out"
	look_for "$mistake" living
	end_condition "$mistake"
	exec {holder}>&-
	wait_for 10 has_ended $server_pid && wait_for 10 has_ended $client_pid ||
		fail "$mistake: the programs end"
	look_for "$mistake" ended
	explains_completion
	check "$mistake is in mistakes.txt" test $named -gt 0
done

echo "first cause named: $named_right of $judged, undetermined: $undetermined;" \
	"slowest: $slowest_ms ms"
check "95 of 100 first causes are named" test $((named_right * 100)) -ge $((judged * 95))
check "each within 2 s" test $slowest_ms -le 2000

# refuses SENTENCE ARGUMENT...: rnicctl explain fails on side 1, and says why.
refuses() {
	local sentence=$1
	shift
	! on 1 "$BIN/rnicctl" explain --socket "${side_socket[1]}" "$@" >"$WORK/explained" 2>&1 &&
		grep -qF -- "$sentence" "$WORK/explained"
}

head -c 300 "$WORK/peer.record" >"$WORK/damaged"
sed 's/"version": 1/"version": 2/' "$WORK/peer.record" >"$WORK/later"
sed 's/"qpn": [0-9]*/"qpn": -1/' "$WORK/peer.record" >"$WORK/wrong"
check "a queue pair that there was never" refuses "no queue pair or program" 0xabcdef
check "a program that there was never" refuses "no queue pair or program" no_such_program
check "no daemon" refuses "no rnicd answers" --socket "$WORK/nobody" --last
check "no record" refuses "no record that can be read" --peer "$WORK/nothing" --last
check "a damaged record" refuses "no record that can be read" --peer "$WORK/damaged" --last
check "a record of another version" refuses "another version" --peer "$WORK/later" --last
check "a record with a wrong number" refuses "it was changed" --peer "$WORK/wrong" --last

topology_finish
