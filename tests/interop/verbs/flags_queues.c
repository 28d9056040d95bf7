/* SPDX-License-Identifier: MIT */
/* All flags of completion queues, shared receive queues and XRC domains. */
#include "tests/interop/verbs/refusals.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_S 1000000000ULL
#define TIMESTAMPS                                                                                 \
	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- completion queues ---- */

/* A receive of a queue pair in error is flushed into the queue, whose first completion that is. */
static bool flush_into(struct bench *bench, struct ibv_cq_ex *cq, struct ibv_qp **qp)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_recv_wr wr = {.wr_id = 77}, *bad;
	struct ibv_poll_cq_attr none = {0};
	int result;

	wanted.recv_cq = ibv_cq_ex_to_cq(cq);
	*qp = ibv_create_qp(bench->pd, &wanted);
	if (*qp == NULL || ibv_modify_qp(*qp, &attributes,
					 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						 IBV_QP_ACCESS_FLAGS) != 0)
		return false;
	attributes.qp_state = IBV_QPS_ERR;
	if (ibv_post_recv(*qp, &wr, &bad) != 0 ||
	    ibv_modify_qp(*qp, &attributes, IBV_QP_STATE) != 0)
		return false;
	do {
		result = ibv_start_poll(cq, &none);
	} while (result == ENOENT);
	return result == 0 && cq->wr_id == 77;
}

/* A field that the flag names can be read; a time lies between two looks at its clock. */
static bool reads(struct bench *bench, struct ibv_cq_ex *cq, uint64_t flag)
{
	const clockid_t clock = flag == IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK
					? CLOCK_REALTIME
					: CLOCK_MONOTONIC;
	const uint64_t before = clock_ns(clock);
	struct ibv_qp *qp;
	uint64_t found = before;
	bool is_good;

	is_good = flush_into(bench, cq, &qp);
	if (is_good) {
		if (flag == IBV_WC_EX_WITH_QP_NUM)
			is_good = ibv_wc_read_qp_num(cq) == qp->qp_num;
		else if (flag == IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
			found = ibv_wc_read_completion_ts(cq);
		else if (flag == IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
			found = ibv_wc_read_completion_wallclock_ns(cq);
		ibv_end_poll(cq);
		/* The clocks are compared to the microsecond. */
		is_good = is_good && found + 1000 >= before && found <= clock_ns(clock) + 1000;
	}
	return ibv_destroy_qp(qp) == 0 && is_good;
}

static int create_cq_ex(struct bench *bench, struct ibv_cq_init_attr_ex wanted)
{
	struct ibv_parent_domain_init_attr parent = {.pd = bench->pd};
	struct ibv_cq_ex *cq;
	int result;

	wanted.cqe = DEPTH;
	wanted.parent_domain = ibv_alloc_parent_domain(bench->context, &parent);
	cq = ibv_create_cq_ex(bench->context, &wanted);
	result = errno;
	if (cq != NULL) {
		result = reads(bench, cq, wanted.wc_flags) ? 0 : NOT_DONE;
		if (ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) != 0)
			result = NOT_DONE;
	}
	return ibv_dealloc_pd(wanted.parent_domain) == 0 ? result : NOT_DONE;
}

static int cq_mask(struct bench *bench, uint64_t mask)
{
	return create_cq_ex(bench, (struct ibv_cq_init_attr_ex){.comp_mask = (uint32_t)mask});
}

static int cq_flags(struct bench *bench, uint64_t flags)
{
	return create_cq_ex(bench, (struct ibv_cq_init_attr_ex){
					   .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					   .flags = (uint32_t)flags,
				   });
}

static int cq_wc_flags(struct bench *bench, uint64_t flags)
{
	return create_cq_ex(bench, (struct ibv_cq_init_attr_ex){.wc_flags = flags});
}

/* Moderation can be off, and nothing else. */
static int modify_cq(struct bench *bench, uint64_t mask)
{
	struct ibv_modify_cq_attr wanted = {.attr_mask = (uint32_t)mask, .moderate.cq_count = 1};

	return ibv_modify_cq(bench->cq, &wanted);
}

static int poll_mask(struct bench *bench, uint64_t mask)
{
	struct ibv_cq_init_attr_ex wanted = {.cqe = DEPTH};
	struct ibv_poll_cq_attr attributes = {.comp_mask = (uint32_t)mask};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(bench->context, &wanted);
	int result = ibv_start_poll(cq, &attributes);

	return ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0 ? result : NOT_DONE;
}

/* ---- shared receive queues ---- */

static int make_srq(struct bench *bench, struct ibv_srq_init_attr_ex wanted)
{
	struct ibv_srq *srq;
	uint32_t number;
	int result;

	wanted.attr = (struct ibv_srq_attr){.max_wr = DEPTH, .max_sge = 1};
	wanted.pd = bench->pd;
	wanted.xrcd = bench->xrcd;
	wanted.cq = bench->cq;
	srq = ibv_create_srq_ex(bench->context, &wanted);
	result = errno;
	if (srq == NULL)
		return result;
	result = wanted.srq_type != IBV_SRQT_XRC || ibv_get_srq_num(srq, &number) == 0 ? 0
										       : NOT_DONE;
	return ibv_destroy_srq(srq) == 0 ? result : NOT_DONE;
}

static int srq_mask(struct bench *bench, uint64_t mask)
{
	return make_srq(bench, (struct ibv_srq_init_attr_ex){.comp_mask = IBV_SRQ_INIT_ATTR_PD |
									  (uint32_t)mask});
}

static int srq_xrc_mask(struct bench *bench, uint64_t mask)
{
	return make_srq(bench, (struct ibv_srq_init_attr_ex){
				       .srq_type = IBV_SRQT_XRC,
				       .comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE |
						    IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ |
						    (uint32_t)mask,
			       });
}

static int srq_type(struct bench *bench, uint64_t type)
{
	const uint32_t xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

	return make_srq(bench, (struct ibv_srq_init_attr_ex){
				       .srq_type = (enum ibv_srq_type)type,
				       .comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE |
						    (type == IBV_SRQT_XRC ? xrc : 0),
			       });
}

static int modify_srq(struct bench *bench, uint64_t mask)
{
	struct ibv_srq_init_attr made = {.attr = {.max_wr = DEPTH, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(bench->pd, &made);
	struct ibv_srq_attr wanted = {.max_wr = 2 * DEPTH, .srq_limit = 3}, found = {0};
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
	int result = 0;

	/* No limit is reached that would raise an event. */
	for (int i = 0; i < DEPTH && result == 0; i++)
		result = ibv_post_srq_recv(srq, &wr, &bad);
	if (result == 0)
		result = ibv_modify_srq(srq, &wanted, (int)mask);
	if (ibv_query_srq(srq, &found) != 0 ||
	    (found.max_wr >= 2 * DEPTH) != (result == 0 && mask == IBV_SRQ_MAX_WR) ||
	    (found.srq_limit == 3) != (result == 0 && mask == IBV_SRQ_LIMIT))
		result = NOT_DONE;
	return ibv_destroy_srq(srq) == 0 ? result : NOT_DONE;
}

/* ---- XRC domains ---- */

static int open_xrcd(struct bench *bench, uint32_t mask, int flags)
{
	FILE *file = tmpfile();
	struct ibv_xrcd_init_attr wanted = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS | mask,
		.fd = bench->is_direct ? -1 : fileno(file),
		.oflags = O_CREAT | flags,
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(bench->context, &wanted);
	int result = errno;

	if (xrcd != NULL) {
		/* A second opener of a file, which O_EXCL refuses. */
		struct ibv_xrcd *second = ibv_open_xrcd(bench->context, &wanted);

		result = (second == NULL) == (wanted.fd >= 0 && (flags & O_EXCL) != 0) ? 0
										       : NOT_DONE;
		if ((second != NULL && ibv_close_xrcd(second) != 0) || ibv_close_xrcd(xrcd) != 0)
			result = NOT_DONE;
	}
	fclose(file);
	return result;
}

static int xrcd_mask(struct bench *bench, uint64_t mask)
{
	return open_xrcd(bench, (uint32_t)mask, 0);
}

static int xrcd_oflags(struct bench *bench, uint64_t flags)
{
	return open_xrcd(bench, 0, (int)flags);
}

/* The target that is opened; the first three flags are needed. */
static int open_qp(struct bench *bench, uint64_t mask)
{
	struct ibv_qp_init_attr_ex target = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = bench->xrcd,
	};
	struct ibv_qp *made = ibv_create_qp_ex(bench->context, &target), *qp;
	struct ibv_qp_open_attr wanted = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE |
			     (uint32_t)mask,
		.qp_num = made->qp_num,
		.xrcd = bench->xrcd,
		.qp_context = bench,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	int result;

	qp = ibv_open_qp(bench->context, &wanted);
	result = errno;
	if (qp != NULL) {
		result = (qp->qp_context == bench) == (mask == IBV_QP_OPEN_ATTR_CONTEXT) ? 0
											 : NOT_DONE;
		if (ibv_destroy_qp(qp) != 0)
			result = NOT_DONE;
	}
	return ibv_destroy_qp(made) == 0 ? result : NOT_DONE;
}

const struct flag_word flags_of_queues[] = {
	{"create_cq_ex comp_mask", cq_mask, 3, 32, false},
	{"create_cq_ex flags", cq_flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED, 32, false},
	{"create_cq_ex wc_flags", cq_wc_flags, IBV_WC_STANDARD_FLAGS | TIMESTAMPS, 64, false},
	{"modify_cq attr_mask", modify_cq, IBV_CQ_ATTR_MODERATE, 32, false},
	{"start_poll comp_mask", poll_mask, 0, 32, false},
	{"create_srq_ex comp_mask", srq_mask, IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE, 32,
	 false},
	{"create_srq_ex comp_mask of XRC", srq_xrc_mask, 15, 32, false},
	{"create_srq_ex type", srq_type, 1 << IBV_SRQT_BASIC | 1 << IBV_SRQT_XRC, 32, true},
	{"modify_srq mask", modify_srq, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 31, false},
	{"open_xrcd comp_mask", xrcd_mask, 3, 32, false},
	{"open_xrcd oflags", xrcd_oflags, O_CREAT | O_EXCL, 31, false},
	{"open_qp comp_mask", open_qp, 15, 32, false},
	{0},
};
