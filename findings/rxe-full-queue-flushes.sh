#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# At rdma_rxe of Linux 6.12 a queue pair breaks when its interface's queue is full, and no
# completion says why: all requests flush. The queue then drops a packet, as any network may, and a
# requester sends again what is not acknowledged (IBTA 1.4, 9.9.2). rxe takes the drop for an error
# of the queue pair. Flushed requests stand behind one that completes in error (11.6.2), of which
# there is none.
#
# Below, two devices of rxe at the ends of a wire exchange four WRITEs of 8 bytes. The first time
# all arrive. The second time the interface's queue has room for one packet, which it sends after
# 20 ms: all four end with status 5, IBV_WC_WR_FLUSH_ERR, though retry_cnt is 3 and the peer is
# there.
#
# Seen with Linux 6.12.117 of Debian 13.
# What helps: a longer queue of the interface (txqueuelen, or the limit of its qdisc).
#
# What it needs, guest.sh says.
# shellcheck source=findings/guest.sh
. "$(dirname "$0")/guest.sh"

guest_make_rxe trixie
for name in crc32_generic sch_netem; do guest_module $name; done
guest_file /sbin/tc
cat >"$root/full.c" <<'END'
#include "rxe_pair.h"

enum { RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, REQUESTS = 4 };

int main(void)
{
	static char here[64], there[64];
	struct end one = end_open("rxe0", 0), other = end_open("rxe1", 0);
	struct ibv_mr *source = ibv_reg_mr(one.pd, here, sizeof(here), RIGHTS);
	struct ibv_mr *target = ibv_reg_mr(other.pd, there, sizeof(there), RIGHTS);
	struct ibv_qp_init_attr made;
	struct ibv_qp_attr now;
	int status[REQUESTS];

	need(source && target, "register");
	end_connect(&one, &other, RIGHTS);
	end_connect(&other, &one, RIGHTS);
	for (int i = 0; i < REQUESTS; i++)
		end_write(&one, source, there, target->rkey);
	for (int i = 0; i < REQUESTS; i++)
		status[i] = end_wait(&one);
	need(ibv_query_qp(one.qp, &now, IBV_QP_STATE, &made) == 0, "query");
	printf("@@ status %d %d %d %d, the queue pair is in %s\n", status[0], status[1], status[2],
	       status[3], now.qp_state == IBV_QPS_ERR ? "ERR" : "RTS");
}
END
guest_program /full -libverbs
# This kernel's rxe hears nothing in a second namespace: both ends of the wire are in one, and rules
# see to it that packets between them take the wire.
output=$(guest_run '
	/sbin/ip link set lo up
	/sbin/ip link add va type veth peer name vb
	for name in va vb; do
		echo 1 >/proc/sys/net/ipv4/conf/$name/accept_local
		/sbin/ip rule add priority 10 iif $name lookup local
	done
	/sbin/ip address add 10.9.9.1/32 dev va; /sbin/ip address add 10.9.9.2/32 dev vb
	/sbin/ip link set va up; /sbin/ip link set vb up
	/sbin/ip rule add priority 100 lookup local
	/sbin/ip rule add priority 20 to 10.9.9.0/24 lookup main
	/sbin/ip rule del priority 0
	/sbin/ip route add 10.9.9.2 dev va src 10.9.9.1
	/sbin/ip route add 10.9.9.1 dev vb src 10.9.9.2
	/sbin/ip neigh add 10.9.9.2 dev va lladdr $(cat /sys/class/net/vb/address)
	/sbin/ip neigh add 10.9.9.1 dev vb lladdr $(cat /sys/class/net/va/address)
	rdma link add rxe0 type rxe netdev va
	rdma link add rxe1 type rxe netdev vb
	sleep 1
	/full
	/sbin/tc qdisc add dev va root netem delay 20ms limit 1
	/full')
echo "$output"
[ "$output" = "status 0 0 0 0, the queue pair is in RTS
status 5 5 5 5, the queue pair is in ERR" ] || { echo "this is new"; exit 1; }
