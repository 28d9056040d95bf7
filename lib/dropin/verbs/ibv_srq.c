/* SPDX-License-Identifier: MIT */
#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <errno.h>
#include <stdlib.h>

_Static_assert(sizeof(struct ibv_srq) < RNIC_VERBS_SRQ_VIEW_BYTES, "slack for later headers");

/* Of XRC with `xrcd` and `cq`, else both are NULL. */
static struct ibv_srq *verbs_srq_create(struct ibv_pd *pd, struct ibv_xrcd *xrcd, struct ibv_cq *cq,
					struct ibv_srq_init_attr *attributes)
{
	struct rnic_verbs_srq *srq = calloc(1, sizeof(*srq));
	struct rnic_srq_options options = {
		.max_wr = attributes->attr.max_wr,
		.max_sge = attributes->attr.max_sge,
		.xrcd = xrcd == NULL ? NULL : rnic_verbs_xrcd(xrcd)->native,
		.cq = cq == NULL ? NULL : rnic_verbs_cq(cq)->native,
		.user = srq,
	};
	int error;

	if (srq == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_verbs_check_pd(pd);
	if (error == 0 && cq != NULL)
		error = rnic_verbs_check_cq(cq);
	if (error == 0 && xrcd != NULL)
		error = rnic_verbs_check_xrcd(xrcd);
	if (error == 0)
		error = rnic_create_srq(rnic_verbs_pd(pd)->native, &options, &srq->native);
	if (error != 0) {
		free(srq);
		return rnic_verbs_null(-error);
	}
	attributes->attr.max_wr = options.max_wr;
	attributes->attr.max_sge = options.max_sge;
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	srq->srq.context = pd->context;
	srq->made = rnic_verbs_made(pd->context, 0);
	srq->srq.srq_context = attributes->srq_context;
	srq->srq.pd = pd;
	return &srq->srq;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attributes)
{
	return verbs_srq_create(pd, NULL, NULL, attributes);
}

/* The extended struct begins with the plain one (asserted here). */
_Static_assert(offsetof(struct ibv_srq_init_attr_ex, attr) ==
		       offsetof(struct ibv_srq_init_attr, attr),
	       "the plain attributes come first");

struct ibv_srq *rnic_verbs_create_srq_ex(struct ibv_context *context,
					 struct ibv_srq_init_attr_ex *attributes)
{
	const uint32_t basic = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	const uint32_t xrc = basic | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	const uint32_t given = attributes->comp_mask;
	const enum ibv_srq_type type =
		(given & IBV_SRQ_INIT_ATTR_TYPE) != 0 ? attributes->srq_type : IBV_SRQT_BASIC;
	struct ibv_srq_init_attr *plain = (struct ibv_srq_init_attr *)attributes;

	(void)context;
	if ((given & ~xrc) != 0 || (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC))
		return rnic_verbs_null(EOPNOTSUPP);
	if (type == IBV_SRQT_XRC)
		return given != xrc ? rnic_verbs_null(EINVAL)
				    : verbs_srq_create(attributes->pd, attributes->xrcd,
						       attributes->cq, plain);
	if ((given & IBV_SRQ_INIT_ATTR_PD) == 0 || (given & ~basic) != 0)
		return rnic_verbs_null(EINVAL);
	return verbs_srq_create(attributes->pd, NULL, NULL, plain);
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attributes, int mask)
{
	const struct rnic_srq_attributes native = {
		.max_wr = attributes->max_wr,
		.limit = attributes->srq_limit,
	};
	int error = rnic_verbs_check_srq(srq);

	if (error == 0)
		error = rnic_modify_srq(rnic_verbs_srq(srq)->native, &native, (uint32_t)mask);
	return rnic_verbs_errno(error);
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attributes)
{
	struct rnic_srq_attributes native;
	int error = rnic_verbs_check_srq(srq);

	if (error == 0)
		error = rnic_query_srq(rnic_verbs_srq(srq)->native, &native);
	if (error == 0)
		*attributes = (struct ibv_srq_attr){
			.max_wr = native.max_wr,
			.max_sge = native.max_sge,
			.srq_limit = native.limit,
		};
	return rnic_verbs_errno(error);
}

int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct rnic_verbs_srq *srq = rnic_verbs_srq(ibv);
	int error = rnic_verbs_check_srq(ibv);

	if (error == 0)
		error = rnic_destroy_srq(srq->native);
	if (error != 0)
		return rnic_verbs_errno(error);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	free(srq);
	return 0;
}

int rnic_verbs_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	const int error = rnic_verbs_check_srq(srq);

	if (error == 0)
		*number = rnic_srq_number(rnic_verbs_srq(srq)->native);
	return rnic_verbs_errno(error);
}
