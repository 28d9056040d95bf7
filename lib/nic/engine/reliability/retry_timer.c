/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/retry_timer.h"

#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/reliability/round_trip.h"
#include "proto/wire/timeout.h"

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
 * TAIL   | as ACK, when that is later           | round_trip_wait_ns()        | a tail probe
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
	[RETRY_TIMER_TAIL] = {0},
	[RETRY_TIMER_RNR] = {.is_kept = true},
	[RETRY_TIMER_CREDIT] = {.is_kept = true},
	[RETRY_TIMER_WINDOW] = {.is_kept = true, .gives_way = true},
	[RETRY_TIMER_PACE] = {0},
};

/*
 * Where no round trip is shorter than the timeout, each packet is sent again before its answer
 * comes, so that there is progress, and no round trip is ever measured. The first timeout may be a
 * loss; after others without a measure timeouts grow in spite of progress.
 */
static uint32_t timeout_doublings(const struct qp *qp)
{
	const struct round_trip *round_trip = &qp->round_trip;
	uint32_t timeouts = qp->retry.timeouts_in_a_row;

	if (round_trip->smoothed_ns == 0 && round_trip->timeouts > timeouts + 1)
		timeouts = round_trip->timeouts - 1;
	return timeouts < DOUBLINGS_MAX ? timeouts : DOUBLINGS_MAX;
}

uint64_t retry_timer_base_ns(const struct qp *qp)
{
	const uint64_t ns = rnic_ack_timeout_ns(qp->attributes.timeout);

	return ns < LEAST_TIMEOUT_NS ? LEAST_TIMEOUT_NS : ns;
}

static uint64_t timeout_ns(const struct qp *qp)
{
	const struct round_trip *round_trip = &qp->round_trip;
	const uint64_t base_ns = retry_timer_base_ns(qp);
	uint64_t most_ns, ns;

	if (base_ns == UINT64_MAX)
		return UINT64_MAX;
	most_ns = base_ns << DOUBLINGS_MAX;
	ns = base_ns << timeout_doublings(qp);
	/* A round trip that takes most of the timeout leaves no time for queues. */
	if (round_trip->smoothed_ns > base_ns / 2 && ns < round_trip_answer_ns(round_trip))
		ns = round_trip_answer_ns(round_trip);
	return ns < most_ns ? ns : most_ns;
}

/* After so long without progress the share of the window is given back. */
static uint64_t share_ns(const struct qp *qp)
{
	const uint64_t answer_ns = 2 * round_trip_answer_ns(&qp->round_trip);

	return answer_ns > LIMIT_SHARE_NS ? answer_ns : LIMIT_SHARE_NS;
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
	qp->retry.tail_packets = 0;
	round_trip_forget(&qp->round_trip);
}

/* --- waiting for an acknowledgement --------------------------------------------------------- */

uint64_t retry_timer_timeout_at_ns(const struct qp *qp)
{
	uint64_t ns = timeout_ns(qp);

	return ns == UINT64_MAX ? UINT64_MAX : qp->retry.started_at_ns + ns;
}

/* When the ACK timer expires next: for the share, or for good. UINT64_MAX: never. */
static uint64_t ack_at_ns(const struct qp *qp)
{
	const uint64_t share_at_ns = qp->retry.started_at_ns + share_ns(qp);
	uint64_t timeout_at_ns;

	/* No timeout is shorter than the one that the program asked for. */
	if (!qp->retry.is_silent && share_ns(qp) < retry_timer_base_ns(qp))
		return share_at_ns;
	timeout_at_ns = retry_timer_timeout_at_ns(qp);
	return !qp->retry.is_silent && share_at_ns < timeout_at_ns ? share_at_ns : timeout_at_ns;
}

static uint32_t packets_unacknowledged(const struct qp *qp)
{
	return (uint32_t)rnic_psn_distance(qp->requester.psn, qp->requester.unacknowledged);
}

/* Whether one of the packets under way asks for an acknowledgement; else more packets follow. */
static bool has_asked(const struct qp *qp)
{
	return packets_unacknowledged(qp) > qp->requester.packets_since_ack_request;
}

/* While a path opens, its queues double in each round trip: the next answer takes longer. */
static uint64_t silence_ns(const struct qp *qp)
{
	const struct peer_window *window = qp->peer_window;
	const uint64_t own_ns = round_trip_wait_ns(&qp->round_trip);
	uint64_t opening_ns;

	if (window == NULL || window->is_open)
		return own_ns;
	opening_ns = 4 * window->model.smoothed_ns;
	return own_ns > opening_ns ? own_ns : opening_ns;
}

/*
 * When the silence will have lasted for long enough for a tail probe, which begins when the peer is
 * asked for an acknowledgement. UINT64_MAX: no probe is to follow.
 */
static uint64_t tail_at_ns(const struct engine *engine, const struct qp *qp)
{
	const struct retry *retry = &qp->retry;
	uint64_t wait_ns = silence_ns(qp);
	uint64_t since_ns = retry->asked_at_ns;

	if (wait_ns == UINT64_MAX || retry->is_silent || retry->tail_packets > 0 ||
	    retry->tail_probes == LIMIT_TAIL_PROBES)
		return UINT64_MAX;
	if (!has_asked(qp))
		since_ns = engine->now_ns;
	else if (since_ns < retry->started_at_ns)
		since_ns = retry->started_at_ns;
	return since_ns + wait_ns;
}

static void wait_for_acknowledgement(struct engine *engine, struct qp *qp)
{
	uint64_t tail_ns = tail_at_ns(engine, qp);
	uint64_t ack_ns = ack_at_ns(qp);

	if (tail_ns < ack_ns)
		retry_timer_start(engine, qp, RETRY_TIMER_TAIL, tail_ns);
	else if (ack_ns != UINT64_MAX)
		retry_timer_start(engine, qp, RETRY_TIMER_ACK, ack_ns);
}

static void retry_timer_start_ack(struct engine *engine, struct qp *qp)
{
	qp->retry.started_at_ns = engine->now_ns;
	wait_for_acknowledgement(engine, qp);
}

bool retry_timer_try_probe_tail(struct engine *engine, struct qp *qp)
{
	bool is_due = tail_at_ns(engine, qp) <= engine->now_ns;

	if (is_due) {
		qp->retry.tail_probes++;
		qp->retry.tail_packets = RETRY_TIMER_TAIL_PACKETS;
		round_trip_probe(&qp->round_trip);
	}
	wait_for_acknowledgement(engine, qp);
	return is_due;
}

void retry_timer_tail_sent(struct engine *engine, struct qp *qp, bool is_last)
{
	struct retry *retry = &qp->retry;

	retry->tail_packets = is_last ? 0 : retry->tail_packets - 1;
	retry->asked_at_ns = engine->now_ns;
	wait_for_acknowledgement(engine, qp);
}

void retry_timer_repair_sent(struct engine *engine, struct qp *qp)
{
	struct retry *retry = &qp->retry;

	retry->asked_at_ns = engine->now_ns;
	if (retry->repairs == LIMIT_REPAIRS)
		return;
	retry->repairs++;
	retry_timer_start_ack(engine, qp);
}

/*
 * Whether the answer to a tail probe falls short of the last packet: the peer had sent its NAK
 * before, and the packet that it waits for is the oldest now. The answer to a READ just goes on.
 */
static bool does_tail_probe_go_on(const struct qp *qp)
{
	const struct retry *retry = &qp->retry;

	return retry->tail_probes > 0 && retry->tail_packets == 0 &&
	       packets_unacknowledged(qp) > 0 &&
	       !wqe_operation(send_queue_at(&qp->send_queue, qp->send_queue.retired))->has_response;
}

void retry_timer_init(struct qp *qp)
{
	qp->retry = (struct retry){0};
}

static void model_round_trip(struct qp *qp)
{
	if (qp->peer_window != NULL &&
	    round_trip_is_covered(&qp->round_trip, qp->requester.unacknowledged))
		peer_window_measure(qp->peer_window, &qp->round_trip.departure);
}

void retry_timer_progress(struct engine *engine, struct qp *qp)
{
	struct retry *retry = &qp->retry;

	retry->retries_left = qp->attributes.retry_count;
	retry->rnr_retries_left = qp->attributes.rnr_retry;
	retry->timeouts_in_a_row = 0;
	retry->is_silent = false;
	retry->may_probe = false;
	retry->tail_packets = does_tail_probe_go_on(qp) ? RETRY_TIMER_TAIL_PACKETS : 0;
	retry->tail_probes = 0;
	retry->repairs = 0;
	model_round_trip(qp);
	round_trip_acknowledged(&qp->round_trip, qp->requester.unacknowledged, engine->now_ns);
	if (packets_unacknowledged(qp) > 0)
		retry_timer_start_ack(engine, qp);
	else
		retry_timer_stop(engine, qp);
}

void retry_timer_ask(struct engine *engine, struct qp *qp)
{
	if (!has_asked(qp))
		qp->retry.asked_at_ns = engine->now_ns;
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
