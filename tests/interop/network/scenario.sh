#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Scenarios of rnic-run, on both paths: scenario.sh PORT
. "$(dirname "$0")/../lib.sh"

topology_start one "$1" 4

# scenario LINE...: the lines of a file
scenario() {
	printf '%s\n' "$@" >"$WORK/scenario"
}

# plays STATUS COMMAND...: with that exit status, and sets what it said apart
plays() {
	local status=$1
	shift
	rnic 0 "${run_options[@]}" --scenario "$WORK/scenario" -- "$@" >"$WORK/out" 2>"$WORK/said"
	[ $? -eq "$status" ]
}

says() {
	grep -Eq -- "$1" "$WORK/said" || { cat "$WORK/said" && false; }
}

ctl() {
	local subcommand=$1
	shift
	"$BIN/rnicctl" "$subcommand" --socket "${side_socket[0]}" "$@"
}

# Nothing of a scenario is left, whatever ended.
nothing_is_left() {
	wait_for 5 no_condition_is_there
}

no_condition_is_there() {
	ctl link | grep -q "is up$" && ctl fault list | grep -qx "no faults"
}

link_is_down() {
	ctl link | grep -q "is down"
}

program=("$BIN/explore/undrained_right")

conditions() {
	scenario "# at once" "at 20ms for 50ms link down # and up" "at 40ms event gid-change" \
		"on rnic0 at 1ms event port-active"
	check "a scenario that is none is refused" plays 1 true
	check "with its column" says "scenario: line 4, column 10, at 'at 1ms.*': expected"
	scenario "# at once" "at 20ms for 50ms link down # and up" \
		"at 40ms on rnic0 event gid-change"
	check "conditions" plays 0 sleep 0.2
	check "the link was down" says 'line 2, "at 20ms for 50ms link down": 1 hit$'
	check "and one event was there" says 'line 3, "at 40ms on rnic0 event gid-change": 1 hit$'
	check "nothing is left" nothing_is_left
	scenario "on rnic1 link down"
	check "another device" plays 1 true
	check "is named" says '"on rnic1 link down": the program has no such device'
	scenario "qp error #1" "link down"
	check "no queue pair" plays 1 true
	check "is said" says '"qp error #1": there are 0 queue pairs, and no #1'
	check "nothing is left" nothing_is_left
}

calls() {
	scenario "fail=ENOMEM@reg_mr/nth=1"
	check "a call fails, and the program copes" plays 0 "${program[@]}"
	check "each time that it opens the device" says '"fail=ENOMEM@reg_mr/nth=1": [1-9] hits?$'
}

statuses() {
	scenario "link down"
	check "the exit status is the command's" plays 7 sh -c 'exit 7'
	check "also a signal" plays $((128 + 10)) sh -c 'kill -USR1 $$'
	check "no command" plays 127 "$WORK/nothing"
	check "nothing is left" nothing_is_left
}

# ends_by SIGNAL STATUS
ends_by() {
	local pid status
	exec_program 0 --scenario "$WORK/scenario" -- sleep 2 >"$WORK/out" 2>"$WORK/said" &
	pid=$!
	own $pid
	wait_for 10 link_is_down && kill -"$1" $pid
	wait $pid
	status=$?
	[ $status -eq "$2" ] && wait_for 5 nothing_is_left
}

packets() {
	scenario "drop@rc-write/nth=2" "drop@ud-send"
	check "a packet is lost" plays 0 "${program[@]}"
	check "one" says '"drop@rc-write/nth=2": 1 hit$'
	check "and none of another kind" says '"drop@ud-send": 0 hits$'
	check "nothing is left" nothing_is_left
}

# hits_of LINE: as the report says.
hits_of() {
	sed -n "s/.*line $1, .*: \([0-9]*\) hits\{0,1\}\$/\1/p" "$WORK/said"
}

# What a rule did by chance is saved as the packets that it hit.
recorded() {
	local hits
	scenario "drop=10%@rc-write/seed=3" "for 1s delay=1ms/chance=20%/first=20"
	run_options=(--save "$WORK/saved")
	check "a run is saved" plays 0 "${program[@]}"
	run_options=()
	hits=$(($(hits_of 1) + $(hits_of 2)))
	check "with a rule for each packet" test "$(grep -c "/nth=" "$WORK/saved")" -eq "$hits"
	cp "$WORK/saved" "$WORK/scenario"
	check "which is a scenario" plays 0 "${program[@]}"
	check "in which all of them hit" \
		test "$(grep -c "/nth=.*: 1 hit\$" "$WORK/said")" -eq "$hits"
}

conditions
calls
statuses
check "rnic-run ends by SIGTERM" ends_by TERM 143
check "by SIGHUP" ends_by HUP 129
check "by SIGKILL" ends_by KILL 137
packets
recorded
direct=(--direct)
conditions
calls
scenario "drop@rc-write/nth=2"
check "packets with --direct" plays 1 true
check "are refused" says "does not reach programs that run with --direct: .* where the peer is"
scenario "drop/qpn=1"
check "those of the connection manager, which rnicd sends, are not" plays 0 true
topology_finish
