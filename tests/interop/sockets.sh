#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The distribution's programs over rsockets: sockets.sh TOPOLOGY PORT FAMILY [FAULTS]
. "$(dirname "$0")/lib.sh"

options=()
[ -z "${4:-}" ] || options=(--fault "$4")
family=$3
topology_start "$1" "$2" "$family" "${options[@]}"

server=${side_address[0]}
rounds=1000
[ -z "$SLOW${4:-}" ] || rounds=50
port=7700

# Both printed so many results: these programs end with status 0 also when a transfer failed.
printed_results() {
	local side
	for side in server client; do
		[ "$(grep -cE '^([0-9]+[km]?_(lat|bw)|custom)' "$WORK/$side.out")" -eq "$1" ] ||
			return 1
	done
}

# stream_run RESULTS PROGRAM OPTION...: the program on both sides.
stream_run() {
	local results=$1
	shift
	port=$((port + 1))
	cm_run "$@" -b "$server" -p $port -- "$@" -s "$server" -p $port
	check "and printed $results results" printed_results "$results"
}

# Under loss each round trip may wait for a retransmission: fewer of them.
if [ -z "${4:-}" ]; then
	stream_run 8 rstream
	stream_run 8 rstream -T v -T a
fi

# Every variant: blocking, asynchronous, non-blocking, resolved by librdmacm, kept alive.
for variant in "-T b" "-T a" "-T n" "-T r" "-k 1 -T b" "-T a -T b" "-T a -T n"; do
	# shellcheck disable=SC2086 # words
	stream_run 1 rstream -T v -I $rounds -C 1 -S 4096 $variant
done
stream_run 1 rstream -T v -I $rounds -C 10 -S 1000 -B 8192
stream_run 1 rstream -T v -I $rounds -C 10 -S 1000 -i 0

# All sizes up to more than any buffer, with what is between two powers.
for size in 1 63 65 1000 4097 65535 262144 1048577 6291456; do
	stream_run 1 rstream -T v -T b -I 5 -C 2 -S $size
	stream_run 1 riostream -T v -T b -I 5 -C 2 -S $size
done
stream_run 1 riostream -I 20 -C 1 -S 65536 -T a
stream_run 1 riostream -I 20 -C 1 -S 65536 -T n

topology_finish
