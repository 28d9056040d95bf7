/* SPDX-License-Identifier: MIT */
#include "engine/retry.h"

#include "engine/engine.h"
#include "engine/qp.h"
#include "wire/timeout.h"

/* 4.096 us * 2^LIMIT_LOCAL_ACK_DELAY: an answer of a device like this one can take as long. */
#define LEAST_TIMEOUT_NS (UINT64_C(4096) << LIMIT_LOCAL_ACK_DELAY)

/* Repeated expiries double the timeout up to this often. */
#define DOUBLINGS_MAX 3

/* After so long without progress a QP's packets count as gone from the path. */
#define SHARE_NS UINT64_C(1000000000)

#define RNR_RETRY_WITHOUT_END 7

static void arm(struct engine *engine, struct qp *qp, uint64_t deadline_ns)
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
	arm(engine, qp, engine->now_ns + (ns < SHARE_NS ? ns : SHARE_NS));
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
	retry->is_rnr_wait = false;
	if (has_unacknowledged(qp))
		start_ack_timer(engine, qp);
	else
		retry_stop(engine, qp);
}

void retry_packet_sent(struct engine *engine, struct qp *qp)
{
	if (!timer_is_armed(&qp->retry.timer))
		start_ack_timer(engine, qp);
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
	arm(engine, qp, engine->now_ns + rnic_rnr_timer_ns(code));
}

void retry_sequence_error(struct engine *engine, struct qp *qp)
{
	if (qp->retry.retries_left == 0) {
		requester_fail(engine, qp, VERDICT_RETRY_EXCEEDED);
		return;
	}
	qp->retry.retries_left--;
	if (qp->retry.timeouts_in_a_row <= 1)
		path_reduce(engine, qp->path);
	requester_rewind(engine, qp);
}

void retry_probe(struct engine *engine, struct qp *qp)
{
	if (qp->retry.is_probe_wait)
		return;
	qp->retry.is_probe_wait = true;
	arm(engine, qp, engine->now_ns + LIMIT_CREDIT_PROBE_NS);
}

void retry_pace(struct engine *engine, struct qp *qp, uint64_t ready_ns)
{
	arm(engine, qp, ready_ns);
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
	retry->is_silent = true;
	if (engine->now_ns < retry->timeout_at_ns) {
		requester_release_share(qp);
		if (retry->timeout_at_ns != UINT64_MAX)
			arm(engine, qp, retry->timeout_at_ns);
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
}
