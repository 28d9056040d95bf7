#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shared receive queues and XRC with the distribution's programs: shared.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

topology_start "$@"

iterations=500
[ -z "$SLOW" ] || iterations=100

pair_run ibv_srq_pingpong -c
pair_run ibv_srq_pingpong -c -e -q 8
pair_run ibv_srq_pingpong -c -q 1 -r 2 -n 200
pair_run ibv_srq_pingpong -c -q 16 -s 100001 -n 50

for service in RC UC UD; do
	pair_run ib_send_bw -F -c $service --use-srq -s 1024 -n $iterations
	pair_run ib_send_lat -F -c $service --use-srq -s 64 -n 100
done
pair_run ib_send_bw -F -c RC --use-srq -q 8 -s 65537 -n 100
pair_run ib_send_bw -F -c RC --use-srq -q 4 -b -n $iterations
pair_run ib_send_bw -F -c RC --use-srq -q 4 -e -n $iterations
pair_run ib_send_bw -F -c RC --use-srq -q 2 -r 3 -n $iterations

if [ -n "${RNIC_TEST_DIRECT:-}" ]; then
	skip_part "these programs name their XRC domain by a file, which --direct refuses"
else
	pair_run ibv_xsrq_pingpong
	pair_run ibv_xsrq_pingpong -e
	pair_run ibv_xsrq_pingpong -s 100001 -n 50
	for verb in write read send atomic; do
		pair_run ib_${verb}_bw -F -c XRC -n $iterations
		pair_run ib_${verb}_lat -F -c XRC -n 100
	done
	pair_run ib_send_bw -F -c XRC -b -q 2 -n $iterations
	pair_run ib_send_bw -F -c XRC -e -q 4 -n $iterations
fi

topology_finish
