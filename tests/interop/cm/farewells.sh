#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Connections whose farewells get lost, however often they are tried:
# farewells.sh TOPOLOGY PORT FAMILY
#
# All that one side's connection manager sends is dropped. Where an end of that side parts, its
# DREQs are lost; where an end of the other side does, the DREPs. Each end that parts must end by
# its own retries, and each end must be told once.
. "$(dirname "$0")/../lib.sh"

topology_start "$@"
server=${side_address[0]}
port=7800
roles=(serve connect)
declare -A pids inputs

# stand PAIR: a connection. The end of side S prints to $WORK/PAIR-S, and parts at part PAIR S.
stand() {
	local pair=$1 side input
	port=$((port + 1))
	for side in 0 1; do
		mkfifo "$WORK/$pair-$side.in"
		exec {input}<>"$WORK/$pair-$side.in"
		inputs[$pair-$side]=$input
		exec_program $side "$BUILD/tests/cm_farewell" "${roles[side]}" "$server" $port \
			<"$WORK/$pair-$side.in" >"$WORK/$pair-$side" 2>&1 &
		pids[$pair-$side]=$!
		own $!
		[ $side = 1 ] || wait_for 20 cm_is_ready
	done
	for side in 0 1; do
		check "$pair: the connection stands on side $side" \
			wait_for 20 told "$pair" $side ESTABLISHED 0
	done
}

# told PAIR SIDE EVENT STATUS
told() {
	grep -qx "RDMA_CM_EVENT_$3 $4" "$WORK/$1-$2"
}

part() {
	echo >&"${inputs[$1-$2]}"
}

# ends PAIR SIDE STATUS: the end is told once that it is disconnected, with this status, and once
# that timewait is over. 16 tries take 11 s.
ends() {
	local name=$1-$2
	expect_end 40 "${pids[$name]}" 0 "$1: side $2" "$WORK/$name"
	check "$1: side $2 is told of the end once, with $3" \
		test "$(sed 1,/ESTABLISHED/d "$WORK/$name")" = "RDMA_CM_EVENT_DISCONNECTED $3
RDMA_CM_EVENT_TIMEWAIT_EXIT 0"
}

# mute SIDE, unmute SIDE: drops what the side sends to queue pair 1. The daemon sends that, also for
# programs with the device inside.
mute() {
	on "$1" "$BIN/rnicctl" fault --socket "${side_socket[$1]}" add drop/qpn=1
}

unmute() {
	on "$1" "$BIN/rnicctl" fault --socket "${side_socket[$1]}" clear
}

# count SIDE COUNTER
count() { query "$1" counters "rows['cm_$2']"; }

ETIMEDOUT=-110
TRIES=16
for muted in 0 1; do
	other=$((1 - muted))
	echo "# side $muted is not heard"
	stand dreq$muted
	stand drep$muted
	retries=("$(count 0 retries)" "$(count 1 retries)")
	check "side $muted is muted" mute $muted
	part dreq$muted $muted
	part drep$muted $other
	ends drep$muted $muted 0
	ends drep$muted $other $ETIMEDOUT
	ends dreq$muted $muted $ETIMEDOUT
	for side in 0 1; do
		check "side $side has tried $TRIES times" test \
			$(($(count $side retries) - retries[side])) -eq $((TRIES - 1))
	done
	check "the end that has heard nothing stands" is_running "${pids[dreq$muted-$other]}"
	check "and no longer" unmute $muted
	# Side $muted does not know the connection any more, and answers all the same.
	part dreq$muted $other
	ends dreq$muted $other 0
done

topology_finish
