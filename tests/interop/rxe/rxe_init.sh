#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash
# The first process of the guest: makes the rdma_rxe device, then lets verbs_puppet obey the lines
# that come through the virtual serial port.
# shellcheck source=tests/interop/rxe/guest_mounts.sh
. /guest_mounts.sh
# Some are part of one kernel and modules of the next.
for module in virtio_pci virtio_net virtio_console ib_uverbs crc32_generic rdma_rxe rdma_ucm \
	sch_netem sch_prio sch_ingress cls_matchall cls_u32 act_mirred; do
	modprobe -q $module
done
modprobe ifb numifbs=1
mtu=$(sed 's/.*guest_mtu=\([0-9]*\).*/\1/' /proc/cmdline)
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
ip link set lo up
ip link set eth0 mtu "$mtu"
ip link set eth0 up
ip address add 10.77.0.2/24 dev eth0
ip address add fd77::2/64 dev eth0
rdma link add rxe0 type rxe netdev eth0
for port in /dev/vport[0-9]p1; do
	echo "the guest is ready after $(cut -d' ' -f1 /proc/uptime) s, agent at $port"
done
# The libraries of the kernel's release know more than those that the other programs came with.
puppet=/bin/verbs_puppet
[ ! -e /newer ] || puppet="/newer/ld-linux-x86-64.so.2 --library-path /newer $puppet"
# A port that nobody outside is connected to reads as ended.
while :; do
	$puppet <>"$port" >&0 || echo "verbs_puppet ended with status $?"
	sleep 0.05 # between two polls for a connection
done
