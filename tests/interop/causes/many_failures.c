/* SPDX-License-Identifier: MIT */
/*
 * A program of many queue pairs, each of which fails: many_failures COUNT. Prints the number of the
 * first and of the last one, and "ready", and keeps all until its input ends. Runs under rnic-run.
 */
#include "tests/interop/verbs/verbs_bench.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WRONG_KEY 0x1100

/* A queue pair on the bench's completion queue that is connected to itself. */
static struct ibv_qp *connected_qp(const struct bench *bench)
{
	struct ibv_qp_init_attr wanted = {
		.send_cq = bench->cq,
		.recv_cq = bench->cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(bench->pd, &wanted);
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.timeout = 14,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = bench->gid.gid,
				    .sgid_index = (uint8_t)bench->gid.gid_index,
				    .hop_limit = 1}},
	};
	int error;

	assert(qp != NULL);
	attributes.dest_qp_num = qp->qp_num;
	error = ibv_modify_qp(qp, &attributes,
			      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
	attributes.qp_state = IBV_QPS_RTR;
	error |= ibv_modify_qp(qp, &attributes,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER);
	attributes.qp_state = IBV_QPS_RTS;
	error |= ibv_modify_qp(qp, &attributes,
			       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	assert(error == 0);
	return qp;
}

/* A request whose memory has another key. */
static void fail_request(struct bench *bench, struct ibv_qp *qp)
{
	struct ibv_sge memory = {
		.addr = (uintptr_t)bench->bytes, .length = 8, .lkey = bench->mr->lkey + WRONG_KEY};
	struct ibv_send_wr request = {.sg_list = &memory,
				      .num_sge = 1,
				      .opcode = IBV_WR_RDMA_WRITE,
				      .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *refused;
	int error = ibv_post_send(qp, &request, &refused);

	assert(error == 0);
	if (bench_status(bench) != IBV_WC_LOC_PROT_ERR)
		abort();
}

int main(int argc, char **argv)
{
	const unsigned long count = argc == 2 ? strtoul(argv[1], NULL, 10) : 1;
	struct bench *bench = bench_start(IBV_QPT_RC);

	for (unsigned long i = 0; i < count; i++) {
		struct ibv_qp *qp = connected_qp(bench);

		fail_request(bench, qp);
		if (i == 0 || i + 1 == count)
			printf("0x%06x\n", qp->qp_num);
	}
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
