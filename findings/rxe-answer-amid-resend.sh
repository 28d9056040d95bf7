#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# At rdma_rxe of Linux 7.2 an atomic executes twice, and its completion says success. A responder
# executes an atomic once (IBTA 1.4, 9.4.5), and a requester sends again what is not acknowledged
# with the PSN that it had.
#
# A WRITE of many packets is sent again, since its ACK is late, and the ACK comes when a part of the
# WRITE has been sent. rxe then expects the PSN behind the WRITE, but leaves the WRITE open until
# its last packet is sent and acknowledged again. If that answer is lost, rxe sends again from the
# PSN that it expects: the WRITE becomes one of 0 bytes, with the PSN of the atomic behind it, and
# the atomic gets the next PSN. To the peer that is a new request.
#
# Below, two devices of rxe at the ends of a wire exchange a WRITE of 100 packets, and behind it a
# FETCH_ADD of 1 to the number 100. The first time all is well. The second time the wire takes 4 ms
# for a packet, so that rxe, which has at most 64 packets in the interface's queue, sends the WRITE
# in two steps. The WRITE's ACK comes 450 ms late, and all other answers are lost for a while.
#
# Seen with Linux 7.2.13 of Debian sid, and by hand with 6.12.117 of Debian 13.
# What helps: a timeout that is far above the round trip, or requests of one packet.
#
# What it needs, guest.sh says.
# shellcheck source=findings/guest.sh
. "$(dirname "$0")/guest.sh"

guest_make_rxe sid
for name in sch_prio sch_netem sch_tbf cls_u32; do guest_module $name; done
guest_file /sbin/tc
cat >"$root/amid.c" <<'END'
#include "rxe_pair.h"

enum { RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC };

static void post(struct end *end, enum ibv_wr_opcode opcode, struct ibv_mr *local, uint32_t length,
		 struct ibv_mr *remote)
{
	struct ibv_sge sge = {(uintptr_t)local->addr, length, local->lkey};
	struct ibv_send_wr *bad, request = {.sg_list = &sge, .num_sge = 1, .opcode = opcode};

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		request.wr.atomic.remote_addr = (uintptr_t)remote->addr;
		request.wr.atomic.rkey = remote->rkey;
		request.wr.atomic.compare_add = 1;
	} else {
		request.wr.rdma.remote_addr = (uintptr_t)remote->addr;
		request.wr.rdma.rkey = remote->rkey;
	}
	need(ibv_post_send(end->qp, &request, &bad) == 0, "post");
}

int main(void)
{
	static char here[100 * 1024], there[100 * 1024];
	static uint64_t found, number = 100;
	struct end one = end_open("rxe0", 0), other = end_open("rxe1", 0);
	struct ibv_mr *source = ibv_reg_mr(one.pd, here, sizeof(here), RIGHTS);
	struct ibv_mr *target = ibv_reg_mr(other.pd, there, sizeof(there), RIGHTS);
	struct ibv_mr *original = ibv_reg_mr(one.pd, &found, sizeof(found), RIGHTS);
	struct ibv_mr *word = ibv_reg_mr(other.pd, &number, sizeof(number), RIGHTS);
	int status;

	need(source && target && original && word, "register");
	end_connect(&one, &other, RIGHTS);
	end_connect(&other, &one, RIGHTS);
	post(&one, IBV_WR_RDMA_WRITE, source, sizeof(here), target);
	post(&one, IBV_WR_ATOMIC_FETCH_AND_ADD, original, sizeof(found), word);
	if (system("[ ! -e /steps ] || sh /steps") != 0)
		return 1;
	status = end_wait(&one);
	printf("@@ WRITE: status %d\n", status);
	status = end_wait(&one);
	printf("@@ FETCH_ADD: status %d, it found %d, and the number is %d\n", status, (int)found,
	       (int)number);
}
END
sed -i 's/\.timeout = 14,/.timeout = 17,/' "$root/rxe_pair.h" # 537 ms
guest_program /amid -libverbs
output=$(guest_run "$guest_wire"'
	/amid
	# ACKs of the PSN 99, at which the WRITE ends, are late; all other answers are lost.
	answers() {
		$other /sbin/tc qdisc add dev vb root handle 1: prio
		$other /sbin/tc qdisc add dev vb parent 1:1 netem delay 450ms
		$other /sbin/tc qdisc add dev vb parent 1:3 netem loss 100%
		answer 2 0x11 1:1 match u32 99 0x00ffffff at 36
		answer 3 0x11 1:3
		answer 3 0x12 1:3
	}
	answer() {
		$other /sbin/tc filter add dev vb parent 1: protocol ip pref $1 u32 \
			match u8 $2 0xff at 28 $4 $5 $6 $7 $8 $9 flowid $3
	}
	/sbin/tc qdisc add dev va root tbf rate 2mbit burst 2kb limit 1mb
	answers
	echo "sleep 1.35; $other /sbin/tc qdisc change dev vb parent 1:3 netem loss 0%" >/steps
	/amid')
echo "$output"
[ "$output" = "WRITE: status 0
FETCH_ADD: status 0, it found 100, and the number is 101
WRITE: status 0
FETCH_ADD: status 0, it found 101, and the number is 102" ] || { echo "this is new"; exit 1; }
