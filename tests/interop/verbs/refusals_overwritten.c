/* SPDX-License-Identifier: MIT */
/*
 * Objects whose handle or context the program has overwritten. A context that was followed would
 * crash the test. Calls that the header itself makes through the context have a case for the handle
 * only.
 */
#include "tests/interop/verbs/refusals.h"

#define NOWHERE ((struct ibv_context *)64)

/* The result of a call while a field of the object has another value. */
#define WITH_HANDLE(object, result)                                                                \
	({                                                                                         \
		(object)->handle++;                                                                \
		int answer = (result);                                                             \
		(object)->handle--;                                                                \
		answer;                                                                            \
	})
#define WITH_CONTEXT(object, result)                                                               \
	({                                                                                         \
		struct ibv_context *right = (object)->context;                                     \
		(object)->context = NOWHERE;                                                       \
		int answer = (result);                                                             \
		(object)->context = right;                                                         \
		answer;                                                                            \
	})

static struct ibv_ah *make_ah(struct bench *bench)
{
	struct ibv_ah_attr wanted = {
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = bench->gid.gid, .sgid_index = (uint8_t)bench->gid.gid_index},
	};

	return ibv_create_ah(bench->pd, &wanted);
}

static int pd_handle(struct bench *bench)
{
	return WITH_HANDLE(bench->pd, ERRNO(ibv_dealloc_pd(bench->pd)));
}

static int pd_context(struct bench *bench)
{
	return WITH_CONTEXT(bench->pd, ERRNO(ibv_dealloc_pd(bench->pd)));
}

static int pd_of_a_region(struct bench *bench)
{
	return WITH_HANDLE(bench->pd, NULL_ERRNO(ibv_reg_mr(bench->pd, bench->bytes, BYTES,
							    IBV_ACCESS_LOCAL_WRITE)));
}

static int pd_of_a_qp(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);

	return WITH_CONTEXT(bench->pd, NULL_ERRNO(ibv_create_qp(bench->pd, &wanted)));
}

static int pd_of_an_ah(struct bench *bench)
{
	return WITH_CONTEXT(bench->pd, NULL_ERRNO(make_ah(bench)));
}

static int mr_handle(struct bench *bench)
{
	return WITH_HANDLE(bench->mr, ERRNO(ibv_dereg_mr(bench->mr)));
}

static int mr_context(struct bench *bench)
{
	return WITH_CONTEXT(bench->mr, ERRNO(ibv_dereg_mr(bench->mr)));
}

static int cq_handle(struct bench *bench)
{
	return WITH_HANDLE(bench->cq, ERRNO(ibv_resize_cq(bench->cq, DEPTH)));
}

static int cq_context(struct bench *bench)
{
	return WITH_CONTEXT(bench->cq, ERRNO(ibv_destroy_cq(bench->cq)));
}

static int cq_of_a_qp(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);

	return WITH_HANDLE(bench->cq, NULL_ERRNO(ibv_create_qp(bench->pd, &wanted)));
}

static int channel_context(struct bench *bench)
{
	return WITH_CONTEXT(bench->channel, ERRNO(ibv_destroy_comp_channel(bench->channel)));
}

static int qp_handle(struct bench *bench)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	return WITH_HANDLE(bench->rc, ERRNO(ibv_modify_qp(bench->rc, &reset, IBV_QP_STATE)));
}

static int qp_context(struct bench *bench)
{
	return WITH_CONTEXT(bench->rc, ERRNO(ibv_destroy_qp(bench->rc)));
}

static int qp_queried(struct bench *bench)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr found;

	return WITH_HANDLE(bench->rc, ERRNO(ibv_query_qp(bench->rc, &found, 0, &init)));
}

static int srq_handle(struct bench *bench)
{
	return WITH_HANDLE(bench->srq, ERRNO(ibv_destroy_srq(bench->srq)));
}

static int srq_context(struct bench *bench)
{
	struct ibv_srq_attr found;

	return WITH_CONTEXT(bench->srq, ERRNO(ibv_query_srq(bench->srq, &found)));
}

static int dm_handle(struct bench *bench)
{
	return WITH_HANDLE(bench->dm, ERRNO(ibv_free_dm(bench->dm)));
}

static int mw_handle(struct bench *bench)
{
	struct ibv_mw *mw = ibv_alloc_mw(bench->pd, IBV_MW_TYPE_2);
	int result = mw == NULL ? NOT_REFUSED : WITH_HANDLE(mw, ERRNO(ibv_dealloc_mw(mw)));

	return mw != NULL && ibv_dealloc_mw(mw) == 0 ? result : NOT_REFUSED;
}

static int ah_handle(struct bench *bench)
{
	struct ibv_ah *ah = make_ah(bench);
	int result = ah == NULL ? NOT_REFUSED : WITH_HANDLE(ah, ERRNO(ibv_destroy_ah(ah)));

	return ah != NULL && ibv_destroy_ah(ah) == 0 ? result : NOT_REFUSED;
}

const struct refusal refusals_overwritten[] = {
	REFUSAL(pd_handle, ENOENT),	  REFUSAL(pd_context, ENOENT),
	REFUSAL(pd_of_a_region, ENOENT),  REFUSAL(pd_of_a_qp, ENOENT),
	REFUSAL(pd_of_an_ah, ENOENT),	  REFUSAL(mr_handle, ENOENT),
	REFUSAL(mr_context, ENOENT),	  REFUSAL(cq_handle, ENOENT),
	REFUSAL(cq_context, ENOENT),	  REFUSAL(cq_of_a_qp, ENOENT),
	REFUSAL(channel_context, ENOENT), REFUSAL(qp_handle, ENOENT),
	REFUSAL(qp_context, ENOENT),	  REFUSAL(qp_queried, ENOENT),
	REFUSAL(srq_handle, ENOENT),	  REFUSAL(srq_context, ENOENT),
	REFUSAL(dm_handle, ENOENT),	  REFUSAL(mw_handle, ENOENT),
	REFUSAL(ah_handle, ENOENT),	  {0},
};
