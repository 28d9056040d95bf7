#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Open MPI by UCX, with the link down in the middle: openmpi.sh PORT
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../network/port_events.sh"

for word in mpicc mpirun; do
	command -v $word >/dev/null ||
		skip_test "$word is not installed: packages openmpi-bin, libopenmpi-dev"
done
topology_start one "$1" 4
check "the program is compiled" \
	mpicc -O2 -Wall -Werror -o "$WORK/mpi_program" "$(dirname "$0")/mpi_program.c"

by_ucx=(--mca pml ucx --mca osc ucx --mca btl self)

# ranks_start ROUNDS SETTING...: two ranks, with the options of mpirun in mpi_options.
ranks_start() {
	local rounds=$1 settings=(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
		PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
		UCX_TLS='rc_verbs,ud_verbs,self' UCX_FENCE_MODE=weak UCX_WARN_UNUSED_ENV_VARS=n)
	shift
	: >"$WORK/mpi.out"
	exec_on 0 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" "${direct[@]}" \
		env "${settings[@]}" "$@" mpirun --oversubscribe -n 2 "${mpi_options[@]}" \
		"$WORK/mpi_program" "$rounds" >"$WORK/mpi.out" 2>&1 &
	mpi_pid=$!
	own $!
	check "the ranks send messages" wait_for 60 grep -q "^round 20$" "$WORK/mpi.out"
}

mpi_start() {
	mpi_options=("${by_ucx[@]}")
	ranks_start "$@"
	check "by the device" holds 0 qps "len(rows) >= 2"
}

link() {
	"$BIN/rnicctl" link "$1" --socket "${side_socket[0]}"
}

# Debian's configuration of Open MPI leaves UCX out.
leaves_the_device_alone() {
	mpi_options=()
	ranks_start 100
	check "without options not by the device" holds 0 qps "len(rows) == 0"
	expect_end 60 $mpi_pid 0 "the program without options" "$WORK/mpi.out"
}

# UCX waits for a second, seven times.
outlasts_an_outage() {
	watch_start
	mpi_start 200
	check "the link goes down" link down
	sleep 2 # no poll: the length of the outage is what is tested
	check "and comes up" link up
	expect_end 60 $mpi_pid 0 "the program" "$WORK/mpi.out"
	check "and found all data right" grep -qx "right" "$WORK/mpi.out"
	watch_saw_an_outage
	watch_end
}

ends_in_an_outage() {
	mpi_start 1000000 UCX_RC_TIMEOUT=50ms UCX_RC_RETRY_COUNT=2
	check "the link goes down" link down
	check "a longer outage ends the program" wait_for 20 has_ended $mpi_pid
	check "which says why" grep -q "transport retry counter exceeded" "$WORK/mpi.out"
	link up
}

leaves_the_device_alone
outlasts_an_outage
ends_in_an_outage
topology_finish
