#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The perftest programs of the distribution over RC:
#
#     perftest.sh TOPOLOGY PORT FAMILY [all-sizes VERB | no-sizes]
#
# no-sizes leaves the sizes out, which all-sizes has on the same topology and port. The long
# variants have them everywhere.
. "$(dirname "$0")/../lib.sh"

topology_start "$1" "$2" "$3"

# perftest measures the processor's clock anew for each size, which is most of the time that -a
# takes. ib_write_lat spins on memory on both sides, so on two cores each of its round trips may
# cost both daemons a tick of the scheduler.
sizes=("-s 2" "-s 65537 -n 128" "-s 8388608 -n 10")
lat_sizes=("-s 2 -n 100" "-s 65537 -n 20")
small=20000
PAIR_SECONDS=90
if [ -n "$LONG" ]; then
	sizes=("-a")
	lat_sizes=("-a")
	small=100000
	PAIR_SECONDS=900
elif [ -n "$SLOW" ]; then
	small=2000
elif [ "${4:-}" = all-sizes ]; then
	sizes=("-a -n 128")
	lat_sizes=("-a -n 8")
elif [ "${4:-}" = no-sizes ]; then
	sizes=()
	lat_sizes=()
fi

# shellcheck disable=SC2086 # words
for verb in ${5:-write read send}; do
	for size in "${sizes[@]}"; do pair_run ib_${verb}_bw -F -c RC $size; done
	for size in "${lat_sizes[@]}"; do pair_run ib_${verb}_lat -F -c RC $size; done
done
[ "${4:-}" != all-sizes ] || topology_finish
for verb in write read send atomic; do
	pair_run ib_${verb}_bw -F -c RC -q 16 -n 1000
	pair_run ib_${verb}_bw -F -c RC -b -n 1000
	pair_run ib_${verb}_bw -F -c RC -s 8 -n $small
done

# perftest has no events for WRITE. With -b it arms queues that it left full and waits.
for verb in read send atomic; do
	pair_run ib_${verb}_bw -F -c RC -e -n 1000
	pair_run ib_${verb}_lat -F -c RC -e -n 1000
done
pair_run ib_send_bw -F -c RC -s 64 -q 4 -e -n 1000
pair_run ib_send_bw -F -c RC -b -q 4 -e -n 1000
pair_run ib_send_bw -F -c RC -b -q 16 -e -n 1000

for verb in write send; do
	pair_run ib_${verb}_bw -F -c RC --inline_size 236 -s 236 -n 1000
	pair_run ib_${verb}_lat -F -c RC --inline_size 236 -s 236 -n 200
	pair_run ib_${verb}_bw -F -c RC -s 8 -q 16 -n $small
done

topology_finish
