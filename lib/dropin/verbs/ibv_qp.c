/* SPDX-License-Identifier: MIT */
#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <errno.h>
#include <stdlib.h>

#define ATOMIC_WRITE_BYTES 8

static int check_type(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* The parts of the native queue pair. The native code ignores parts that the type does not have. */
static void verbs_qp_set_options(const struct ibv_qp_init_attr *from, struct ibv_xrcd *xrcd,
				 struct rnic_qp_options *to)
{
	*to = (struct rnic_qp_options){
		.type = (enum rnic_qp_type)from->qp_type,
		.signal_all = from->sq_sig_all != 0,
		.send_cq = from->send_cq == NULL ? NULL : rnic_verbs_cq(from->send_cq)->native,
		.recv_cq = from->recv_cq == NULL ? NULL : rnic_verbs_cq(from->recv_cq)->native,
		.srq = from->srq == NULL ? NULL : rnic_verbs_srq(from->srq)->native,
		.xrcd = xrcd == NULL ? NULL : rnic_verbs_xrcd(xrcd)->native,
	};
	rnic_verbs_capacities(&from->cap, &to->capacities);
}

/* 0 when all that a queue pair is to be made of is as it was made. */
static int check_parts(const struct ibv_qp_init_attr *parts, struct ibv_pd *pd,
		       struct ibv_xrcd *xrcd)
{
	int error = pd == NULL ? 0 : rnic_verbs_check_pd(pd);

	if (error == 0 && xrcd != NULL)
		error = rnic_verbs_check_xrcd(xrcd);
	if (error == 0 && parts->send_cq != NULL)
		error = rnic_verbs_check_cq(parts->send_cq);
	if (error == 0 && parts->recv_cq != NULL)
		error = rnic_verbs_check_cq(parts->recv_cq);
	if (error == 0 && parts->srq != NULL)
		error = rnic_verbs_check_srq(parts->srq);
	return error;
}

static struct rnic_verbs_qp *verbs_qp_new(struct ibv_context *context, enum ibv_qp_type type,
					  void *qp_context)
{
	struct rnic_verbs_qp *qp = calloc(1, sizeof(*qp));

	if (qp == NULL)
		return NULL;
	rnic_verbs_fill_unsupported_qp(qp);
	pthread_mutex_init(&qp->qp.mutex, NULL);
	pthread_cond_init(&qp->qp.cond, NULL);
	qp->qp.context = context;
	qp->made = rnic_verbs_made(context, 0);
	qp->qp.qp_context = qp_context;
	qp->qp.qp_type = type;
	return qp;
}

static void qp_free(struct rnic_verbs_qp *qp)
{
	pthread_mutex_destroy(&qp->qp.mutex);
	pthread_cond_destroy(&qp->qp.cond);
	free(qp->batch);
	free(qp);
}

/* A queue pair in `pd`; a target is in `xrcd`. */
static struct ibv_qp *verbs_qp_create(struct ibv_context *context, struct ibv_pd *pd,
				      struct ibv_xrcd *xrcd, struct ibv_qp_init_attr *attributes)
{
	struct rnic_qp_options options;
	struct rnic_verbs_qp *qp;
	int error = check_type(attributes->qp_type);

	if (error == 0)
		error = check_parts(attributes, pd, xrcd);
	if (error != 0)
		return rnic_verbs_null(-error);
	qp = verbs_qp_new(context, attributes->qp_type, attributes->qp_context);
	if (qp == NULL)
		return rnic_verbs_null(ENOMEM);
	verbs_qp_set_options(attributes, xrcd, &options);
	options.user = qp;
	error = rnic_create_qp(pd == NULL ? NULL : rnic_verbs_pd(pd)->native, &options,
			       &qp->native);
	if (error != 0) {
		qp_free(qp);
		return rnic_verbs_null(-error);
	}
	rnic_verbs_qp_cap(&options.capacities, &attributes->cap);
	qp->signal_all = options.signal_all;
	qp->qp.pd = pd;
	qp->qp.send_cq = attributes->send_cq;
	qp->qp.recv_cq = attributes->recv_cq;
	qp->qp.srq = attributes->srq;
	qp->qp.qp_num = rnic_qp_number(qp->native);
	qp->qp.state = IBV_QPS_RESET;
	return &qp->qp;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	return verbs_qp_create(rnic_verbs_pd(pd)->made.context, pd, NULL, attributes);
}

struct ibv_qp *rnic_verbs_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attributes)
{
	const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	const bool has_context = (attributes->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0;
	struct rnic_verbs_qp *qp;
	int error;

	if ((attributes->comp_mask & ~(needed | IBV_QP_OPEN_ATTR_CONTEXT)) != 0)
		return rnic_verbs_null(EOPNOTSUPP);
	if ((attributes->comp_mask & needed) != needed || attributes->qp_type != IBV_QPT_XRC_RECV)
		return rnic_verbs_null(EINVAL);
	qp = verbs_qp_new(context, IBV_QPT_XRC_RECV, has_context ? attributes->qp_context : NULL);
	if (qp == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_verbs_check_xrcd(attributes->xrcd);
	if (error == 0)
		error = rnic_open_qp(rnic_verbs_xrcd(attributes->xrcd)->native, attributes->qp_num,
				     qp, &qp->native);
	if (error != 0) {
		qp_free(qp);
		return rnic_verbs_null(-error);
	}
	qp->qp.qp_num = attributes->qp_num;
	return &qp->qp;
}

/*
 * The extended struct begins with the plain one (asserted here).
 */
_Static_assert(offsetof(struct ibv_qp_init_attr_ex, sq_sig_all) ==
		       offsetof(struct ibv_qp_init_attr, sq_sig_all),
	       "the plain attributes come first");

/* 0 when the extended attributes are served, and those that the type needs are there. */
static int check_extended(const struct ibv_qp_init_attr_ex *attributes)
{
	const uint32_t served = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
				IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	const uint32_t given = attributes->comp_mask;
	const enum ibv_qp_type type = attributes->qp_type;
	const bool is_target = type == IBV_QPT_XRC_RECV;

	if ((given & ~served) != 0)
		return -EOPNOTSUPP;
	if ((given & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attributes->create_flags != 0)
		return -EOPNOTSUPP;
	if ((given & (is_target ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD)) == 0)
		return -EINVAL;
	/* Programs give an initiator the domain of its targets, too. */
	if ((given & IBV_QP_INIT_ATTR_XRCD) != 0 && !is_target && type != IBV_QPT_XRC_SEND)
		return -EINVAL;
	if ((given & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
	    (attributes->send_ops_flags & ~rnic_verbs_served_send_operations(type)) != 0)
		return -EOPNOTSUPP;
	return 0;
}

struct ibv_qp *rnic_verbs_create_qp_ex(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *attributes)
{
	const bool has_ops = (attributes->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
	const bool is_target = attributes->qp_type == IBV_QPT_XRC_RECV;
	struct ibv_qp *qp;
	int error = check_extended(attributes);

	if (error != 0)
		return rnic_verbs_null(-error);
	/* The word of ibv_wr_atomic_write() travels inline. */
	if (has_ops && (attributes->send_ops_flags & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0 &&
	    attributes->cap.max_inline_data < ATOMIC_WRITE_BYTES)
		attributes->cap.max_inline_data = ATOMIC_WRITE_BYTES;
	qp = verbs_qp_create(context, is_target ? NULL : attributes->pd,
			     is_target ? attributes->xrcd : NULL,
			     (struct ibv_qp_init_attr *)attributes);
	if (qp == NULL || !has_ops)
		return qp;
	error = rnic_verbs_add_send_batch(rnic_verbs_qp(qp), attributes->send_ops_flags,
					  attributes->cap.max_inline_data);
	if (error != 0) {
		ibv_destroy_qp(qp);
		return rnic_verbs_null(-error);
	}
	return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
	struct rnic_qp_attributes native;
	int error = rnic_verbs_check_qp(qp);

	if (error != 0)
		return rnic_verbs_errno(error);
	mask = rnic_verbs_qp_mask(qp->qp_type, mask);
	rnic_verbs_qp_attributes(attributes, &native);
	error = rnic_modify_qp(rnic_verbs_qp(qp)->native, &native, (uint32_t)mask);
	if (error == 0 && (mask & IBV_QP_STATE) != 0)
		qp->state = attributes->qp_state;
	return rnic_verbs_errno(error);
}

int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attributes, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct rnic_verbs_qp *qp = rnic_verbs_qp(ibv);
	struct rnic_qp_attributes native;
	struct rnic_qp_capacities capacities;
	int error = rnic_verbs_check_qp(ibv);

	(void)mask;
	if (error == 0)
		error = rnic_query_qp(qp->native, &native, &capacities);
	if (error != 0)
		return rnic_verbs_errno(error);
	rnic_verbs_qp_attr(&native, attributes);
	rnic_verbs_qp_cap(&capacities, &attributes->cap);
	*init = (struct ibv_qp_init_attr){
		.qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.srq = ibv->srq,
		.cap = attributes->cap,
		.qp_type = ibv->qp_type,
		.sq_sig_all = qp->signal_all,
	};
	ibv->state = attributes->qp_state;
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct rnic_verbs_qp *qp = rnic_verbs_qp(ibv);
	int error = rnic_verbs_check_qp(ibv);

	if (error == 0)
		error = rnic_destroy_qp(qp->native);
	if (error != 0)
		return rnic_verbs_errno(error);
	qp_free(qp);
	return 0;
}

/* Only queue pairs made with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS have extended operations. */
struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return rnic_verbs_qp(qp)->batch == NULL ? NULL : &rnic_verbs_qp(qp)->qp_ex;
}

/* The device has no options of its own to offer to a peer, and knows none of other devices. */
int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	if (ece->comp_mask != 0)
		return rnic_verbs_errno(-EINVAL);
	*ece = (struct ibv_ece){0};
	return 0;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	if (ece->comp_mask != 0)
		return rnic_verbs_errno(-EINVAL);
	return rnic_verbs_errno(ece->vendor_id == 0 && ece->options == 0 ? 0 : -EOPNOTSUPP);
}

/* The device never promises an order: each packet is copied as the system call likes. */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t flags)
{
	(void)qp;
	(void)opcode;
	(void)flags;
	return 0;
}
