/* SPDX-License-Identifier: MIT */
#include "engine/reliability/retry_timer.h"

#include "engine/qp_state.h"
#include "wire/timeout.h"

/* 4.096 us * 2^LIMIT_LOCAL_ACK_DELAY: an answer of a device like this one can take as long. */
#define LEAST_TIMEOUT_NS (UINT64_C(4096) << LIMIT_LOCAL_ACK_DELAY)

/*
 * Repeated expiries double the timeout up to this often: IBTA lets a timeout of T last up to 4 T
 * (IBTA 1.4, 9.7.6.1.3).
 */
#define DOUBLINGS_MAX 2

/*
 * timer  | starts when                          | runs for                    | expiry (retry.c)
 * -------+--------------------------------------+-----------------------------+------------------
 * ACK    | progress, with packets under way;    | LIMIT_SHARE_NS, then up to  | share given back;
 *        | a packet leaves, and no timer or     | the timeout                 | then all again
 *        | WINDOW runs                          |                             |
 * RNR    | an RNR NAK comes                     | what the NAK says           | all again
 * CREDIT | a message needs a credit, nothing is | LIMIT_CREDIT_PROBE_NS       | a probe
 *        | under way                            |                             |
 * WINDOW | the window is full, nothing is under | the timeout, at most        | a probe
 *        | way                                  | LIMIT_SHARE_NS              |
 * PACE   | the QP is first in line              | until half a burst is there | the QP goes on
 */
static const struct retry_timer_row {
	bool is_kept;	/* to start it while it runs changes nothing; else it starts anew */
	bool gives_way; /* a packet that leaves starts the ACK timer in its place */
} rows[RETRY_TIMER_COUNT] = {
	[RETRY_TIMER_NONE] = {.gives_way = true},
	[RETRY_TIMER_ACK] = {0},
	[RETRY_TIMER_RNR] = {.is_kept = true},
	[RETRY_TIMER_CREDIT] = {.is_kept = true},
	[RETRY_TIMER_WINDOW] = {.is_kept = true, .gives_way = true},
	[RETRY_TIMER_PACE] = {0},
};

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

void retry_timer_start(struct engine *engine, struct qp *qp, enum retry_timer timer,
		       uint64_t deadline_ns)
{
	if (rows[timer].is_kept && qp->retry.running == timer)
		return;
	qp->retry.running = (uint8_t)timer;
	timer_heap_arm(&engine->timers, &qp->retry.timer, deadline_ns);
}

void retry_timer_stop(struct engine *engine, struct qp *qp)
{
	timer_heap_disarm(&engine->timers, &qp->retry.timer);
	qp->retry.running = RETRY_TIMER_NONE;
}

static void retry_timer_start_ack(struct engine *engine, struct qp *qp)
{
	uint64_t ns = timeout_ns(qp);

	qp->retry.timeout_at_ns = ns == UINT64_MAX ? UINT64_MAX : engine->now_ns + ns;
	if (!qp->retry.is_silent && ns > LIMIT_SHARE_NS)
		retry_timer_start(engine, qp, RETRY_TIMER_ACK, engine->now_ns + LIMIT_SHARE_NS);
	else if (ns != UINT64_MAX)
		retry_timer_start(engine, qp, RETRY_TIMER_ACK, qp->retry.timeout_at_ns);
}

static bool has_unacknowledged(const struct qp *qp)
{
	return !rnic_psn_equal(qp->requester.psn, qp->requester.unacknowledged);
}

void retry_timer_init(struct qp *qp)
{
	qp->retry = (struct retry){0};
}

void retry_timer_progress(struct engine *engine, struct qp *qp)
{
	struct retry *retry = &qp->retry;

	retry->retries_left = qp->attributes.retry_count;
	retry->rnr_retries_left = qp->attributes.rnr_retry;
	retry->timeouts_in_a_row = 0;
	retry->is_silent = false;
	retry->may_probe = false;
	if (has_unacknowledged(qp))
		retry_timer_start_ack(engine, qp);
	else
		retry_timer_stop(engine, qp);
}

void retry_timer_packet_sent(struct engine *engine, struct qp *qp)
{
	if (rows[qp->retry.running].gives_way)
		retry_timer_start_ack(engine, qp);
}

void retry_timer_probe_sent(struct qp *qp, uint32_t bytes)
{
	struct retry *retry = &qp->retry;

	retry->probe_bytes -= bytes < retry->probe_bytes ? bytes : retry->probe_bytes;
	retry->may_probe = false;
}

void retry_timer_pace(struct engine *engine, struct qp *qp, uint64_t ready_ns)
{
	retry_timer_start(engine, qp, RETRY_TIMER_PACE, ready_ns);
}

void retry_timer_wait_for_credit(struct engine *engine, struct qp *qp)
{
	retry_timer_start(engine, qp, RETRY_TIMER_CREDIT, engine->now_ns + LIMIT_CREDIT_PROBE_NS);
}

void retry_timer_wait_for_window(struct engine *engine, struct qp *qp)
{
	uint64_t ns = timeout_ns(qp);

	retry_timer_start(engine, qp, RETRY_TIMER_WINDOW,
			  engine->now_ns + (ns < LIMIT_SHARE_NS ? ns : LIMIT_SHARE_NS));
}

void retry_timer_cancel_window_wait(struct engine *engine, struct qp *qp)
{
	qp->retry.may_probe = false;
	if (qp->retry.running == RETRY_TIMER_WINDOW)
		retry_timer_stop(engine, qp);
}
