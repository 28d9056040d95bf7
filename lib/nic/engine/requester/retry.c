/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/requester/retry.h"

#include "lib/nic/base/probe.h"
#include "lib/nic/engine/objects/qp_record.h"
#include "lib/nic/engine/progress/qp_error.h"
#include "lib/nic/engine/progress/send_position.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/reliability/retry_timer.h"
#include "lib/nic/engine/reliability/round_trip.h"
#include "lib/nic/engine/requester/repair.h"
#include "proto/base/time_units.h"
#include "proto/wire/timeout.h"

#include <assert.h>

#define RNR_RETRY_WITHOUT_END 7

void retry_rnr(struct engine *engine, struct qp *qp, uint8_t code)
{
	struct retry *retry = &qp->retry;

	/* A second NAK while waiting is a copy of the first: nothing was sent in between. */
	if (retry->running == RETRY_TIMER_RNR)
		return;
	if (retry->rnr_retries_left == 0) {
		qp_fail_send(engine, qp, VERDICT_RNR_RETRY_EXCEEDED);
		return;
	}
	if (qp->attributes.rnr_retry != RNR_RETRY_WITHOUT_END)
		retry->rnr_retries_left--;
	retry->retries_left = qp->attributes.retry_count;
	retry->timeouts_in_a_row = 0;
	retry->tail_probes = 0;
	retry->is_silent = false;
	send_position_rewind(engine, qp);
	retry_timer_start(engine, qp, RETRY_TIMER_RNR, engine->now_ns + rnic_rnr_timer_ns(code));
	RNIC_PROBE2(rnr_wait, qp->qpn, rnic_rnr_timer_ns(code));
}

static void record_sent_again(struct qp *qp, struct rnic_psn end)
{
	const struct rnic_record_entry entry = {
		.event = RNIC_RECORD_SENT_AGAIN,
		.detail = qp->retry.retries_left,
		.psn = qp->requester.psn.value,
		.value = end.value,
	};

	qp_record(qp, &entry);
}

static void record_timeout(struct qp *qp)
{
	const uint64_t silent_ns = qp->engine->now_ns - qp->last_received_ns;
	const struct rnic_record_entry entry = {
		.event = RNIC_RECORD_TIMED_OUT,
		.detail = qp->retry.retries_left,
		.extra = qp->retry.timeouts_in_a_row,
		.psn = qp->requester.unacknowledged.value,
		.value = qp->last_received_ns == 0 ? RNIC_RECORD_NEVER
						   : (uint32_t)(silent_ns / RNIC_NS_PER_MS),
	};

	qp_record(qp, &entry);
}

/*
 * A lost READ request is a small packet, and no sign of queues that overflow. On a short path the
 * smaller window is worth more: after such a loss nothing comes until the queues there are empty.
 */
static bool is_small_loss(const struct qp *qp)
{
	const struct send_queue *queue = &qp->send_queue;

	return path_model_is_long(&qp->peer_window->model) && queue->retired != queue->next &&
	       wqe_operation(send_queue_at(queue, queue->retired))->has_response;
}

void retry_sequence_error(struct engine *engine, struct qp *qp)
{
	const struct rnic_psn end = qp->requester.psn;

	if (qp->retry.retries_left == 0) {
		qp_fail_send(engine, qp, VERDICT_RETRY_EXCEEDED);
		return;
	}
	qp->retry.retries_left--;
	if (repair_begin(qp))
		return;
	if (!qp->retry.is_silent && !is_small_loss(qp))
		peer_window_reduce(engine, qp->peer_window);
	send_position_rewind(engine, qp);
	qp->requester.repair.follows_nak = !qp->retry.is_silent;
	record_sent_again(qp, end);
	RNIC_PROBE3(send_again, qp->qpn, qp->requester.psn.value, qp->retry.retries_left);
}

/* --- expiry ---------------------------------------------------------------------------------- */

/*
 * Whether the first timeout asks once more by a tail probe, before all goes again: on a long path
 * that is much, and a peer that was off the processor for as long has it all.
 */
static bool may_ask_again(const struct qp *qp)
{
	return qp->retry.timeouts_in_a_row == 0 && !qp->retry.is_silent &&
	       qp->retry.retries_left > 0 && path_model_is_long(&qp->peer_window->model);
}

static void ask_again(struct engine *engine, struct qp *qp)
{
	qp->retry.retries_left--;
	qp->retry.tail_packets = RETRY_TIMER_TAIL_PACKETS;
	round_trip_probe(&qp->round_trip);
	retry_timer_repair_sent(engine, qp);
	ready_list_add(qp);
}

static void retry_ack_expired(struct engine *engine, struct qp *qp)
{
	const bool asks_again = may_ask_again(qp);
	uint64_t timeout_at_ns = retry_timer_timeout_at_ns(qp);
	struct retry *retry = &qp->retry;

	retry->is_silent = true;
	retry->tail_packets = 0;
	retry->probe_bytes = LIMIT_SILENT_PEER_BYTES;
	if (engine->now_ns < timeout_at_ns) {
		send_position_release_share(qp);
		qp->requester.has_gone_back = false; /* a gap that shows now is news */
		if (timeout_at_ns != UINT64_MAX)
			retry_timer_start(engine, qp, RETRY_TIMER_ACK, timeout_at_ns);
		ready_list_add(qp);
		return;
	}
	/* The first timeout may be a loss on the path; more in a row are the peer's silence. */
	if (retry->timeouts_in_a_row == 0)
		peer_window_reduce(engine, qp->peer_window);
	engine->counters[COUNTER_ACK_TIMEOUTS]++;
	qp->counters.timeouts++;
	retry->timeouts_in_a_row++;
	retry->repairs = 0;
	round_trip_time_out(&qp->round_trip);
	record_timeout(qp);
	RNIC_PROBE2(ack_timeout, qp->qpn, retry->retries_left);
	if (asks_again) {
		retry->is_silent = false;
		ask_again(engine, qp);
		return;
	}
	retry_sequence_error(engine, qp);
}

static void retry_tail_expired(struct engine *engine, struct qp *qp)
{
	if (retry_timer_try_probe_tail(engine, qp))
		ready_list_add(qp);
}

static void retry_credit_expired(struct engine *engine, struct qp *qp)
{
	(void)engine;
	qp->requester.credits.may_probe = true;
	ready_list_add(qp);
}

static void retry_window_expired(struct engine *engine, struct qp *qp)
{
	(void)engine;
	qp->retry.may_probe = true;
	ready_list_add(qp);
}

static void retry_goes_on(struct engine *engine, struct qp *qp)
{
	(void)engine;
	ready_list_add(qp);
}

static void (*const expiries[RETRY_TIMER_COUNT])(struct engine *, struct qp *) = {
	[RETRY_TIMER_ACK] = retry_ack_expired,	     [RETRY_TIMER_TAIL] = retry_tail_expired,
	[RETRY_TIMER_RNR] = retry_goes_on,	     [RETRY_TIMER_CREDIT] = retry_credit_expired,
	[RETRY_TIMER_WINDOW] = retry_window_expired, [RETRY_TIMER_PACE] = retry_goes_on,
};

void retry_expired(struct engine *engine, struct qp *qp)
{
	uint8_t expired = qp->retry.running;

	assert(expired != RETRY_TIMER_NONE);
	qp->retry.running = RETRY_TIMER_NONE;
	expiries[expired](engine, qp);
}
