#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The device inside a program (rnic-run --direct) beside device processes, and what a program
# with it may meet: direct_programs.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

topology_start "$@"
direct_sides="" # of the sides whose programs have the device inside

eval "plain_$(declare -f exec_program)"
exec_program() {
	direct=()
	case $direct_sides in *$1*) direct=(--direct) ;; esac
	plain_exec_program "$@"
}

for side in 0 1; do
	direct_sides=$side
	echo "# the device inside the program of side $side"
	pair_run ibv_rc_pingpong -c -n 1000
	pair_run ibv_ud_pingpong -n 200 -s 1024
	pair_run ib_write_bw -F -c RC -n 1000
done

# start_endless: a pair with the device inside both programs, and packets on the way.
start_endless() {
	pair_start ib_write_bw -F -c RC -D 600
	check "a pair gets going" wait_for 20 holds 1 qps \
		"any(row['sent_packets'] > 100 for row in rows)"
}

direct_sides=01
start_endless
check "each program has a lane of its own" holds 0 qps \
	"all(row['qpn'] >> 16 >= 0x80 for row in rows)"
check "no device process serves them" wait_for 10 has_no_device 0

# A program that is stopped hangs neither rnicctl nor others, and goes on.
signal_process STOP "$client_pid"
check "rnicctl answers beside a stopped program" control 1 device
signal_process CONT "$client_pid"
before=$(query 1 qps "sum(row['sent_packets'] for row in rows)")
check "a program that was stopped goes on" wait_for 20 holds 1 qps \
	"sum(row['sent_packets'] for row in rows) > $before"

signal_process KILL "$client_pid" "$server_pid"
pair_wait 30
check "killed: side 0 frees all" wait_for 10 is_empty 0
check "killed: side 1 frees all" wait_for 10 is_empty 1
pair_run ibv_rc_pingpong -c -n 100

# The daemon ends: the programs end with an error, and nothing hangs.
start_endless
daemon_kill 0 1
pair_wait 30
check "daemons killed: the client ends by itself" test "$client_status" -ne 124
check "daemons killed: and reports failure" test "$client_status" -ne 0
for side in 0 1; do
	[ -z "${side_pid[$side]}" ] || daemon_restart $side
done

# expect_refusal WHAT SENTENCE COMMAND...
expect_refusal() {
	local what=$1 sentence=$2
	shift 2
	"$@" >"$WORK/refusal" 2>&1
	check "$what is refused by a sentence" grep -q -- "$sentence" "$WORK/refusal"
}

if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$WORK" "$WORK"/side?
	chmod 666 "${side_socket[0]}"
	expect_refusal "another user's program" "this rnicd is user 0's" \
		on 0 setpriv --reuid 12345 --regid 12345 --clear-groups \
		"$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" --direct ibv_devinfo
else
	skip_part "only root's daemon has programs of another user"
fi

topology_finish
