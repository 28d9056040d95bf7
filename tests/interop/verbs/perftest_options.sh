#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What else perftest can ask of a device: perftest_options.sh TOPOLOGY PORT FAMILY
#
# Depths of its queues, lists of work requests, the older way to post, multicast. The group that
# perftest takes by itself is an IPv6 one, and two tests at a time on loopback would share it.
. "$(dirname "$0")/../lib.sh"

topology_start "$@"

iterations=500
[ -z "$SLOW" ] || iterations=100

for verb in send write read atomic; do
	pair_run ib_${verb}_bw -F -c RC -t 1 -n 100
	pair_run ib_${verb}_bw -F -c RC -t 2048 -n 3000
	pair_run ib_${verb}_bw -F -c RC --use_old_post_send -n $iterations
	pair_run ib_${verb}_lat -F -c RC --use_old_post_send -n 100
done
pair_run ib_send_bw -F -c RC -t 1 -r 1 -n 100
pair_run ib_send_bw -F -c RC -t 1024 -r 8192 -n 3000
pair_run ib_send_bw -F -c RC -r 512 --use-srq -n $iterations
pair_run ib_send_bw -F -c XRC --use-srq -t 16 -r 64 -n $iterations
pair_run ib_read_bw -F -c RC -o 1 -n 100
pair_run ib_read_bw -F -c RC -o 16 -n $iterations
pair_run ib_atomic_bw -F -c RC -A CMP_AND_SWAP -n $iterations
pair_run ib_send_bw -F -c RC -Q 1 -n $iterations
for verb in send write; do
	pair_run ib_${verb}_bw -F -c RC -l 16 -n $((iterations / 16 * 16))
done
pair_run ib_send_bw -F -c RC --recv_post_list=8 -n $((iterations / 8 * 8))
for service in UC UD XRC; do
	pair_run ib_send_bw -F -c $service --use_old_post_send -s 1024 -n $iterations
	pair_run ib_send_lat -F -c $service --use_old_post_send -s 64 -n 100
done
pair_run ib_send_bw -F -c UC -t 16 -r 1024 -s 1024 -n $iterations
pair_run ib_send_bw -F -c UD -t 16 -r 1024 -s 1024 -n $iterations

group=0:0:0:0:0:0:0:0:0:0:255:255:239:9:${multicast_number/./:}
[ "$3" = 4 ] || group=255:21:0:0:0:0:0:0:0:0:0:0:0:0:${multicast_number/./:}
pair_run ib_send_bw -F -c UD -g -M $group -s 1024 -n $iterations
pair_run ib_send_bw -F -c UD -g -M $group -s 64 --use_old_post_send -n $iterations
pair_run ib_send_lat -F -c UD -g -M $group -s 64 -n 100
check "side 0 received by its group" \
	holds 0 counters "rows['multicast_received_datagrams'] >= 2 * $iterations"
if [[ $1 == netns-* && $3 == 6 ]]; then
	side_gid=(0 0)
	pair_run ib_send_bw -F -c UD -g -s 1024 -n $iterations
	pair_run ib_send_lat -F -c UD -g -s 64 -n 100
	check "side 0 received by the default group" \
		holds 0 counters "rows['multicast_received_datagrams'] >= 3 * $iterations"
fi

topology_finish
