/* SPDX-License-Identifier: MIT */
#include "engine/reliability/retry.h"

#include "engine/engine.h"
#include "engine/verbs/qp.h"
#include "wire/timeout.h"

/* 4.096 us * 2^LIMIT_LOCAL_ACK_DELAY: an answer of a device like this one can take as long. */
#define LEAST_TIMEOUT_NS (UINT64_C(4096) << LIMIT_LOCAL_ACK_DELAY)

/* Repeated expiries double the timeout up to this often. */
#define DOUBLINGS_MAX 3

#define RNR_RETRY_WITHOUT_END 7

static void retry_arm(struct engine *engine, struct qp *qp, uint64_t deadline_ns)
{
	timer_heap_arm(&engine->timers, &qp->retry.timer, deadline_ns);
}

static uint64_t timeout_ns(const struct qp *qp)
{
	uint64_t base_ns = rnic_ack_timeout_ns(qp->attributes.timeout);
	uint32_t doublings = qp->retry.timeouts_in_a_row;

	if (base_ns == UINT64_MAX)
		return UINT64_MAX;
	if (base_ns < LEAST_TIMEOUT_NS)
		base_ns = LEAST_TIMEOUT_NS;
	return base_ns << (doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX);
}

static void start_ack_timer(struct engine *engine, struct qp *qp)
{
	uint64_t ns = timeout_ns(qp);

	qp->retry.timeout_at_ns = ns == UINT64_MAX ? UINT64_MAX : engine->now_ns + ns;
	if (!qp->retry.is_silent && ns > LIMIT_SHARE_NS)
		retry_arm(engine, qp, engine->now_ns + LIMIT_SHARE_NS);
	else if (ns != UINT64_MAX)
		retry_arm(engine, qp, qp->retry.timeout_at_ns);
}

static bool has_unacknowledged(const struct qp *qp)
{
	return !rnic_psn_equal(qp->requester.psn, qp->requester.unacknowledged);
}

void retry_init(struct qp *qp)
{
	qp->retry = (struct retry){0};
}

void retry_progress(struct engine *engine, struct qp *qp)
{
	struct retry *retry = &qp->retry;

	retry->retries_left = qp->attributes.retry_count;
	retry->rnr_retries_left = qp->attributes.rnr_retry;
	retry->timeouts_in_a_row = 0;
	retry->is_silent = false;
	retry->may_probe = false;
	retry->is_rnr_wait = false;
	if (has_unacknowledged(qp))
		start_ack_timer(engine, qp);
	else
		retry_stop(engine, qp);
}

void retry_packet_sent(struct engine *engine, struct qp *qp)
{
	if (!timer_is_armed(&qp->retry.timer) || qp->retry.is_line_wait)
		start_ack_timer(engine, qp);
	qp->retry.is_line_wait = false;
}

void retry_probe_sent(struct qp *qp, uint32_t bytes)
{
	struct retry *retry = &qp->retry;

	retry->probe_bytes -= bytes < retry->probe_bytes ? bytes : retry->probe_bytes;
	retry->may_probe = false;
}

void retry_rnr(struct engine *engine, struct qp *qp, uint8_t code)
{
	struct retry *retry = &qp->retry;

	/* A second NAK while waiting is a copy of the first: nothing was sent in between. */
	if (retry->is_rnr_wait)
		return;
	if (retry->rnr_retries_left == 0) {
		requester_fail(engine, qp, VERDICT_RNR_RETRY_EXCEEDED);
		return;
	}
	if (qp->attributes.rnr_retry != RNR_RETRY_WITHOUT_END)
		retry->rnr_retries_left--;
	retry->retries_left = qp->attributes.retry_count;
	retry->timeouts_in_a_row = 0;
	retry->is_silent = false;
	requester_rewind(engine, qp);
	retry->is_rnr_wait = true;
	retry_arm(engine, qp, engine->now_ns + rnic_rnr_timer_ns(code));
}

void retry_sequence_error(struct engine *engine, struct qp *qp)
{
	if (qp->retry.retries_left == 0) {
		requester_fail(engine, qp, VERDICT_RETRY_EXCEEDED);
		return;
	}
	qp->retry.retries_left--;
	if (!qp->retry.is_silent)
		peer_window_reduce(engine, qp->peer_window);
	requester_rewind(engine, qp);
}

void retry_probe(struct engine *engine, struct qp *qp)
{
	if (qp->retry.is_probe_wait)
		return;
	qp->retry.is_line_wait = false;
	qp->retry.is_probe_wait = true;
	retry_arm(engine, qp, engine->now_ns + LIMIT_CREDIT_PROBE_NS);
}

void retry_wait_in_line(struct engine *engine, struct qp *qp)
{
	uint64_t ns = timeout_ns(qp);

	if (qp->retry.is_line_wait)
		return;
	qp->retry.is_line_wait = true;
	retry_arm(engine, qp, engine->now_ns + (ns < LIMIT_SHARE_NS ? ns : LIMIT_SHARE_NS));
}

void retry_cancel_window_wait(struct engine *engine, struct qp *qp)
{
	qp->retry.may_probe = false;
	if (qp->retry.is_line_wait)
		retry_stop(engine, qp);
}

void retry_pace(struct engine *engine, struct qp *qp, uint64_t ready_ns)
{
	retry_arm(engine, qp, ready_ns);
}

void retry_expired(struct engine *engine, struct qp *qp)
{
	struct retry *retry = &qp->retry;

	if (!qp_is_reliable(qp)) {
		qp_make_ready(qp);
		return;
	}
	if (retry->is_rnr_wait) {
		retry->is_rnr_wait = false;
		qp_make_ready(qp);
		return;
	}
	if (retry->is_probe_wait) {
		retry->is_probe_wait = false;
		qp->requester.credits.may_probe = true;
		qp_make_ready(qp);
		return;
	}
	if (retry->is_line_wait) {
		retry->is_line_wait = false;
		retry->may_probe = true;
		qp_make_ready(qp);
		return;
	}
	if (!retry->is_silent)
		peer_window_reduce(engine, qp->peer_window);
	retry->is_silent = true;
	retry->probe_bytes = LIMIT_SILENT_PEER_BYTES;
	if (engine->now_ns < retry->timeout_at_ns) {
		requester_release_share(qp);
		if (retry->timeout_at_ns != UINT64_MAX)
			retry_arm(engine, qp, retry->timeout_at_ns);
		qp_make_ready(qp);
		return;
	}
	engine->counters[COUNTER_ACK_TIMEOUTS]++;
	qp->counters.timeouts++;
	retry->timeouts_in_a_row++;
	retry_sequence_error(engine, qp);
}

void retry_stop(struct engine *engine, struct qp *qp)
{
	timer_heap_disarm(&engine->timers, &qp->retry.timer);
	qp->retry.is_rnr_wait = false;
	qp->retry.is_probe_wait = false;
	qp->retry.is_line_wait = false;
}
