/* SPDX-License-Identifier: MIT */
#include "tests/sim/invariants.h"

#include "lib/nic/engine/engine.h"
#include "lib/nic/engine/objects/mw.h"
#include "lib/nic/engine/progress/send_position.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/verbs/qp.h"

#include <assert.h>

static bool is_sending(const struct qp *qp)
{
	return qp->state == RNIC_QP_STATE_RTS || qp->state == RNIC_QP_STATE_SQD;
}

static void check_cursors(const struct qp *qp)
{
	const struct send_queue *queue = &qp->send_queue;
	uint32_t posted = queue->posted - queue->retired;
	uint32_t started = queue->next - queue->retired;

	assert(posted <= queue->slots);
	assert(started <= posted);
	assert(qp->requester.wqe_index - queue->retired <= started);
	assert((qp->state != RNIC_QP_STATE_ERR && qp->state != RNIC_QP_STATE_SQE) || posted == 0);
	assert(is_sending(qp) || started == 0);
}

static void check_sequence(const struct qp *qp)
{
	const struct requester *requester = &qp->requester;
	int32_t sent = rnic_psn_distance(requester->psn, requester->unacknowledged);
	int32_t ever_sent = rnic_psn_distance(requester->highest, requester->unacknowledged);

	assert(sent >= 0 && sent <= ever_sent && ever_sent <= LIMIT_QP_WINDOW_PACKETS);
	assert(requester->reads_outstanding <= LIMIT_RD_ATOMIC); /* the QP's own may be less now */
}

/*
 * Each entry's PSNs follow those of the entry before, and the oldest entry holds the unacknowledged
 * PSN.
 */
static void check_spans(const struct qp *qp)
{
	const struct send_queue *queue = &qp->send_queue;
	const struct requester *requester = &qp->requester;
	struct rnic_psn expected = requester->unacknowledged;

	for (uint32_t i = queue->retired; i != queue->next; i++) {
		const struct send_wqe *wqe = send_queue_at(queue, i);

		if (i == queue->retired)
			assert(wqe_packet_index(wqe, expected) < wqe->packets);
		else
			assert(rnic_psn_equal(wqe->psn, expected));
		if (i == requester->wqe_index)
			assert(wqe_packet_index(wqe, requester->psn) < wqe->packets);
		expected = rnic_psn_add(wqe->psn, (int32_t)wqe->packets);
	}
	if (requester->wqe_index == queue->next)
		assert(rnic_psn_equal(requester->psn, expected));
}

/* The reserved PSNs, and the READs that count, lie in [unacknowledged, psn). */
static void check_accounts(const struct qp *qp)
{
	const struct requester *requester = &qp->requester;
	struct rnic_psn from = requester->unacknowledged;
	uint32_t reads = 0;
	uint64_t bytes = 0;

	for (uint32_t i = qp->send_queue.retired; i != qp->send_queue.next; i++) {
		const struct send_wqe *wqe = send_queue_at(&qp->send_queue, i);
		uint32_t first = wqe_packet_index(wqe, from);
		uint32_t end = i == requester->wqe_index ? wqe_packet_index(wqe, requester->psn)
							 : wqe->packets;

		reads += send_position_count_reads(wqe, first, end);
		bytes += send_position_cost_bytes(qp, wqe, first, end);
		if (i == requester->wqe_index)
			break;
		from = rnic_psn_add(wqe->psn, (int32_t)wqe->packets);
	}
	assert(reads == requester->reads_outstanding);
	/* Less by probes, and after a silence, which gives the share back early. */
	assert(requester->in_flight_bytes <= bytes);
}

/*
 * Messages that take a receive: a message counts as started when it has a packet before the
 * position.
 */
static void check_credits(const struct qp *qp)
{
	const struct requester *requester = &qp->requester;
	const struct credits *credits = &requester->credits;
	uint32_t started = 0;

	for (uint32_t i = qp->send_queue.retired; i != qp->send_queue.next; i++) {
		const struct send_wqe *wqe = send_queue_at(&qp->send_queue, i);
		bool is_position = i == requester->wqe_index;

		if (is_position && wqe_packet_index(wqe, requester->psn) == 0)
			break;
		started += wqe_operation(wqe)->may_solicit;
		if (is_position)
			break;
	}
	assert(started == credits->started - credits->acknowledged);
	assert(credits->is_limited || !credits->is_probing);
}

static void check_timer(const struct qp *qp)
{
	const struct retry *retry = &qp->retry;
	bool has_unacknowledged = !rnic_psn_equal(qp->requester.psn, qp->requester.unacknowledged);

	if (!qp_is_reliable(qp)) {
		/* The timer is its pace's, and the engine knows the built packets. */
		assert(retry->running != RETRY_TIMER_RNR && qp->requester.in_flight_bytes == 0);
		assert(!has_unacknowledged || list_is_linked(&qp->built_node));
		return;
	}
	assert((retry->running != RETRY_TIMER_NONE) == timer_is_armed(&retry->timer));
	assert(retry->running != RETRY_TIMER_PACE);
	assert(retry->tail_packets == 0 || (has_unacknowledged && !retry->is_silent));
	if (retry->running != RETRY_TIMER_NONE && retry->running != RETRY_TIMER_ACK &&
	    retry->running != RETRY_TIMER_TAIL)
		assert(timer_is_armed(&retry->timer) && !has_unacknowledged);
	else if (has_unacknowledged)
		assert(timer_is_armed(&retry->timer) || qp->attributes.timeout == 0);
	else
		assert(!timer_is_armed(&retry->timer));
}

void qp_check_invariants(const struct qp *qp)
{
	check_cursors(qp);
	if (is_sending(qp)) {
		check_sequence(qp);
		check_spans(qp);
		check_accounts(qp);
		check_credits(qp);
		check_timer(qp);
	} else {
		assert(!timer_is_armed(&qp->retry.timer));
		assert(qp->requester.in_flight_bytes == 0 && !list_is_linked(&qp->path_node));
	}
}

/*
 * Whether an answer is on its way, or `qp` waits for its congestion rate: where none of its packets
 * asks for an answer, more follow, and the next one asks on behalf of the line.
 */
static bool makes_room(const struct qp *qp)
{
	const struct requester *requester = &qp->requester;
	const uint32_t unacknowledged =
		(uint32_t)rnic_psn_distance(requester->psn, requester->unacknowledged);

	return requester->in_flight_bytes > 0 &&
	       (unacknowledged > requester->packets_since_ack_request ||
		timer_is_armed(&qp->congestion.timer));
}

static bool any_makes_room(const struct engine *engine, const struct peer_window *path)
{
	for (uint32_t slot = 0; slot < engine->qps.slot_count; slot++) {
		const struct qp *qp = key_table_slot(&engine->qps, slot);

		if (qp != NULL && qp->peer_window == path && makes_room(qp))
			return true;
	}
	return false;
}

/* Never idle with work, room and rate: QPs that wait have no room, or wait for the next batch. */
static void check_line(const struct peer_window *path)
{
	const struct qp *first;

	if (path->turn != NULL || list_is_empty(&path->waiting))
		return;
	first = list_first_entry(&path->waiting, struct qp, path_node);
	if (!peer_window_has_room(path, first, first->requester.path_wait_bytes)) {
		assert(any_makes_room(path->engine, path));
		return;
	}
	assert(timer_is_armed(&path->timer));
	assert(path->timer.deadline_ns <= path->paced_ns + LIMIT_PATH_BATCH_NS);
}

static void check_path(const struct engine *engine, const struct peer_window *path)
{
	uint32_t in_flight_bytes = 0;
	uint32_t references = 0;

	for (uint32_t slot = 0; slot < engine->qps.slot_count; slot++) {
		const struct qp *qp = key_table_slot(&engine->qps, slot);

		if (qp == NULL || qp->peer_window != path)
			continue;
		references++;
		in_flight_bytes += qp->requester.in_flight_bytes;
	}
	assert(references == path->references && references > 0);
	assert(in_flight_bytes == path->in_flight_bytes);
	assert(path->turn == NULL || list_is_linked(&path->turn->ready_node));
	check_line(path);
}

/* A window is bound to a region, or grants nothing; each region knows how many are. */
static void check_windows(const struct engine *engine)
{
	uint64_t bound = 0, counted = 0;

	for (uint32_t slot = 0; slot < engine->mrs.slot_count; slot++) {
		const struct mr *mr = key_table_slot(&engine->mrs, slot);
		const struct mw *mw = mr != NULL ? mr->window : NULL;

		if (mr != NULL)
			counted += mr->bound_windows;
		if (mw == NULL)
			continue;
		assert(mr == &mw->range && mr->bound_windows == 0);
		assert((mw->bound_to != NULL) == (mr->region != NULL));
		assert((mw->range.window_qp != NULL) ==
		       (mw->bound_to != NULL && mw->type == RNIC_MW_TYPE_2));
		assert((mw->range.window_qp != NULL) == list_is_linked(&mw->qp_node));
		bound += mw->bound_to != NULL;
	}
	assert(bound == counted);
}

void engine_check_invariants(const struct engine *engine)
{
	struct list *node;

	for (uint32_t slot = 0; slot < engine->qps.slot_count; slot++) {
		const struct qp *qp = key_table_slot(&engine->qps, slot);

		if (qp != NULL)
			qp_check_invariants(qp);
	}
	check_windows(engine);
	list_for_each (node, &engine->windows)
		check_path(engine, list_entry(node, struct peer_window, node));
}

/* --- bursts ----------------------------------------------------------------------------------- */

#define PACKET_BYTES_MOST (RNIC_PAYLOAD_BYTES_MAX + LIMIT_PACKET_OVERHEAD_BYTES)

/* Responses of 256 bytes. */
#define READ_BYTES_MOST                                                                            \
	(LIMIT_READ_CHUNK_BYTES + LIMIT_READ_CHUNK_BYTES / 256 * LIMIT_PACKET_OVERHEAD_BYTES)

static uint64_t window_bytes(const struct peer_window *path)
{
	return peer_window_bytes(path) + path_model_kept_bytes(&path->model, path->engine->now_ns);
}

/*
 * Half of the queues after a pause, or what a batch has at 1.2 windows in a round trip; the last
 * packet leaves whole.
 */
static uint64_t burst_bytes(const struct peer_window *path)
{
	const uint64_t least_ns = path->model.least_ns;
	const uint64_t batch_bytes =
		peer_window_bytes(path) * (UINT64_C(6) * LIMIT_PATH_BATCH_NS / 5) / (least_ns + 1);

	return (batch_bytes > path->queue_bytes / 2 ? batch_bytes : path->queue_bytes / 2) +
	       PACKET_BYTES_MOST;
}

/*
 * What may go beyond: of each QP a packet that asks for an acknowledgement on behalf of others
 * before, or a request whose answer is counted with the request.
 */
static uint64_t single_bytes(const struct engine *engine, const struct peer_window *path)
{
	uint64_t bytes = 0;

	for (uint32_t slot = 0; slot < engine->qps.slot_count; slot++) {
		const struct qp *qp = key_table_slot(&engine->qps, slot);

		if (qp != NULL && qp->peer_window == path)
			bytes += qp->requester.reads_outstanding > 0 ? READ_BYTES_MOST
								     : PACKET_BYTES_MOST;
	}
	return bytes;
}

void burst_watch_begin(struct burst_watch *watch, const struct engine *engine)
{
	struct list *node;

	watch->path_count = 0;
	list_for_each (node, &engine->windows) {
		const struct peer_window *path = list_entry(node, struct peer_window, node);
		const uint32_t i = watch->path_count;

		if (i == WATCHED_PATHS)
			return;
		watch->paths[i].in_flight_bytes = path->in_flight_bytes;
		watch->paths[i].window_bytes = window_bytes(path);
		watch->paths[i].burst_bytes = burst_bytes(path);
		watch->path_count++;
	}
}

/* More is under way than before. A window that has shrunk is full. */
static void check_burst(const struct burst_watch_path *before, const struct engine *engine,
			const struct peer_window *path)
{
	const uint64_t left_bytes = path->in_flight_bytes - before->in_flight_bytes;
	const uint64_t single = single_bytes(engine, path);
	uint64_t most_bytes = before->window_bytes;

	if (most_bytes < before->in_flight_bytes)
		most_bytes = before->in_flight_bytes;
	assert(path->in_flight_bytes <= most_bytes + single);
	if (path_model_is_long(&path->model))
		assert(left_bytes <= before->burst_bytes + single);
}

void burst_watch_end(const struct burst_watch *watch, const struct engine *engine)
{
	struct list *node;
	uint32_t i = 0;

	list_for_each (node, &engine->windows) {
		const struct peer_window *path = list_entry(node, struct peer_window, node);

		if (i == watch->path_count)
			return;
		if (path->in_flight_bytes > watch->paths[i].in_flight_bytes)
			check_burst(&watch->paths[i], engine, path);
		i++;
	}
}
