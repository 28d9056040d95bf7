#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rnic-run --explore finds the mistakes of tools/examples/explore, which were written by somebody
# who had not read how faults are drawn, and lets the programs without them pass: explore.sh PORT
. "$(dirname "$0")/../lib.sh"

topology_start one "$1" 4

# explore STATUS RUNS NAME OPTION...: an example, or a program by its path; sets the file said.
explore() {
	local status=$1 runs=$2 name=$3
	shift 3
	[[ $name == */* ]] || name="$BIN/explore/$name"
	rnic 0 --explore "$runs" --save "$WORK/found" "$@" -- "$name" 2>"$WORK/said"
	[ $? -eq "$status" ] || { cat "$WORK/said" && false; }
}

says() {
	grep -Eq -- "$1" "$WORK/said" || { cat "$WORK/said" && false; }
}

faults_found() {
	grep -vc "^#" "$WORK/found"
}

# finds NAME RUNS OPTION...: the mistake, and a scenario of two faults at most.
finds() {
	local name=$1 runs=$2
	shift 2
	check "$name is found within $runs runs" explore 1 "$runs" "$name" "$@"
	sed -n 's/^rnic-run: /# /p' "$WORK/said"
	check "in two faults at most" test "$(faults_found)" -le 2
}

# replays TIMES STATUS NAME: the scenario that was found, with this exit status each time.
replays() {
	local i failures=0
	for ((i = 0; i < $1; i++)); do
		rnic 0 --scenario "$WORK/found" -- "$BIN/explore/$3" >"$WORK/replay" 2>&1
		[ $? -ne "$2" ] || failures=$((failures + 1))
	done
	echo "# $3: $failures of $1 replays"
	[ $failures -eq "$1" ]
}

bad_input() {
	check "a program that is not there" explore 127 5 nothing
	check "is named" says "explore/nothing: No such file or directory"
	check "a program that always fails" explore 1 5 /bin/false
	check "is none to explore" says "ended with status 1 without any fault"
	check "classes that are none" explore 1 5 /bin/true --classes loss,luck
	check "are refused" says 'the classes are loss, errno, events, order, delay'
	check "no runs" explore 1 0 /bin/true
	check "are refused" says "no run explores nothing"
	check "a budget that is none" explore 1 5 /bin/true --budget 5
	check "is refused" says '"5" is not a time of at most 60s'
}

long_runs() {
	local name
	finds lost_retry_wrong 500
	check "again and again" replays 20 134 lost_retry_wrong
	finds undrained_wrong 500
	replays 20 1 undrained_wrong
	for name in lost_retry unread_status undrained; do
		check "${name}_right passes" explore 0 500 ${name}_right --seed 7
	done
}

bad_input
finds unread_status_wrong 50 --seed 2
check "again and again" replays 20 1 unread_status_wrong
check "it did not fail in time" explore 1 50 unread_status_wrong --budget 1ms
check "without any fault" says "did not end in time without any fault"
direct=(--direct)
check "a program without a mistake, with the device inside" explore 0 10 unread_status_right
direct=()
[ -z "$LONG" ] || long_runs
topology_finish
