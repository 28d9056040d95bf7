#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# At rdma_rxe of Linux 7.2 a READ succeeds without its bytes, and the queue pair breaks with it,
# when the ACK of an earlier request comes amid the READ's answer. The first packet of that answer
# has implied the ACK (IBTA 1.4, 9.7.5.1.2), which says nothing new. rxe looks at it nevertheless,
# for it could be a NAK of the READ, and then waits for a new answer. The READ's next packet begins
# none, which is an error, but one without a status: the READ completes with the status that it was
# posted with, which is success. The kernel warns once, rxe_comp.c:827.
#
# Below, two devices of rxe at the ends of a wire exchange a WRITE of 8 bytes and a READ of two
# packets. The first time the answers come in order. The second time netem lets ACKs come 10 ms
# later, and last packets of READs 20 ms later: 1024 of the READ's 2000 bytes are there.
#
# Seen with Linux 7.2.13 of Debian sid.
# What helps: a network that keeps the order of packets; or no READ of more than a packet before
# the completions of all earlier requests.
#
# What it needs, guest.sh says.
# shellcheck source=findings/guest.sh
. "$(dirname "$0")/guest.sh"

guest_make_rxe sid
for name in sch_prio sch_netem cls_u32; do guest_module $name; done
guest_file /sbin/tc
cat >"$root/late.c" <<'END'
#include "rxe_pair.h"

enum { RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

static void end_read(struct end *end, struct ibv_mr *to, uint32_t length, struct ibv_mr *from)
{
	struct ibv_sge sge = {(uintptr_t)to->addr, length, to->lkey};
	struct ibv_send_wr *bad, request = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.wr.rdma = {(uintptr_t)from->addr, from->rkey},
	};

	need(ibv_post_send(end->qp, &request, &bad) == 0, "post a READ");
}

int main(void)
{
	static char here[2000], there[2000];
	struct end one = end_open("rxe0", 0), other = end_open("rxe1", 0);
	struct ibv_mr *target = ibv_reg_mr(one.pd, here, sizeof(here), RIGHTS);
	struct ibv_mr *source = ibv_reg_mr(other.pd, there, sizeof(there), RIGHTS);
	struct ibv_qp_init_attr made;
	struct ibv_qp_attr now;
	int count = 0, status;

	need(target && source, "register");
	end_connect(&one, &other, RIGHTS);
	end_connect(&other, &one, RIGHTS);
	memset(here, 1, sizeof(here));
	memset(there, 2, sizeof(there));
	end_write(&one, target, there, source->rkey);
	end_read(&one, target, sizeof(here), source);
	status = end_wait(&one);
	printf("@@ WRITE: status %d\n", status);
	status = end_wait(&one);
	for (int i = 8; i < (int)sizeof(here); i++)
		count += here[i] == 2;
	need(ibv_query_qp(one.qp, &now, IBV_QP_STATE, &made) == 0, "query");
	printf("@@ READ: status %d, %d bytes are there, the queue pair is in %s\n", status,
	       count + 8, now.qp_state == IBV_QPS_ERR ? "ERR" : "RTS");
}
END
guest_program /late -libverbs
output=$(guest_run "$guest_wire"'
	/late
	late() {
		$other /sbin/tc qdisc add dev vb parent 1:$1 netem delay $3
		$other /sbin/tc filter add dev vb parent 1: protocol ip u32 \
			match u8 $2 0xff at 28 flowid 1:$1
	}
	$other /sbin/tc qdisc add dev vb root handle 1: prio
	late 1 0x11 10ms
	late 3 0x0f 20ms
	/late')
echo "$output"
[ "$output" = "WRITE: status 0
READ: status 0, 2000 bytes are there, the queue pair is in RTS
WRITE: status 0
READ: status 0, 1024 bytes are there, the queue pair is in ERR" ] || { echo "this is new"; exit 1; }
