/* SPDX-License-Identifier: MIT */
/* Wrong arguments of queue pairs and of posting. */
#include "tests/interop/verbs/refusals.h"

/* ---- queue pairs ---- */

static int create_with(struct bench *bench, struct ibv_qp_init_attr *wanted)
{
	return NULL_ERRNO(ibv_create_qp(bench->pd, wanted));
}

static int create_qp_send_depth(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);

	wanted.cap.max_send_wr = (uint32_t)bench->limits.max_qp_wr + 1;
	return create_with(bench, &wanted);
}

static int create_qp_recv_depth(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);

	wanted.cap.max_recv_wr = (uint32_t)bench->limits.max_qp_wr + 1;
	return create_with(bench, &wanted);
}

static int create_qp_sges(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);

	wanted.cap.max_send_sge = (uint32_t)bench->limits.max_sge + 1;
	return create_with(bench, &wanted);
}

static int create_qp_inline(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);

	wanted.cap.max_inline_data = 1 << 20;
	return create_with(bench, &wanted);
}

static int create_qp_without_cq(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);

	wanted.send_cq = NULL;
	return create_with(bench, &wanted);
}

static int create_qp_raw(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);

	wanted.qp_type = IBV_QPT_RAW_PACKET;
	return create_with(bench, &wanted);
}

static int create_qp_unknown(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);

	wanted.qp_type = (enum ibv_qp_type)99;
	return create_with(bench, &wanted);
}

static int create_qp_ex_operations(struct bench *bench)
{
	struct ibv_qp_init_attr_ex wanted = {
		.send_cq = bench->cq,
		.recv_cq = bench->cq,
		.cap = {DEPTH, DEPTH, 1, 1, 0},
		.qp_type = IBV_QPT_RC,
		.pd = bench->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_TSO,
	};

	return NULL_ERRNO(ibv_create_qp_ex(bench->context, &wanted));
}

static int create_qp_ex_mask(struct bench *bench)
{
	struct ibv_qp_init_attr_ex wanted = {
		.send_cq = bench->cq,
		.recv_cq = bench->cq,
		.cap = {DEPTH, DEPTH, 1, 1, 0},
		.qp_type = IBV_QPT_RC,
		.pd = bench->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | 1U << 30,
	};

	return NULL_ERRNO(ibv_create_qp_ex(bench->context, &wanted));
}

static int open_qp_unknown(struct bench *bench)
{
	struct ibv_qp_open_attr wanted = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = 0x123456,
		.xrcd = bench->xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	return NULL_ERRNO(ibv_open_qp(bench->context, &wanted));
}

/* To INIT, with one thing changed. */
#define TO_INIT (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)

static struct ibv_qp_attr to_init(void)
{
	return (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1};
}

static int modify_qp_skipping_states(struct bench *bench)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTS};

	return ERRNO(ibv_modify_qp(bench->rc, &attributes, IBV_QP_STATE));
}

static int modify_qp_missing(struct bench *bench)
{
	struct ibv_qp_attr attributes = to_init();

	return ERRNO(ibv_modify_qp(bench->rc, &attributes, TO_INIT & ~IBV_QP_PORT));
}

static int modify_qp_superfluous(struct bench *bench)
{
	struct ibv_qp_attr attributes = to_init();

	return ERRNO(ibv_modify_qp(bench->rc, &attributes, TO_INIT | IBV_QP_SQ_PSN));
}

static int modify_qp_port(struct bench *bench)
{
	struct ibv_qp_attr attributes = to_init();

	attributes.port_num = 2;
	return ERRNO(ibv_modify_qp(bench->rc, &attributes, TO_INIT));
}

static int modify_qp_pkey(struct bench *bench)
{
	struct ibv_qp_attr attributes = to_init();

	attributes.pkey_index = 1000;
	return ERRNO(ibv_modify_qp(bench->rc, &attributes, TO_INIT));
}

static int modify_qp_current_state(struct bench *bench)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQD};

	return ERRNO(ibv_modify_qp(bench->rc, &attributes, IBV_QP_STATE | IBV_QP_CUR_STATE));
}

#define TO_RTR                                                                                     \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

static struct ibv_qp_attr to_rtr(const struct bench *bench)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = bench->rc->qp_num,
		.max_dest_rd_atomic = 1,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = bench->gid.gid,
				    .sgid_index = (uint8_t)bench->gid.gid_index,
				    .hop_limit = 1}},
	};
}

static int modify_to_rtr(struct bench *bench, struct ibv_qp_attr *attributes)
{
	struct ibv_qp_attr init = to_init();

	if (ibv_modify_qp(bench->rc, &init, TO_INIT) != 0)
		return NOT_REFUSED;
	return ERRNO(ibv_modify_qp(bench->rc, attributes, TO_RTR));
}

static int modify_qp_mtu(struct bench *bench)
{
	struct ibv_qp_attr attributes = to_rtr(bench);

	attributes.path_mtu = (enum ibv_mtu)6;
	return modify_to_rtr(bench, &attributes);
}

static int modify_qp_not_global(struct bench *bench)
{
	struct ibv_qp_attr attributes = to_rtr(bench);

	attributes.ah_attr.is_global = 0;
	return modify_to_rtr(bench, &attributes);
}

static int modify_qp_empty_gid(struct bench *bench)
{
	struct ibv_qp_attr attributes = to_rtr(bench);

	attributes.ah_attr.grh.sgid_index = 200;
	return modify_to_rtr(bench, &attributes);
}

static int modify_qp_rd_atomic(struct bench *bench)
{
	struct ibv_qp_attr attributes = to_rtr(bench);

	attributes.max_dest_rd_atomic = 255;
	return modify_to_rtr(bench, &attributes);
}

static int modify_qp_path_mtu(struct bench *bench)
{
	struct ibv_qp_attr attributes = to_rtr(bench);

	attributes.path_mtu = (enum ibv_mtu)6;
	return modify_to_rtr(bench, &attributes);
}

static int rate_limit(struct bench *bench)
{
	struct ibv_qp_rate_limit_attr wanted = {.rate_limit = 1000};

	return ERRNO(ibv_modify_qp_rate_limit(bench->rc, &wanted));
}

static int ece_of_a_vendor(struct bench *bench)
{
	struct ibv_ece ece = {.vendor_id = 0x15b3, .options = 1};

	return ERRNO(ibv_set_ece(bench->rc, &ece));
}

/* ---- posting ---- */

static int post_send_in(struct bench *bench, int states)
{
	struct ibv_qp_attr init = to_init(), rtr = to_rtr(bench);
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad = NULL;
	int result;

	if ((states > 0 && ibv_modify_qp(bench->rc, &init, TO_INIT) != 0) ||
	    (states > 1 && ibv_modify_qp(bench->rc, &rtr, TO_RTR) != 0))
		return NOT_REFUSED;
	result = ibv_post_send(bench->rc, &wr, &bad);
	return bad == &wr ? result : NOT_REFUSED;
}

static int post_send_in_reset(struct bench *bench)
{
	return post_send_in(bench, 0);
}

static int post_send_in_init(struct bench *bench)
{
	return post_send_in(bench, 1);
}

static int post_send_in_rtr(struct bench *bench)
{
	return post_send_in(bench, 2);
}

static int post_recv_in_reset(struct bench *bench)
{
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad = NULL;
	int result = ibv_post_recv(bench->rc, &wr, &bad);

	return bad == &wr ? result : NOT_REFUSED;
}

static int post_recv_too_many(struct bench *bench)
{
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad = NULL;
	struct ibv_qp_attr init = to_init();
	int result = ibv_modify_qp(bench->rc, &init, TO_INIT);

	for (int i = 0; i < 100000 && result == 0; i++)
		result = ibv_post_recv(bench->rc, &wr, &bad);
	return bad == &wr ? result : NOT_REFUSED;
}

static int post_recv_sges(struct bench *bench)
{
	struct ibv_sge sges[64] = {0};
	struct ibv_recv_wr wr = {.sg_list = sges, .num_sge = 64}, *bad = NULL;
	struct ibv_qp_attr init = to_init();
	int result = ibv_modify_qp(bench->rc, &init, TO_INIT);

	if (result == 0)
		result = ibv_post_recv(bench->rc, &wr, &bad);
	return bad == &wr ? result : NOT_REFUSED;
}

/* A UD queue pair that is ready to send. */
static struct ibv_qp *ready_ud(struct bench *bench)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	ibv_modify_qp(bench->ud, &attributes,
		      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attributes.qp_state = IBV_QPS_RTR;
	ibv_modify_qp(bench->ud, &attributes, IBV_QP_STATE);
	attributes.qp_state = IBV_QPS_RTS;
	ibv_modify_qp(bench->ud, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return bench->ud;
}

static int post_to_ud(struct bench *bench, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int result = ibv_post_send(ready_ud(bench), wr, &bad);

	return bad == wr ? result : NOT_REFUSED;
}

static int post_send_unknown_opcode(struct bench *bench)
{
	struct ibv_send_wr wr = {.opcode = (enum ibv_wr_opcode)99};

	return post_to_ud(bench, &wr);
}

static int post_send_sges(struct bench *bench)
{
	struct ibv_sge sges[64] = {0};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .sg_list = sges, .num_sge = 64};

	return post_to_ud(bench, &wr);
}

static int post_send_inline_too_long(struct bench *bench)
{
	struct ibv_sge sge = {(uintptr_t)bench->bytes, BYTES, 0};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IBV_SEND_INLINE,
	};

	return post_to_ud(bench, &wr);
}

static int post_invalidate_to_ud(struct bench *bench)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV};

	return post_to_ud(bench, &wr);
}

/* Its queue is another's. */
static int post_recv_beside_srq(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad = NULL;
	struct ibv_qp_attr init = to_init();
	struct ibv_qp *qp;
	int result;

	wanted.srq = bench->srq;
	qp = ibv_create_qp(bench->pd, &wanted);
	result = ibv_modify_qp(qp, &init, TO_INIT);
	if (result == 0)
		result = ibv_post_recv(qp, &wr, &bad);
	ibv_destroy_qp(qp);
	return bad == &wr ? result : NOT_REFUSED;
}

const struct refusal refusals_qp[] = {
	REFUSAL(create_qp_send_depth, EINVAL),
	REFUSAL(create_qp_recv_depth, EINVAL),
	REFUSAL(create_qp_sges, EINVAL),
	REFUSAL(create_qp_inline, EINVAL),
	REFUSAL(create_qp_without_cq, EINVAL),
	REFUSAL(create_qp_raw, EOPNOTSUPP),
	REFUSAL(create_qp_unknown, EOPNOTSUPP),
	REFUSAL(create_qp_ex_operations, EOPNOTSUPP),
	REFUSAL(create_qp_ex_mask, EOPNOTSUPP),
	REFUSAL(open_qp_unknown, EINVAL),
	REFUSAL(modify_qp_skipping_states, EINVAL),
	REFUSAL(modify_qp_missing, EINVAL),
	REFUSAL(modify_qp_superfluous, EINVAL),
	REFUSAL(modify_qp_port, EINVAL),
	REFUSAL(modify_qp_pkey, EINVAL),
	REFUSAL(modify_qp_current_state, EINVAL),
	REFUSAL(modify_qp_mtu, EINVAL),
	REFUSAL(modify_qp_not_global, EINVAL),
	REFUSAL(modify_qp_empty_gid, EINVAL),
	REFUSAL(modify_qp_rd_atomic, EINVAL),
	REFUSAL(modify_qp_path_mtu, EINVAL),
	REFUSAL(rate_limit, EOPNOTSUPP),
	REFUSAL(ece_of_a_vendor, EOPNOTSUPP),
	REFUSAL(post_send_in_reset, EINVAL),
	REFUSAL(post_send_in_init, EINVAL),
	REFUSAL(post_send_in_rtr, EINVAL),
	REFUSAL(post_recv_in_reset, EINVAL),
	REFUSAL(post_recv_too_many, ENOMEM),
	REFUSAL(post_recv_sges, EINVAL),
	REFUSAL(post_send_unknown_opcode, EOPNOTSUPP),
	REFUSAL(post_send_sges, EINVAL),
	REFUSAL(post_send_inline_too_long, EINVAL),
	REFUSAL(post_invalidate_to_ud, EINVAL),
	REFUSAL(post_recv_beside_srq, EINVAL),
	{0},
};
