/* SPDX-License-Identifier: MIT */
/* Queue pairs of identifiers, with completion queues when the application brings none. */
#include "lib/dropin/rdmacm/rdma_objects.h"

#include <errno.h>

/* --- where the connection is ----------------------------------------------------------------- */

static int query_attributes(struct rnic_cma_id *id, enum ibv_qp_state state,
			    struct ibv_qp_attr *attributes, int *mask)
{
	struct rnic_qp_attributes native;
	uint32_t native_mask;
	int error = rnic_native.cm_qp_attributes(id->native, (enum rnic_qp_state)state, &native,
						 &native_mask);

	if (error != 0)
		return error;
	rnic_native.qp_attr(&native, attributes);
	*mask = (int)native_mask;
	return 0;
}

static int modify(struct rnic_cma_id *id, struct ibv_qp_attr *attributes, int mask)
{
	return -ibv_modify_qp(id->public.qp, attributes, mask);
}

/* This side has agreed to these depths. */
int rnic_cma_qp_to_rts(struct rnic_cma_id *id)
{
	struct rnic_qp_attributes attributes;
	uint32_t receive_mask, send_mask;
	int error;

	if (id->public.qp == NULL)
		return 0;
	error = rnic_native.cm_connection_attributes(id->native, &attributes, &receive_mask,
						     &send_mask);
	if (error != 0)
		return error;
	if (receive_mask & RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC)
		attributes.max_dest_rd_atomic = id->responder_resources;
	if (send_mask & RNIC_QP_ATTR_MAX_RD_ATOMIC)
		attributes.max_rd_atomic = id->initiator_depth;
	return rnic_native.connect_qp(id->public.qp, &attributes, receive_mask, send_mask);
}

/*
 * Posted work ends with the connection. Once only: an application that has called rdma_disconnect()
 * may have destroyed the queue pair when another thread takes the event that follows.
 */
void rnic_cma_qp_to_error(struct rnic_cma_id *id)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};

	if (id->public.qp == NULL || atomic_exchange(&id->has_flushed, true))
		return;
	modify(id, &attributes, IBV_QP_STATE);
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr, int *qp_attr_mask)
{
	return rnic_cma_result(
		query_attributes(rnic_cma_id(id), qp_attr->qp_state, qp_attr, qp_attr_mask));
}

/* --- completion queues ----------------------------------------------------------------------- */

static void destroy_queue(struct ibv_cq **cq, struct ibv_comp_channel **channel)
{
	if (*cq != NULL)
		ibv_destroy_cq(*cq);
	if (*channel != NULL)
		ibv_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
}

static int create_queue(struct rdma_cm_id *id, uint32_t entries, struct ibv_cq **cq,
			struct ibv_comp_channel **channel)
{
	*channel = ibv_create_comp_channel(id->verbs);
	if (*channel == NULL)
		return -errno;
	*cq = ibv_create_cq(id->verbs, entries > 0 ? (int)entries : 1, id, *channel, 0);
	if (*cq == NULL) {
		int error = -errno;

		destroy_queue(cq, channel);
		return error;
	}
	return 0;
}

/*
 * Completion queues that the application did not bring. A shared receive queue may have brought
 * one.
 */
static int rdmacm_qp_create_queues(struct rnic_cma_id *id, struct ibv_qp_init_attr_ex *wanted)
{
	struct rdma_cm_id *public = &id->public;
	int error = 0;

	if (wanted->send_cq == NULL && wanted->qp_type != IBV_QPT_XRC_RECV) {
		error = create_queue(public, wanted->cap.max_send_wr, &public->send_cq,
				     &public->send_cq_channel);
		wanted->send_cq = public->send_cq;
		id->owns_cqs = true;
	}
	if (error == 0 && wanted->recv_cq == NULL && wanted->qp_type != IBV_QPT_XRC_RECV) {
		if (public->recv_cq == NULL) {
			error = create_queue(public, wanted->cap.max_recv_wr, &public->recv_cq,
					     &public->recv_cq_channel);
			id->owns_cqs = true;
		}
		wanted->recv_cq = public->recv_cq;
	}
	return error;
}

static void release_queues(struct rnic_cma_id *id)
{
	struct rdma_cm_id *public = &id->public;

	if (!id->owns_cqs)
		return;
	destroy_queue(&public->send_cq, &public->send_cq_channel);
	if (!id->owns_srq_cqs)
		destroy_queue(&public->recv_cq, &public->recv_cq_channel);
	id->owns_cqs = false;
}

/* --- queue pairs ----------------------------------------------------------------------------- */

/* Fills in what the application left open. */
static int complete_attributes(struct rnic_cma_id *id, struct ibv_qp_init_attr_ex *wanted)
{
	struct rdma_cm_id *public = &id->public;

	if (public->verbs == NULL || public->qp != NULL)
		return -EINVAL;
	if (!(wanted->comp_mask & IBV_QP_INIT_ATTR_PD) || wanted->pd == NULL) {
		wanted->pd = public->pd != NULL ? public->pd : rnic_cma_device_pd(id->device);
		wanted->comp_mask |= IBV_QP_INIT_ATTR_PD;
	}
	if (wanted->pd == NULL)
		return -errno;
	if (wanted->pd->context != public->verbs)
		return -EINVAL;
	if (wanted->qp_type == IBV_QPT_XRC_RECV &&
	    (!(wanted->comp_mask & IBV_QP_INIT_ATTR_XRCD) || wanted->xrcd == NULL)) {
		wanted->xrcd = rnic_cma_device_xrcd(id->device);
		wanted->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
		if (wanted->xrcd == NULL)
			return -errno;
	}
	if (wanted->srq == NULL && public->srq != NULL && wanted->qp_type != IBV_QPT_XRC_SEND &&
	    wanted->qp_type != IBV_QPT_XRC_RECV)
		wanted->srq = public->srq;
	public->pd = wanted->pd;
	return 0;
}

/*
 * The state as the daemon would give it; the daemon itself is asked where the state depends on the
 * peer.
 */
static int rdmacm_qp_to_init(struct rnic_cma_id *id)
{
	const bool is_datagram = id->public.qp_type == IBV_QPT_UD;
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_INIT,
		.port_num = id->public.port_num,
		.qkey = RDMA_UDP_QKEY,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	return modify(id, &attributes,
		      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      (is_datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

/* A datagram queue pair needs no peer to be ready; one of a connection waits in INIT. */
static int rdmacm_qp_bring_up(struct rnic_cma_id *id)
{
	static const struct rnic_qp_attributes none;
	int error = rdmacm_qp_to_init(id);

	if (error != 0 || id->public.qp_type != IBV_QPT_UD)
		return error;
	return rnic_native.connect_qp(id->public.qp, &none, 0, RNIC_QP_ATTR_SQ_PSN);
}

static int rdmacm_qp_create_qp(struct rnic_cma_id *id, struct ibv_qp_init_attr_ex *wanted)
{
	int error = complete_attributes(id, wanted);

	if (error != 0)
		return error;
	error = rdmacm_qp_create_queues(id, wanted);
	if (error != 0)
		goto release;
	atomic_store(&id->has_flushed, false);
	id->public.qp = ibv_create_qp_ex(id->public.verbs, wanted);
	if (id->public.qp == NULL) {
		error = -errno;
		goto release;
	}
	error = rdmacm_qp_bring_up(id);
	if (error != 0)
		goto destroy;
	return 0;

destroy:
	ibv_destroy_qp(id->public.qp);
	id->public.qp = NULL;
release:
	release_queues(id);
	return error;
}

int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr)
{
	return rnic_cma_result(rdmacm_qp_create_qp(rnic_cma_id(id), qp_init_attr));
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
{
	struct ibv_qp_init_attr_ex wanted = {
		.qp_context = qp_init_attr->qp_context,
		.send_cq = qp_init_attr->send_cq,
		.recv_cq = qp_init_attr->recv_cq,
		.srq = qp_init_attr->srq,
		.cap = qp_init_attr->cap,
		.qp_type = qp_init_attr->qp_type,
		.sq_sig_all = qp_init_attr->sq_sig_all,
		.comp_mask = pd != NULL ? IBV_QP_INIT_ATTR_PD : 0,
		.pd = pd,
	};
	int error = rdmacm_qp_create_qp(rnic_cma_id(id), &wanted);

	if (error == 0)
		qp_init_attr->cap = wanted.cap;
	return rnic_cma_result(error);
}

void rdma_destroy_qp(struct rdma_cm_id *public)
{
	struct rnic_cma_id *id = rnic_cma_id(public);

	if (public->qp == NULL)
		return;
	ibv_destroy_qp(rnic_cma_multicast_take_qp(id));
	release_queues(id);
}

/* --- shared receive queues ------------------------------------------------------------------- */

static int complete_srq_attributes(struct rnic_cma_id *id, struct ibv_srq_init_attr_ex *wanted)
{
	struct rdma_cm_id *public = &id->public;

	if (public->verbs == NULL || public->srq != NULL)
		return -EINVAL;
	if (!(wanted->comp_mask & IBV_SRQ_INIT_ATTR_PD) || wanted->pd == NULL) {
		wanted->pd = public->pd != NULL ? public->pd : rnic_cma_device_pd(id->device);
		wanted->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	}
	if (wanted->pd == NULL)
		return -errno;
	if (wanted->pd->context != public->verbs)
		return -EINVAL;
	if (!(wanted->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || wanted->srq_type != IBV_SRQT_XRC)
		return 0;
	if (!(wanted->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || wanted->xrcd == NULL) {
		wanted->xrcd = rnic_cma_device_xrcd(id->device);
		wanted->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
		if (wanted->xrcd == NULL)
			return -errno;
	}
	if (!(wanted->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || wanted->cq == NULL) {
		int error = create_queue(public, wanted->attr.max_wr, &public->recv_cq,
					 &public->recv_cq_channel);

		if (error != 0)
			return error;
		id->owns_srq_cqs = true;
		wanted->cq = public->recv_cq;
		wanted->comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
	}
	return 0;
}

static void release_srq_queues(struct rnic_cma_id *id)
{
	if (!id->owns_srq_cqs)
		return;
	destroy_queue(&id->public.recv_cq, &id->public.recv_cq_channel);
	id->owns_srq_cqs = false;
}

int rdma_create_srq_ex(struct rdma_cm_id *public, struct ibv_srq_init_attr_ex *attr)
{
	struct rnic_cma_id *id = rnic_cma_id(public);
	int error = complete_srq_attributes(id, attr);

	if (error != 0)
		return rnic_cma_result(error);
	public->srq = ibv_create_srq_ex(public->verbs, attr);
	if (public->srq == NULL) {
		error = -errno;
		release_srq_queues(id);
		return rnic_cma_result(error);
	}
	public->pd = public->pd != NULL ? public->pd : attr->pd;
	return 0;
}

int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex wanted = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.pd = pd,
	};
	int result = rdma_create_srq_ex(id, &wanted);

	if (result == 0)
		attr->attr = wanted.attr;
	return result;
}

void rdma_destroy_srq(struct rdma_cm_id *public)
{
	if (public->srq == NULL)
		return;
	ibv_destroy_srq(public->srq);
	public->srq = NULL;
	release_srq_queues(rnic_cma_id(public));
}
