/* SPDX-License-Identifier: MIT */
#include "control/ctl_handlers.h"

#include "base/time_units.h"
#include "engine/verbs/qp.h"
#include "engine/verbs/srq.h"
#include "cm_ids/cm_identifier.h"
#include "device/queues/cqe_delivery.h"
#include "device/queues/wqe_fetch.h"
#include "device/session/session.h"
#include "device/session/session_set.h"
#include "device/session/trouble_log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Rows are numbered over all sessions; the cursor is the number of the next row. A row that comes
 * or goes between two requests may be missed or seen twice, which a listing can live with.
 */
struct show_walk {
	const struct session_set *set;
	uid_t viewer;
	uint32_t skip;	/* rows before the one wanted next */
	uint32_t count; /* written */
	uint32_t max;
	uint32_t row_bytes;
	uint8_t *rows;
	bool has_more;
};

/* Room for the next row, zeroed; NULL when the walk has not come to it yet or the reply is full. */
static void *show_add(struct show_walk *walk)
{
	if (walk->skip > 0) {
		walk->skip--;
		return NULL;
	}
	if (walk->count == walk->max) {
		walk->has_more = true;
		return NULL;
	}
	return memset(walk->rows + (size_t)walk->count++ * walk->row_bytes, 0, walk->row_bytes);
}

static void show_pkeys(const struct rnic_ctl_pkeys_reply *pkeys,
		       char text[RNIC_CTL_PKEYS_TEXT_BYTES])
{
	int length = 0;

	for (uint32_t i = 0; i < RNIC_PKEYS_MAX && pkeys->pkeys[i] != 0; i++)
		length += snprintf(text + length, RNIC_CTL_PKEYS_TEXT_BYTES - (size_t)length,
				   "%s0x%04x", i == 0 ? "" : ",", pkeys->pkeys[i]);
}

static void show_device(struct show_walk *walk)
{
	const struct session_set *set = walk->set;
	const struct device_facts *facts = set->facts;
	struct rnic_show_device *row = show_add(walk);

	if (row == NULL)
		return;
	row->device = facts->device;
	row->port = facts->port;
	memcpy(row->udp_port, facts->udp_port, sizeof(row->udp_port));
	memcpy(row->poll, facts->poll, sizeof(row->poll));
	memcpy(row->segmentation, facts->segmentation, sizeof(row->segmentation));
	row->pid = (uint32_t)getpid();
	row->client_count = set->client_count;
	row->qp_count = (uint32_t)set->quotas.usage[RESOURCE_QP];
	row->mr_count = (uint32_t)set->quotas.usage[RESOURCE_MR];
	row->mw_count = (uint32_t)set->quotas.usage[RESOURCE_MW];
	row->cq_count = (uint32_t)set->quotas.usage[RESOURCE_CQ];
	row->pd_count = (uint32_t)set->quotas.usage[RESOURCE_PD];
	row->srq_count = (uint32_t)set->quotas.usage[RESOURCE_SRQ];
	row->gids = facts->gids;
	memcpy(row->ecn, facts->ecn, sizeof(row->ecn));
	show_pkeys(&facts->pkeys, row->pkeys);
}

static void show_client(struct show_walk *walk, const struct session *session)
{
	struct rnic_show_client *row = show_add(walk);

	if (row == NULL)
		return;
	row->client_id = session->client_id;
	row->pid = (uint32_t)session->pid;
	row->uid = session->uid;
	row->qp_count = session->qps.count;
	row->mr_count = session->mrs.count;
	row->mw_count = session->mws.count;
	row->cq_count = session->cqs.count;
	row->pd_count = session->pds.count;
	row->srq_count = session->srqs.count;
	row->registered_bytes = session->registered_bytes;
	memcpy(row->program, session->program, sizeof(row->program));
}

static void show_qp_counters(struct rnic_show_qp *row, const struct qp_counters *counters)
{
	row->sent_packets = counters->sent_packets;
	row->received_packets = counters->received_packets;
	row->sent_bytes = counters->sent_bytes;
	row->received_bytes = counters->received_bytes;
	row->retransmitted_packets = counters->retransmitted_packets;
	row->timeouts = counters->timeouts;
	row->rnr_naks_received = counters->rnr_naks_received;
	row->sequence_naks_received = counters->sequence_naks_received;
	row->duplicates_received = counters->duplicates_received;
	row->completions = counters->completions;
}

static void show_qp(struct show_walk *walk, const struct session *session, void *object)
{
	const struct session_qp *session_qp = object;
	const struct qp *qp = session_qp->qp;
	struct rnic_show_qp *row = show_add(walk);

	if (row == NULL)
		return;
	row->client_id = session->client_id;
	row->qpn = qp->qpn;
	row->type = qp->type;
	row->state = qp->state;
	row->peer_qpn = qp->attributes.dest_qpn;
	row->path_mtu_bytes = qp->path_mtu_bytes;
	row->peer_gid = qp->attributes.path.dest_gid;
	row->send_posted = qp->send_queue.posted - qp->send_queue.retired;
	row->recv_posted = qp_has_recv_queue(qp)
				   ? qp->recv_queue.pushed - qp->recv_queue.retired +
					     wqe_fetch_waiting_recvs(&session_qp->recv)
				   : 0;
	row->send_psn = qp->requester.psn.value;
	row->unacknowledged_psn = qp->requester.unacknowledged.value;
	row->expected_psn = qp->responder.expected_psn.value;
	row->packets_in_flight =
		(uint32_t)rnic_psn_distance(qp->requester.psn, qp->requester.unacknowledged);
	show_qp_counters(row, &qp->counters);
	qp_last_error_text(qp, row->last_error, sizeof(row->last_error));
	qp_waiting_for(qp, walk->set->now_ns, row->waiting_for, sizeof(row->waiting_for));
}

static void show_mr(struct show_walk *walk, const struct session *session, void *object)
{
	const struct session_mr *mr = object;
	struct rnic_show_mr *row = show_add(walk);

	if (row == NULL)
		return;
	row->client_id = session->client_id;
	row->lkey = mr->mr.key;
	row->rkey = mr->mr.key;
	row->access = mr->mr.access;
	row->iova = mr->mr.iova;
	row->length = mr->mr.length;
	row->mode = mr->mode;
}

static void show_mw(struct show_walk *walk, const struct session *session, void *object)
{
	const struct mw *mw = &((const struct session_mw *)object)->mw;
	struct rnic_show_mw *row = show_add(walk);

	if (row == NULL)
		return;
	row->client_id = session->client_id;
	row->type = mw->type;
	row->rkey = mw->range.key;
	row->is_bound = mw->bound_to != NULL;
	if (mw->bound_to == NULL)
		return;
	row->access = mw->range.access;
	row->lkey = mw->bound_to->key;
	row->qpn = mw->range.window_qp != NULL ? mw->range.window_qp->qpn : 0;
	row->iova = mw->range.iova;
	row->length = mw->range.length;
}

static void show_cq(struct show_walk *walk, const struct session *session, void *object)
{
	const struct session_cq *cq = object;
	struct rnic_show_cq *row = show_add(walk);

	if (row == NULL)
		return;
	row->client_id = session->client_id;
	row->slot = cq->handle.slot;
	row->entries = cq->slots;
	row->used = cqe_delivery_peek(cq, &row->armed);
	row->overrun = cq->cq.overrun;
	row->completions = cq->producer;
}

static void show_srq(struct show_walk *walk, const struct session *session, void *object)
{
	const struct session_srq *session_srq = object;
	const struct srq *srq = session_srq->srq;
	struct rnic_show_srq *row = show_add(walk);

	if (row == NULL)
		return;
	row->client_id = session->client_id;
	row->number = srq->number;
	row->qp_count = srq->references;
	row->max_wr = srq->max_wr;
	row->max_sge = srq->max_sge;
	row->limit = srq->limit;
	row->posted = srq_waiting(srq);
}

static void show_cm_id(struct show_walk *walk, const struct session *session, void *object)
{
	const struct session_cm_id *id = object;
	struct rnic_show_cm *row = show_add(walk);
	struct cm_connection_info info = {.state = ""};

	if (row == NULL)
		return;
	if (id->connection != NULL)
		cm_describe(id->connection, &info);
	row->client_id = session->client_id;
	row->slot = id->handle.slot;
	row->port_space = id->port_space;
	row->qp_type = id->qp_type;
	row->local = id->local.gid;
	row->local_port = id->local.port;
	row->peer = id->peer.gid;
	row->peer_port = id->peer.port;
	row->waiting_events = id->event_count;
	snprintf(row->state, sizeof(row->state), "%s", cm_identifier_state_name(id));
	snprintf(row->message_state, sizeof(row->message_state), "%s", info.state);
	cm_identifier_last_error(id, row->last_error, sizeof(row->last_error));
	cm_identifier_waiting_for(id, row->waiting_for, sizeof(row->waiting_for));
}

/* Connections whose client has gone while their peer is still being told, or in timewait. */
static void show_abandoned(struct show_walk *walk)
{
	const struct cm *cm = walk->set->cm;
	const struct cm_connection *connection = NULL;

	while ((connection = cm_next_connection(cm, connection)) != NULL) {
		struct cm_connection_info info;
		struct rnic_show_cm *row;

		cm_describe(connection, &info);
		row = info.is_abandoned ? show_add(walk) : NULL;
		if (row == NULL)
			continue;
		row->port_space = info.port_space;
		row->qp_type = info.qp_type;
		row->local = info.local.gid;
		row->local_port = info.local.port;
		row->peer = info.peer.gid;
		row->peer_port = info.peer.port;
		snprintf(row->state, sizeof(row->state), "abandoned");
		snprintf(row->message_state, sizeof(row->message_state), "%s", info.state);
		cm_waiting_for(connection, row->waiting_for, sizeof(row->waiting_for));
	}
}

/*
 * Keys and packet numbers are all that it takes to forge a packet, so they are shown to their
 * owner, to root, and to who runs the daemon.
 */
static bool show_is_permitted(const struct show_walk *walk, uid_t owner)
{
	return walk->viewer == owner || walk->viewer == 0 || walk->viewer == geteuid();
}

static void show_troubles(struct show_walk *walk)
{
	const struct session_set *set = walk->set;
	const struct trouble *trouble;

	for (uint32_t i = 0; (trouble = trouble_nth(&set->trouble_log, i)) != NULL; i++) {
		struct rnic_show_trouble *row =
			trouble->is_of_all || show_is_permitted(walk, trouble->uid) ? show_add(walk)
										    : NULL;

		if (row == NULL)
			continue;
		row->age_ms = (set->now_ns - trouble->at_ns) / RNIC_NS_PER_MS;
		row->pid = (uint32_t)trouble->pid;
		row->uid = trouble->uid;
		memcpy(row->program, trouble->program, sizeof(row->program));
		memcpy(row->subject, trouble->subject, sizeof(row->subject));
		memcpy(row->reason, trouble->reason, sizeof(row->reason));
	}
}

static void show_counters(struct show_walk *walk)
{
	const struct device_facts *facts = walk->set->facts;
	struct rnic_show_counter counter;

	for (uint32_t i = 0; facts->counter(facts->context, i, &counter); i++) {
		struct rnic_show_counter *row = show_add(walk);

		if (row != NULL)
			*row = counter;
	}
}

/* Calls `show` for each object of the table at `table_offset` of each session that the viewer may
 * look into. */
static void show_objects(struct show_walk *walk, size_t table_offset,
			 void (*show)(struct show_walk *walk, const struct session *session,
				      void *object))
{
	const struct list *node;

	list_for_each (node, &walk->set->sessions) {
		const struct session *session = list_entry(node, struct session, node);
		const struct handle_table *table =
			(const void *)((const uint8_t *)session + table_offset);
		uint32_t slot = 0;
		void *object;

		if (!show_is_permitted(walk, session->uid))
			continue;
		while (!walk->has_more && (object = handle_table_next(table, &slot)) != NULL)
			show(walk, session, object);
	}
}

static void show_clients(struct show_walk *walk)
{
	const struct list *node;

	list_for_each (node, &walk->set->sessions) {
		const struct session *session = list_entry(node, struct session, node);

		if (session->has_greeted && !session->is_admin)
			show_client(walk, session);
	}
}

static const uint32_t show_row_bytes[] = {
	[RNIC_SHOW_DEVICE] = sizeof(struct rnic_show_device),
	[RNIC_SHOW_CLIENTS] = sizeof(struct rnic_show_client),
	[RNIC_SHOW_QPS] = sizeof(struct rnic_show_qp),
	[RNIC_SHOW_MRS] = sizeof(struct rnic_show_mr),
	[RNIC_SHOW_CQS] = sizeof(struct rnic_show_cq),
	[RNIC_SHOW_COUNTERS] = sizeof(struct rnic_show_counter),
	[RNIC_SHOW_MWS] = sizeof(struct rnic_show_mw),
	[RNIC_SHOW_SRQS] = sizeof(struct rnic_show_srq),
	[RNIC_SHOW_CM] = sizeof(struct rnic_show_cm),
	[RNIC_SHOW_TROUBLES] = sizeof(struct rnic_show_trouble),
};

static void show_walk(struct show_walk *walk, uint32_t kind)
{
	switch ((enum rnic_show_kind)kind) {
	case RNIC_SHOW_DEVICE:
		show_device(walk);
		break;
	case RNIC_SHOW_CLIENTS:
		show_clients(walk);
		break;
	case RNIC_SHOW_QPS:
		show_objects(walk, offsetof(struct session, qps), show_qp);
		break;
	case RNIC_SHOW_MRS:
		show_objects(walk, offsetof(struct session, mrs), show_mr);
		break;
	case RNIC_SHOW_CQS:
		show_objects(walk, offsetof(struct session, cqs), show_cq);
		break;
	case RNIC_SHOW_COUNTERS:
		show_counters(walk);
		break;
	case RNIC_SHOW_MWS:
		show_objects(walk, offsetof(struct session, mws), show_mw);
		break;
	case RNIC_SHOW_SRQS:
		show_objects(walk, offsetof(struct session, srqs), show_srq);
		break;
	case RNIC_SHOW_CM:
		show_objects(walk, offsetof(struct session, cm_ids), show_cm_id);
		show_abandoned(walk);
		break;
	case RNIC_SHOW_TROUBLES:
		show_troubles(walk);
		break;
	}
}

int ctl_show(struct ctl_call *call)
{
	const struct rnic_ctl_show *request = (const void *)call->request.payload;
	struct rnic_ctl_show_reply *reply = (void *)call->reply.payload;
	struct show_walk walk = {
		.set = call->session->set,
		.viewer = call->session->uid,
		.skip = request->cursor,
	};

	if (request->kind < RNIC_SHOW_DEVICE || request->kind >= RNIC_COUNT_OF(show_row_bytes))
		return ctl_refuse(call, -EINVAL, "there is no listing %u", request->kind);
	walk.row_bytes = show_row_bytes[request->kind];
	walk.rows = call->reply.payload + sizeof(*reply);
	walk.max = (uint32_t)((sizeof(call->reply.payload) - sizeof(*reply)) / walk.row_bytes);
	show_walk(&walk, request->kind);
	reply->kind = request->kind;
	reply->row_count = walk.count;
	reply->row_bytes = walk.row_bytes;
	reply->next = walk.has_more ? request->cursor + walk.count : 0;
	call->reply_bytes = (uint32_t)sizeof(*reply) + walk.count * walk.row_bytes;
	return 0;
}
