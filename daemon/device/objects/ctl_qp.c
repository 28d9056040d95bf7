/* SPDX-License-Identifier: MIT */
#include "daemon/device/objects/object_requests.h"

#include "daemon/device/objects/session_objects.h"
#include "daemon/device/queues/post_refusal.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "daemon/shared/served_peer/served_peer.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/base/bits.h"
#include "proto/base/checked.h"
#include "proto/base/time_units.h"
#include "proto/shm/ring.h"
#include "proto/wire/headers.h"

#include <errno.h>
#include <stdlib.h>

#define LIMIT_ANSWERS_MS 100

/* Refuses capacities above the maxima of the device, and grants the others. */
static int qp_grant(struct ctl_call *call, const struct rnic_ctl_create_qp *request,
		    struct rnic_qp_capacities *granted)
{
	const struct rnic_device_attributes *device = &call->session->set->facts->device;
	const struct rnic_qp_capacities *wanted = &request->capacities;

	rnic_queues_grant(wanted, request->type, !rnic_handle_is_none(request->srq), granted);
	if (request->type == RNIC_QP_TYPE_XRC_TARGET)
		return 0;
	if (granted->max_send_wr > device->max_qp_wr || granted->max_recv_wr > device->max_qp_wr)
		return ctl_refuse(call, -EINVAL, "a queue holds at most %u work requests",
				  device->max_qp_wr);
	if (granted->max_send_sge > device->max_sge || granted->max_recv_sge > device->max_sge)
		return ctl_refuse(call, -EINVAL, "a work request has at most %u SGEs",
				  device->max_sge);
	if (wanted->max_inline_bytes > device->max_inline_bytes)
		return ctl_refuse(call, -EINVAL, "at most %u bytes can be inline",
				  device->max_inline_bytes);
	return 0;
}

/* Finds the objects of an XRC target: a domain and nothing else. */
static int qp_find_domain(struct ctl_call *call, const struct rnic_ctl_create_qp *request,
			  struct session_qp *qp)
{
	qp->xrcd = handle_table_get(&call->session->xrcds, request->xrcd);
	return qp->xrcd != NULL ? 0 : ctl_refuse(call, -EINVAL, "no such XRC domain");
}

/* Finds the objects of the new QP. The PD and the CQs are required, an SRQ is optional. */
static int qp_find_objects(struct ctl_call *call, const struct rnic_ctl_create_qp *request,
			   struct session_qp *qp)
{
	struct session *session = call->session;
	bool is_initiator = request->type == RNIC_QP_TYPE_XRC_INITIATOR;

	qp->session = session;
	if (request->type == RNIC_QP_TYPE_XRC_TARGET)
		return qp_find_domain(call, request, qp);
	qp->pd = handle_table_get(&session->pds, request->pd);
	qp->send_cq = handle_table_get(&session->cqs, request->send_cq);
	qp->recv_cq = is_initiator ? NULL : handle_table_get(&session->cqs, request->recv_cq);
	if (qp->pd == NULL)
		return ctl_refuse(call, -EINVAL, "no such protection domain");
	if (qp->send_cq == NULL || (qp->recv_cq == NULL && !is_initiator))
		return ctl_refuse(call, -EINVAL, "no such completion queue");
	if (rnic_handle_is_none(request->srq))
		return 0;
	qp->srq = handle_table_get(&session->srqs, request->srq);
	if (qp->srq == NULL || qp->srq->xrcd != NULL || is_initiator)
		return ctl_refuse(call, -EINVAL, "no such shared receive queue, or one of XRC");
	return 0;
}

/*
 * Both sides begin at 0, whatever the client left in the words of the slot. The client learns of
 * the queue pair by the reply, and posts nothing before that.
 */
static void qp_start_indices(struct session_qp *qp)
{
	struct rnic_qp_control *control =
		rnic_qp_control_of(session_region(qp->session), qp->handle.slot);

	rnic_word_publish(&control->send_producer, 0);
	rnic_word_publish(&control->recv_producer, 0);
	qp->send_producer = &control->send_producer;
	qp->recv.producer = &control->recv_producer;
}

/* Returns whether `bytes` at `offset` may hold queues in a region of `region_bytes`. */
static bool is_place_sound(uint64_t offset, uint64_t bytes, uint64_t region_bytes)
{
	return offset % RNIC_CACHE_LINE_BYTES == 0 &&
	       rnic_range_within(offset, bytes, region_bytes);
}

/* Finds the region of the queues, and checks that they lie inside. */
static int qp_find_queues(struct ctl_call *call, const struct rnic_ctl_create_qp *request,
			  const struct rnic_queues_plan *plan, struct session_qp *qp)
{
	uint64_t region_bytes;

	if (plan->entries_bytes == 0)
		return 0;
	qp->queue_region = handle_table_get(&call->session->queue_regions, request->queue_region);
	if (qp->queue_region == NULL)
		return ctl_refuse(call, -EINVAL, "no such region of queues");
	region_bytes = qp->queue_region->region.bytes;
	if (!is_place_sound(request->entries_offset, plan->entries_bytes, region_bytes) ||
	    !is_place_sound(request->spill_offset, plan->spill_bytes, region_bytes))
		return ctl_refuse(call, -EINVAL, "the queues do not lie inside their region");
	return 0;
}

/* Says where the queues lie. */
static int qp_place_queues(struct ctl_call *call, const struct rnic_ctl_create_qp *request,
			   const struct rnic_qp_capacities *capacities, struct session_qp *qp)
{
	struct rnic_queues_plan plan;
	const uint8_t *base;
	int result = rnic_queues_plan(capacities, &plan);

	if (result != 0)
		return ctl_refuse(call, result, "the queues would be too large");
	result = qp_find_queues(call, request, &plan, qp);
	if (result != 0)
		return result;
	qp->recv = (struct receive_ring){
		.session = call->session,
		.qp = qp,
		.sge_max = capacities->max_recv_sge,
	};
	qp_start_indices(qp);
	if (qp->queue_region == NULL)
		return 0;
	base = qp->queue_region->region.address;
	qp->send_ring = client_ring_at(&plan.send, base + request->entries_offset,
				       base + request->spill_offset);
	qp->recv.wqes = client_ring_at(&plan.recv, base + request->entries_offset,
				       base + request->spill_offset);
	return 0;
}

/* Makes the engine's part of a QP that has its objects and a handle. */
static int qp_open_engine(struct ctl_call *call, const struct rnic_ctl_create_qp *request,
			  const struct rnic_qp_capacities *capacities, struct session_qp *qp)
{
	const struct qp_config config = {
		.type = request->type <= UINT8_MAX ? (uint8_t)request->type : 0,
		.signal_all = request->signal_all != 0,
		.pd = qp->pd != NULL ? &qp->pd->pd : NULL,
		.send_cq = qp->send_cq != NULL ? &qp->send_cq->cq : NULL,
		.recv_cq = qp->recv_cq != NULL ? &qp->recv_cq->cq : NULL,
		.srq = qp->srq != NULL ? qp->srq->srq : NULL,
		.xrcd = qp->xrcd != NULL ? &qp->xrcd->domain->xrcd : NULL,
		.capacities = *capacities,
		.user = qp,
		.owner_number = call->session->client_id,
	};
	int result = qp_create(call->session->set->engine, &config, &qp->qp);

	if (result == -EOPNOTSUPP)
		return ctl_refuse(call, result, "queue pairs of type %u are not supported",
				  request->type);
	if (result != 0)
		return result;
	qp->qp->recv_queue.user = &qp->recv;
	qp->recv.number = qp->qp->qpn;
	return 0;
}

/*
 * Makes a target QP shareable: the QP outlives this handle as long as another handle exists
 * (OPEN_QP).
 */
static int qp_share(struct session_qp *qp)
{
	struct shared_target *target = calloc(1, sizeof(*target));

	if (target == NULL)
		return -ENOMEM;
	target->qp = qp->qp;
	list_init(&target->handles);
	qp->qp->user = target;
	session_join_target(qp, qp->xrcd, target);
	return 0;
}

static int qp_open(struct ctl_call *call, const struct rnic_ctl_create_qp *request,
		   const struct rnic_qp_capacities *capacities, struct session_qp *qp)
{
	struct session *session = call->session;
	int result = handle_table_add(&session->qps, qp, &qp->handle);

	if (result != 0)
		return result;
	result = qp_place_queues(call, request, capacities, qp);
	if (result == 0)
		result = qp_open_engine(call, request, capacities, qp);
	if (result != 0)
		goto remove_handle;
	qp->async.slot = qp->handle.slot;
	qp->async.generation = qp->handle.generation;
	if (qp->xrcd != NULL) {
		result = qp_share(qp);
		if (result != 0)
			goto destroy_qp;
	}
	if (qp->queue_region != NULL)
		qp->queue_region->references++;
	session_note_owner(session, qp->qp->qpn, session->client_id);
	return 0;

destroy_qp:
	qp_destroy(qp->qp);
remove_handle:
	handle_table_remove(&session->qps, qp->handle);
	return result;
}

int ctl_create_qp(struct ctl_call *call)
{
	const struct rnic_ctl_create_qp *request = (const void *)call->request.payload;
	struct rnic_ctl_create_qp_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	struct rnic_qp_capacities capacities;
	struct session_qp *qp;
	int result;

	result = qp_grant(call, request, &capacities);
	if (result != 0)
		return result;
	result = quota_charge(session->account, RESOURCE_QP, 1);
	if (result != 0)
		return ctl_refuse(call, result, "no more queue pairs are to be had");
	qp = calloc(1, sizeof(*qp));
	if (qp == NULL) {
		result = -ENOMEM;
		goto discharge;
	}
	result = qp_find_objects(call, request, qp);
	if (result == 0)
		result = qp_open(call, request, &capacities, qp);
	if (result != 0)
		goto free_qp;
	*reply = (struct rnic_ctl_create_qp_reply){qp->handle, qp->qp->qpn};
	return 0;

free_qp:
	free(qp);
discharge:
	quota_discharge(session->account, RESOURCE_QP, 1);
	return result;
}

/*
 * Checks the attributes that the engine cannot check. With a controlled Q_Key (IBTA 1.4, 3.5.3), as
 * queue pairs 1 have, a program could speak to the connection managers of others as this host. The
 * kernel refuses these to all without CAP_NET_RAW ("RDMA/uverbs: Restrict usage of privileged
 * QKEYs", Linux 6.4). The path MTU may be larger than the
 * interface's, as with rdma_rxe (rxe_qp_chk_attr(), rxe_qp.c of Linux 6.12): the packets that do
 * not fit are lost.
 */
static int qp_check_attributes(struct ctl_call *call, const struct rnic_ctl_modify_qp *request)
{
	const struct device_facts *facts = call->session->set->facts;
	const struct served_peer *peer =
		RNIC_CONTAINER_OF(call->connection, const struct served_peer, requests);
	const struct rnic_qp_attributes *attributes = &request->attributes;
	const uint32_t mask = request->mask | request->rts_mask;

	if ((mask & RNIC_QP_ATTR_AV) != 0 &&
	    !device_facts_has_gid(facts, attributes->path.source_gid_index))
		return ctl_refuse(call, -EINVAL, "there is no GID with index %u",
				  attributes->path.source_gid_index);
	if ((mask & RNIC_QP_ATTR_QKEY) != 0 && (attributes->qkey & RNIC_CONTROLLED_QKEY_BIT) != 0 &&
	    peer->uid != 0)
		return ctl_refuse(call, -EPERM, "only root may use Q_Keys from 0x%08x on",
				  RNIC_CONTROLLED_QKEY_BIT);
	return 0;
}

static int qp_step(struct ctl_call *call, struct qp *qp,
		   const struct rnic_qp_attributes *attributes, uint32_t mask)
{
	int result = qp_modify(qp, attributes, mask);

	if (result == -EINVAL)
		qp_modify_refusal(qp, attributes, mask, call->reason, sizeof(call->reason));
	return result;
}

/* Lets a new state take effect on what is posted. */
static void qp_review(struct session_qp *qp, bool is_reset)
{
	if (is_reset) {
		post_refusal_note(qp);
		wqe_fetch_reset(qp);
		return;
	}
	wqe_fetch_schedule(qp);
	wqe_fetch_review(qp);
}

/*
 * Flushes the sends that wait in the ring of a QP which goes from SQE to RTS (IBTA 1.4, 10.3.1.6).
 * The client may have posted them after the last turn.
 */
static void qp_flush_sends_of_sqe(struct session_qp *qp, const struct rnic_ctl_modify_qp *request)
{
	const bool is_to_rts = (request->mask & RNIC_QP_ATTR_STATE) != 0 &&
			       request->attributes.state == RNIC_QP_STATE_RTS;

	if (is_to_rts && qp->qp->state == RNIC_QP_STATE_SQE)
		wqe_fetch_take_sends(qp, qp->send_ring.slots);
}

/* Takes both steps of a connection. The first one stands when the second one is refused. */
static int qp_connect(struct ctl_call *call, struct session_qp *qp,
		      const struct rnic_ctl_modify_qp *request)
{
	struct rnic_qp_attributes attributes = request->attributes;
	int result;

	attributes.state = RNIC_QP_STATE_RTR;
	result = qp_step(call, qp->qp, &attributes, request->mask | RNIC_QP_ATTR_STATE);
	if (result != 0)
		return result;
	attributes.state = RNIC_QP_STATE_RTS;
	result = qp_step(call, qp->qp, &attributes, request->rts_mask | RNIC_QP_ATTR_STATE);
	qp_review(qp, false);
	return result;
}

/*
 * The program has seen messages whose acknowledgement is to leave behind answers to READs, for
 * which the queue pair is needed. -EINPROGRESS: it stays until these have left; 0 after
 * LIMIT_ANSWERS_MS.
 */
static int qp_await_answers(struct ctl_call *call, const struct session_qp *qp)
{
	const uint32_t now_ms = (uint32_t)(call->session->set->now_ns / RNIC_NS_PER_MS);

	if (!qp_hasten_answers(qp->qp))
		return 0;
	if (call->progress[0] == 0) {
		call->progress[0] = 1;
		call->progress[1] = now_ms;
	}
	return now_ms - call->progress[1] < LIMIT_ANSWERS_MS ? -EINPROGRESS : 0;
}

static bool is_to_reset(const struct rnic_ctl_modify_qp *request)
{
	return (request->mask & RNIC_QP_ATTR_STATE) != 0 &&
	       request->attributes.state == RNIC_QP_STATE_RESET;
}

int ctl_modify_qp(struct ctl_call *call)
{
	const struct rnic_ctl_modify_qp *request = (const void *)call->request.payload;
	struct session_qp *qp = handle_table_get(&call->session->qps, request->qp);
	int result;

	if (qp == NULL)
		return ctl_refuse(call, -EINVAL, "no such queue pair");
	result = qp_check_attributes(call, request);
	if (result != 0)
		return result;
	if (request->rts_mask != 0)
		return qp_connect(call, qp, request);
	if (is_to_reset(request) && qp_await_answers(call, qp) != 0)
		return -EINPROGRESS;
	qp_flush_sends_of_sqe(qp, request);
	result = qp_step(call, qp->qp, &request->attributes, request->mask);
	if (result == 0)
		qp_review(qp, (request->mask & RNIC_QP_ATTR_STATE) != 0 &&
				      qp->qp->state == RNIC_QP_STATE_RESET);
	return result;
}

int ctl_query_qp(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct rnic_ctl_query_qp_reply *reply = (void *)call->reply.payload;
	struct session_qp *qp = handle_table_get(&call->session->qps, request->handle);

	if (qp == NULL)
		return ctl_refuse(call, -EINVAL, "no such queue pair");
	qp_query(qp->qp, &reply->attributes);
	reply->capacities = qp->qp->capacities;
	reply->signal_all = qp->qp->signal_all;
	return 0;
}

int ctl_destroy_qp(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct session_qp *qp = handle_table_get(&call->session->qps, request->handle);

	if (qp == NULL)
		return ctl_refuse(call, -EINVAL, "no such queue pair");
	if (qp_await_answers(call, qp) != 0)
		return -EINPROGRESS;
	post_refusal_note(qp);
	session_free_qp(call->session, qp);
	return 0;
}
