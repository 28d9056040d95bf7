/* SPDX-License-Identifier: MIT */
/* Requests of a queue pair of the bench that is its own peer. */
#include "tests/interop/verbs/refusals.h"
#include "tests/interop/verbs/qp_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WAIT_S 30

static void give_up(const char *what)
{
	printf("FAIL  %s\n", what);
	exit(1);
}

void bench_connect(const struct bench *bench, struct ibv_qp *qp, unsigned rights)
{
	struct ibv_qp_attr attributes = {
		.port_num = 1,
		.qp_access_flags = rights,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 2,
		.max_rd_atomic = 2,
		.timeout = 12,
		.retry_cnt = 7,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = bench->gid.gid,
				    .sgid_index = (uint8_t)bench->gid.gid_index,
				    .hop_limit = 1}},
	};

	if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE) != 0) /* to RESET */
		give_up("ibv_modify_qp to RESET");
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attributes.qp_state = (enum ibv_qp_state)state;
		if (ibv_modify_qp(qp, &attributes, qp_mask_to(attributes.qp_state, qp->qp_type)) !=
		    0)
			give_up("ibv_modify_qp to RTS");
	}
}

struct ibv_wc bench_wait(struct bench *bench)
{
	const time_t end = time(NULL) + WAIT_S;
	struct ibv_wc wc = {0};

	while (ibv_poll_cq(bench->cq, 1, &wc) != 1)
		if (time(NULL) > end)
			give_up("no completion");
	return wc;
}

int bench_run(struct bench *bench, struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int error;

	wr->send_flags |= IBV_SEND_SIGNALED;
	error = ibv_post_send(qp, wr, &bad);
	return error != 0 ? -error : (int)bench_wait(bench).status;
}

const struct bench_way bench_ways[BENCH_WAYS] = {
	{IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE},
	{IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC},
};

bool bench_reaches(struct bench *bench, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t address)
{
	struct ibv_sge sge = {(uintptr_t)bench->bytes, 8, bench->open->lkey};
	struct ibv_send_wr wr = {.opcode = opcode, .sg_list = &sge, .num_sge = 1};

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = address;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = address;
		wr.wr.rdma.rkey = rkey;
	}
	return bench_run(bench, bench->rc, &wr) == IBV_WC_SUCCESS;
}
