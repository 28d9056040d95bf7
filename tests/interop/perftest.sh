#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The perftest programs of the distribution over RC: perftest.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/lib.sh"

topology_start "$@"

all_sizes="-a -n 128"
small=20000
PAIR_SECONDS=90
if [ -n "$LONG" ]; then
	all_sizes="-a"
	small=100000
	PAIR_SECONDS=900
elif [ -n "$SLOW" ]; then
	all_sizes="-s 65536 -n 128"
	small=2000
fi

for verb in write read send atomic; do
	sizes=$all_sizes
	[ $verb != atomic ] || sizes="-n 1000"
	for kind in bw lat; do
		# shellcheck disable=SC2086 # words
		pair_run ib_${verb}_$kind -F -c RC $sizes
	done
	pair_run ib_${verb}_bw -F -c RC -q 16 -n 1000
	pair_run ib_${verb}_bw -F -c RC -b -n 1000
	pair_run ib_${verb}_bw -F -c RC -e -n 1000
	[ $verb = write ] || pair_run ib_${verb}_lat -F -c RC -e -n 1000
done

for verb in write send; do
	for kind in bw lat; do
		pair_run ib_${verb}_$kind -F -c RC --inline_size 236 -s 236 -n 1000
	done
	pair_run ib_${verb}_bw -F -c RC -s 8 -n $small
	pair_run ib_${verb}_bw -F -c RC -s 8 -q 16 -n $small
	pair_run ib_${verb}_bw -F -c RC -s 64 -b -q 4 -e -n $small
done
pair_run ib_read_bw -F -c RC -s 8 -n $small

topology_finish
