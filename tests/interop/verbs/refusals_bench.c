/* SPDX-License-Identifier: MIT */
/* Requests of a queue pair of the bench that is its own peer. */
#include "tests/interop/verbs/refusals.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WAIT_S 30

static void give_up(const char *what)
{
	printf("FAIL  %s\n", what);
	exit(1);
}

static int mask_of(enum ibv_qp_type type, enum ibv_qp_state state)
{
	static const int connected[] = {
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN,
	};
	static const int reliable[] = {
		[IBV_QPS_RTR] = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		[IBV_QPS_RTS] = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_MAX_QP_RD_ATOMIC,
	};
	static const int datagram[] = {
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN,
	};

	if (type == IBV_QPT_UD)
		return IBV_QP_STATE | datagram[state];
	return IBV_QP_STATE | connected[state] | (type == IBV_QPT_RC ? reliable[state] : 0);
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
		if (ibv_modify_qp(qp, &attributes, mask_of(qp->qp_type, attributes.qp_state)) != 0)
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
