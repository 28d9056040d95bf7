/* SPDX-License-Identifier: MIT */
/* Makes the rows of sessions for SHOW, and the numbers of objects. */
#include "daemon/device/device.h"

#include "daemon/device/device_show_paths.h"
#include "daemon/device/device_state.h"
#include "daemon/device/objects/session_objects.h"
#include "daemon/device/queues/cqe_delivery.h"
#include "daemon/device/queues/post_refusal.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/requests/device_connection.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "daemon/device/session_turn.h"
#include "daemon/shared/reports/show_rows.h"
#include "lib/nic/engine/reliability/path_report.h"
#include "lib/nic/engine/verbs/qp.h"
#include "lib/nic/engine/verbs/srq.h"
#include "proto/base/bits.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

/* Completions of the queue that its program has not polled. */
static uint32_t unpolled_of(const struct session_cq *cq, bool *is_unarmed)
{
	uint32_t armed, unpolled = 0;

	if (cq != NULL)
		unpolled = cqe_delivery_peek(cq, &armed);
	*is_unarmed = unpolled > 0 && cq->channel != NULL && armed == RNIC_CQ_UNARMED;
	return unpolled;
}

/*
 * A QP that waits for nothing but its program, which may sleep on a channel that never wakes, or
 * poll another queue.
 */
static void show_unpolled(const struct session_qp *qp, struct rnic_show_qp *row)
{
	bool is_send_unarmed, is_recv_unarmed;
	const uint32_t sends = unpolled_of(qp->send_cq, &is_send_unarmed);
	const uint32_t recvs = unpolled_of(qp->recv_cq, &is_recv_unarmed);
	const char *queue = qp->send_cq == qp->recv_cq ? "" : sends > 0 ? " send" : " receive";

	if (row->send_posted != 0 || (sends == 0 && recvs == 0))
		return;
	if (is_send_unarmed || is_recv_unarmed)
		snprintf(row->waiting_for, sizeof(row->waiting_for),
			 "its program to poll %" PRIu32
			 " completions; the queue is not armed (ibv_req_notify_cq), so its channel "
			 "wakes nobody",
			 is_send_unarmed ? sends : recvs);
	else if (!qp->qp->responder.has_nak_pending)
		snprintf(row->waiting_for, sizeof(row->waiting_for),
			 "its program to poll %" PRIu32
			 " completions, which lie in its%s completion queue",
			 sends > 0 ? sends : recvs, queue);
}

static void show_qp(struct show_rows *rows, const struct session *session, void *object)
{
	const struct session_qp *session_qp = object;
	const struct qp *qp = session_qp->qp;
	struct rnic_show_qp *row = show_rows_add(rows);

	if (row == NULL)
		return;
	row->client_id = session->client_id;
	row->qpn = qp->qpn;
	row->type = qp->type;
	row->state = qp->state;
	row->peer_qpn = qp->attributes.dest_qpn;
	row->path_mtu_bytes = qp->path_mtu_bytes;
	row->peer_gid = qp->attributes.path.dest_gid;
	row->peer_kind = qp->peer_kind;
	row->peer_port = qp->peer_port;
	row->send_posted = qp->send_queue.posted - qp->send_queue.retired +
			   wqe_fetch_waiting_sends(session_qp);
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
	if (row->last_error[0] == '\0')
		post_refusal_text(session_qp, row->last_error, sizeof(row->last_error));
	qp_waiting_for(qp, session->set->now_ns, row->waiting_for, sizeof(row->waiting_for));
	show_unpolled(session_qp, row);
	if (session->is_broken)
		snprintf(
			row->waiting_for, sizeof(row->waiting_for),
			"nothing: its program has gone, and a rule of faults keeps it for a while");
	path_timeout_text(qp, row->timeout, sizeof(row->timeout));
}

static void show_mr(struct show_rows *rows, const struct session *session, void *object)
{
	const struct session_mr *mr = object;
	struct rnic_show_mr *row = show_rows_add(rows);

	if (row == NULL)
		return;
	row->client_id = session->client_id;
	row->lkey = mr->mr.key;
	row->rkey = mr->mr.key;
	row->access = mr->mr.access;
	row->iova = mr->mr.iova;
	row->length = mr->mr.length;
	row->mode = mr->mode;
	row->watch = session_mr_is_remote(mr) ? mr->memory.remote.watch : RNIC_WATCH_NEEDLESS;
}

static void show_mw(struct show_rows *rows, const struct session *session, void *object)
{
	const struct mw *mw = &((const struct session_mw *)object)->mw;
	struct rnic_show_mw *row = show_rows_add(rows);

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

static void show_cq(struct show_rows *rows, const struct session *session, void *object)
{
	const struct session_cq *cq = object;
	struct rnic_show_cq *row = show_rows_add(rows);

	if (row == NULL)
		return;
	row->client_id = session->client_id;
	row->slot = cq->handle.slot;
	row->entries = cq->slots;
	row->used = cqe_delivery_peek(cq, &row->armed);
	row->overrun = cq->cq.overrun;
	row->completions = cq->producer;
	row->users = cq->cq.references;
}

static void show_pd(struct show_rows *rows, const struct session *session, void *object)
{
	const struct session_pd *pd = object;
	struct rnic_show_pd *row = show_rows_add(rows);

	if (row == NULL)
		return;
	row->client_id = session->client_id;
	row->slot = pd->handle.slot;
	row->users = pd->pd.references;
}

static void show_srq(struct show_rows *rows, const struct session *session, void *object)
{
	const struct session_srq *session_srq = object;
	const struct srq *srq = session_srq->srq;
	struct rnic_show_srq *row = show_rows_add(rows);

	if (row == NULL)
		return;
	row->client_id = session->client_id;
	row->number = srq->number;
	row->qp_count = srq->references;
	row->max_wr = srq->max_wr;
	row->max_sge = srq->max_sge;
	row->limit = srq->limit;
	row->posted = srq_waiting(srq);
	row->is_xrc = srq->xrcd != NULL;
}

/* The objects of a session that a listing shows. */
static const struct {
	size_t table; /* offset of a struct handle_table in struct session */
	void (*show)(struct show_rows *rows, const struct session *session, void *object);
} device_show_kinds[] = {
	[RNIC_SHOW_QPS] = {offsetof(struct session, qps), show_qp},
	[RNIC_SHOW_MRS] = {offsetof(struct session, mrs), show_mr},
	[RNIC_SHOW_CQS] = {offsetof(struct session, cqs), show_cq},
	[RNIC_SHOW_MWS] = {offsetof(struct session, mws), show_mw},
	[RNIC_SHOW_SRQS] = {offsetof(struct session, srqs), show_srq},
	[RNIC_SHOW_PDS] = {offsetof(struct session, pds), show_pd},
};

static void show_client(struct show_rows *rows, const struct device_connection *connection)
{
	const struct session *session = connection->session;
	struct rnic_show_client *row = show_rows_add(rows);

	if (row == NULL)
		return;
	row->client_id = connection->peer.client_id;
	row->pid = (uint32_t)connection->peer.pid;
	row->uid = connection->peer.uid;
	row->qp_count = session->qps.count;
	row->mr_count = session->mrs.count;
	row->mw_count = session->mws.count;
	row->cq_count = session->cqs.count;
	row->pd_count = session->pds.count;
	row->srq_count = session->srqs.count;
	row->registered_bytes = session->registered_bytes;
	memcpy(row->program, connection->peer.program, sizeof(row->program));
}

static void show_session(struct show_rows *rows, uint32_t kind, const struct session *session)
{
	const struct handle_table *table;
	uint32_t slot = 0;
	void *object;

	if (kind >= RNIC_COUNT_OF(device_show_kinds) || device_show_kinds[kind].show == NULL)
		return;
	table = (const void *)((const uint8_t *)session + device_show_kinds[kind].table);
	while (!rows->has_more && (object = handle_table_next(table, &slot)) != NULL)
		device_show_kinds[kind].show(rows, session, object);
}

void device_show(const struct device *device, uint32_t kind, struct show_rows *rows)
{
	const struct list *node;

	list_for_each (node, &device->connections.peers.all) {
		const struct device_connection *connection =
			list_entry(node, struct device_connection, peer.node);

		if (connection->session == NULL)
			continue;
		if (kind == RNIC_SHOW_CLIENTS)
			show_client(rows, connection);
		else if (kind == RNIC_SHOW_PATHS)
			device_show_paths(connection->session, rows);
		else
			show_session(rows, kind, connection->session);
	}
}

void device_note_refusals(const struct device *device)
{
	const struct list *node;

	list_for_each (node, &device->connections.peers.all) {
		const struct device_connection *connection =
			list_entry(node, struct device_connection, peer.node);

		if (connection->session != NULL)
			post_refusal_note_all(connection->session);
	}
}

void device_fill_stats(const struct device *device, struct rnic_stats_page *stats)
{
	const uint64_t *usage = device->connections.peers.quotas.usage;

	atomic_store_explicit(&stats->gids_used, session_turn_gids_used(&device->sessions),
			      memory_order_relaxed);
	atomic_store_explicit(&stats->session_count, device->sessions.session_count,
			      memory_order_relaxed);
	atomic_store_explicit(&stats->pd_count, (uint32_t)usage[RESOURCE_PD], memory_order_relaxed);
	atomic_store_explicit(&stats->mr_count, (uint32_t)usage[RESOURCE_MR], memory_order_relaxed);
	atomic_store_explicit(&stats->mw_count, (uint32_t)usage[RESOURCE_MW], memory_order_relaxed);
	atomic_store_explicit(&stats->cq_count, (uint32_t)usage[RESOURCE_CQ], memory_order_relaxed);
	atomic_store_explicit(&stats->qp_count, (uint32_t)usage[RESOURCE_QP], memory_order_relaxed);
	atomic_store_explicit(&stats->srq_count, (uint32_t)usage[RESOURCE_SRQ],
			      memory_order_relaxed);
	/* Last: who sees the sequence sees the GIDs that are used since. */
	atomic_store_explicit(&stats->facts_sequence, device->facts_sequence, memory_order_release);
}
