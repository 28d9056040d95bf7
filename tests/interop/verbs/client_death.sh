#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs and daemons that die in the middle: client_death.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

topology_start "$@"

sends_packets() {
	holds "$1" qps "any(row['sent_packets'] > 100 for row in rows)"
}

# start_endless PROGRAM OPTION...: a pair that runs until it is stopped, with packets on the way.
start_endless() {
	pair_start "$@"
	wait_for 20 sends_packets 1 || {
		cat "$WORK/server.out" "$WORK/client.out" >"$WORK/pair.out"
		fail "$* gets going" "$WORK/pair.out"
	}
}

# expect_end WHAT: both programs have ended within the time, neither of them well.
expect_end() {
	pair_wait 30
	check "$1: the client ends by itself" test "$client_status" -ne 124
	check "$1: and reports failure" test "$client_status" -ne 0
	check "$1: so does the server" test "$server_status" -ne 0
}

xrc_program=("ib_send_bw -F -c XRC -n 100000000")
if [ -n "${RNIC_TEST_DIRECT:-}" ]; then
	skip_part "perftest names its XRC domain by a file, which --direct refuses"
	xrc_program=()
fi

for program in "ib_write_bw -F -c RC -D 600" "ib_send_bw -F -c RC -e -n 100000000" \
	"ibv_rc_pingpong -e -n 100000000" "ib_read_bw -F -c RC -q 16 -D 600" \
	"ibv_srq_pingpong -q 8 -n 100000000" "${xrc_program[@]}"; do
	# shellcheck disable=SC2086 # words
	start_endless $program
	signal_process KILL "$client_pid" "$server_pid"
	pair_wait 30
	check "$program, killed: side 0 frees all" wait_for 10 is_empty 0
	check "$program, killed: side 1 frees all" wait_for 10 is_empty 1
done

pair_run ibv_rc_pingpong -c

# A peer that vanishes is an error of the survivor's work, within its retries, and never a hang.
start_endless ib_write_bw -F -c RC -D 600
signal_process KILL "$server_pid"
pair_wait 30
check "the server is killed: the client ends with an error" \
	test "$client_status" -ne 0 -a "$client_status" -ne 124
check "the server is killed: its daemon frees all" wait_for 10 is_empty 0

pair_run ibv_rc_pingpong -c

for program in "ib_write_bw -F -c RC -D 600" "ibv_rc_pingpong -e -n 100000000" \
	"ibv_rc_pingpong -n 100000000"; do
	# shellcheck disable=SC2086 # words
	start_endless $program
	daemon_kill 0 1
	expect_end "$program, daemons killed"
	for side in 0 1; do
		[ -n "${side_pid[$side]}" ] || continue
		# A dead daemon's socket file must not hinder the next one.
		daemon_restart $side
	done
done

topology_finish
