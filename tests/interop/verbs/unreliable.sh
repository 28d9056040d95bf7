#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of the distribution over UC and UD: unreliable.sh TOPOLOGY PORT FAMILY
#
# They wait for ever for a message that was lost, so nothing here may lose one: sizes and numbers
# are such that a receiver that has to wait for a processor keeps up.
. "$(dirname "$0")/../lib.sh"

topology_start "$@"

for program in ibv_uc_pingpong ibv_ud_pingpong; do
	pair_run $program
	pair_run $program -e
	pair_run $program -n 5000
	pair_run $program -s 1
	pair_run $program -s 1024 -r 32
done
pair_run ibv_uc_pingpong -s 100001 -n 100

for service in UC UD; do
	pair_run ib_send_lat -F -c $service -n 200
	pair_run ib_send_lat -F -c $service -s 1024 -n 100
	pair_run ib_send_lat -F -c $service -e -n 200
	pair_run ib_send_bw -F -c $service -s 1024 -n 1000
	pair_run ib_send_bw -F -c $service -s 64 -n 5000
done
pair_run ib_send_bw -F -c UD --use-srq -s 1024 -n 200
pair_run ib_send_bw -F -c UC -s 65536 -n 100
pair_run ib_write_lat -F -c UC -n 100
pair_run ib_write_lat -F -c UC -s 65536 -n 20
pair_run ib_write_bw -F -c UC -a -n 32
pair_run ib_write_bw -F -c UC -s 65536 -q 4 -n 200

topology_finish
