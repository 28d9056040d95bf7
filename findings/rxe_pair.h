/* SPDX-License-Identifier: MIT */
/*
 * For findings about rdma_rxe: two ends of an RC connection in one program. A device's GID of index
 * 1 is the IPv4 address of its interface. What fails ends the program.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct end {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	union ibv_gid gid;
	int retry_count; /* 3, unless it is changed before end_connect() */
};

static void need(int is_done, const char *what)
{
	if (!is_done) {
		printf("@@ cannot %s\n", what);
		exit(2);
	}
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);

	for (int i = 0; devices && devices[i]; i++)
		if (strcmp(ibv_get_device_name(devices[i]), name) == 0)
			return ibv_open_device(devices[i]);
	return NULL;
}

/* `operations` as for ibv_create_qp_ex() */
static struct end end_open(const char *device, uint64_t operations)
{
	struct ibv_context *context = open_device(device);
	struct ibv_qp_init_attr_ex init;
	struct end end = {.retry_count = 3};

	need(context != NULL, "open the device");
	end.pd = ibv_alloc_pd(context);
	end.cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	init = (struct ibv_qp_init_attr_ex){
		.send_cq = end.cq,
		.recv_cq = end.cq,
		.qp_type = IBV_QPT_RC,
		.cap = {4, 4, 1, 1, 0},
		.sq_sig_all = 1,
		.pd = end.pd,
		.send_ops_flags = operations,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	end.qp = ibv_create_qp_ex(context, &init);
	need(end.qp && ibv_query_gid(context, 1, 1, &end.gid) == 0, "make a queue pair");
	return end;
}

/* `access` of the queue pair */
static void end_connect(struct end *end, const struct end *peer, int access)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = access,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.timeout = 14,
		.retry_cnt = (uint8_t)end->retry_count,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = peer->gid, .sgid_index = 1, .hop_limit = 64}},
	};
	const int to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	const int to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int to_rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	int ok = ibv_modify_qp(end->qp, &a, to_init) == 0;

	a.qp_state = IBV_QPS_RTR;
	ok = ok && ibv_modify_qp(end->qp, &a, to_rtr) == 0;
	a.qp_state = IBV_QPS_RTS;
	need(ok && ibv_modify_qp(end->qp, &a, to_rts) == 0, "connect");
}

static void end_write(struct end *end, struct ibv_mr *from, void *to, uint32_t rkey)
{
	struct ibv_sge sge = {(uintptr_t)from->addr, 8, from->lkey};
	struct ibv_send_wr request = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = {(uintptr_t)to, rkey},
	};
	struct ibv_send_wr *bad;

	need(ibv_post_send(end->qp, &request, &bad) == 0, "post a WRITE");
}

/* Returns the status of the next completion; -1: none came in 5 s. */
static int end_wait(struct end *end)
{
	struct ibv_wc completion;

	for (int i = 0; i < 5000; i++) {
		if (ibv_poll_cq(end->cq, 1, &completion) == 1)
			return (int)completion.status;
		usleep(1000);
	}
	return -1;
}
