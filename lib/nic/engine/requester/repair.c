/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/requester/repair.h"

#include "lib/nic/base/probe.h"
#include "lib/nic/engine/progress/send_position.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/holes.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/reliability/retry_timer.h"
#include "lib/nic/engine/reliability/round_trip.h"
#include "proto/wire/peer_kind.h"

/*
 * Packets of a repair. The next step is taken where the hole is longer, or where the next hole
 * begins so near that the longer repair would have closed it, too: a queue that overflows leaves
 * many holes, which would take a round trip each.
 */
static const uint16_t lengths[] = {1, 16, 256, 4096};

/* From there on holes are no single packets that were lost: a queue has overflowed. */
#define OVERFLOW_STEP 2

/* So many packets that are told missing, with no more than that between them, mean the same. */
#define OVERFLOW_PACKETS 4
#define OVERFLOW_NEAR	 16

static bool wqe_end_is_behind(const struct send_wqe *wqe, struct rnic_psn psn)
{
	return rnic_psn_distance(rnic_psn_add(wqe->psn, (int32_t)wqe->packets), psn) > 0;
}

/* The first packet from `start` on that the peer does not keep, at most `end`. */
static struct rnic_psn kept_end(const struct qp *qp, struct rnic_psn start, struct rnic_psn end)
{
	for (uint32_t i = qp->send_queue.retired; i != qp->send_queue.next; i++) {
		const struct send_wqe *wqe = send_queue_at(&qp->send_queue, i);

		if (rnic_psn_distance(wqe->psn, end) >= 0)
			break;
		if (wqe_operation(wqe)->has_response && wqe_end_is_behind(wqe, start))
			return wqe->psn;
	}
	return end;
}

static void repair_start(struct qp *qp, uint8_t step)
{
	struct requester *requester = &qp->requester;
	struct rnic_psn most = requester->repair.sent_end;
	struct rnic_psn end;

	if (step > 0 && rnic_psn_distance(most, requester->unacknowledged) <= 0)
		step = 0;
	end = rnic_psn_add(requester->unacknowledged, lengths[step]);
	if (step > 0 && rnic_psn_distance(end, most) > 0)
		end = most;
	requester->repair.sent_end = requester->psn;
	requester->repair.next = requester->unacknowledged;
	requester->repair.end = kept_end(qp, requester->unacknowledged, end);
	requester->repair.step = step;
	requester->repair.is_under_way = true;
	requester->has_gone_back = true;
	qp->retry.tail_packets = 0;
	peer_window_recover(qp->peer_window);
	round_trip_wait_for_repair(&qp->round_trip);
	ready_list_add(qp);
	RNIC_PROBE3(repair, qp->qpn, requester->repair.next.value, requester->repair.end.value);
}

/* How far the acknowledged end lies behind the repair: 0 where just the repair is acknowledged. */
static int32_t packets_beyond(const struct qp *qp)
{
	return rnic_psn_distance(qp->requester.unacknowledged, qp->requester.repair.end);
}

/* Whether an acknowledgement reaches the end of a repair that has left. */
static bool is_reached(const struct qp *qp)
{
	return qp->requester.repair.is_under_way && !repair_is_due(qp) && packets_beyond(qp) >= 0;
}

static bool may_repair(const struct qp *qp)
{
	const struct requester *requester = &qp->requester;

	return requester->repair.peer != REPAIR_PEER_DROPS && !qp->retry.is_silent &&
	       !rnic_psn_equal(requester->psn, requester->unacknowledged) &&
	       !wqe_operation(send_queue_at(&qp->send_queue, qp->send_queue.retired))->has_response;
}

/*
 * The oldest packet is missing, and the repair before it has left and is acknowledged. False: the
 * peer drops what comes behind gaps.
 */
static bool repair_next(struct qp *qp)
{
	struct repair *repair = &qp->requester.repair;
	const bool is_last = repair->step + 1u == RNIC_COUNT_OF(lengths);

	if (packets_beyond(qp) > 0)
		repair->peer = REPAIR_PEER_KEEPS;
	else if (repair->peer == REPAIR_PEER_UNKNOWN || is_last)
		repair->peer = REPAIR_PEER_DROPS;
	if (!may_repair(qp))
		return false;
	if (packets_beyond(qp) == 0 || repair->step + 1 == OVERFLOW_STEP)
		peer_window_reduce(qp->engine, qp->peer_window);
	if (!is_last && packets_beyond(qp) < lengths[repair->step + 1])
		repair_start(qp, repair->step + 1);
	else
		repair_start(qp, 0);
	return true;
}

/* --- holes that are told -----------------------------------------------------------------------
 */

static uint64_t answer_ns(const struct qp *qp)
{
	const uint64_t smoothed_ns = qp->peer_window->model.smoothed_ns;

	return smoothed_ns + smoothed_ns / 4;
}

/* Whether a hole that begins at `start` is to be sent again now, and that is noted. */
static bool try_take_hole(struct qp *qp, const struct hole *hole)
{
	struct repair *repair = &qp->requester.repair;

	if (rnic_psn_distance(hole->start, repair->told_end) >= 0) {
		repair->told_end = hole->end;
		return true;
	}
	if (qp->engine->now_ns - repair->checked_ns < answer_ns(qp) ||
	    rnic_psn_distance(hole->start, repair->checked_end) >= 0 ||
	    rnic_psn_distance(hole->start, repair->again_end) < 0)
		return false;
	repair->again_end = hole->end;
	return true;
}

/* Whether holes show that a queue has overflowed, and one of them was not told before. */
static bool is_overflow(const struct qp *qp, const struct holes *told)
{
	int32_t missing = 0;

	for (uint32_t i = 0; i < told->count; i++) {
		const struct hole *hole = &told->holes[i];

		if (i > 0 && rnic_psn_distance(hole->start, told->holes[i - 1].end) > OVERFLOW_NEAR)
			missing = 0;
		missing += rnic_psn_distance(hole->end, hole->start);
		if (missing >= OVERFLOW_PACKETS &&
		    rnic_psn_distance(hole->end, qp->requester.repair.told_end) > 0)
			return true;
	}
	return false;
}

/* The part of `hole` that is under way, and before a READ or an atomic. Empty: end <= start. */
static struct hole clip_hole(const struct qp *qp, struct hole hole)
{
	const struct requester *requester = &qp->requester;

	if (rnic_psn_distance(hole.start, requester->unacknowledged) < 0)
		hole.start = requester->unacknowledged;
	if (rnic_psn_distance(hole.end, requester->psn) > 0)
		hole.end = requester->psn;
	if (rnic_psn_distance(hole.end, hole.start) > 0)
		hole.end = kept_end(qp, hole.start, hole.end);
	return hole;
}

static void load_hole(struct repair *repair)
{
	repair->next = repair->due.holes[0].start;
	repair->end = repair->due.holes[0].end;
	repair->due.count--;
	for (uint32_t i = 0; i < repair->due.count; i++)
		repair->due.holes[i] = repair->due.holes[i + 1];
}

/*
 * A report that is full leaves holes out between its first and its last ones. Where a queue has
 * overflowed there are many, and all that nobody told of there counts as missing: a few holes in
 * each round trip would take longer than to send all that once more.
 */
static void fill_middle(const struct qp *qp, struct holes *told)
{
	struct hole *before = &told->holes[HOLES_MAX / 2 - 1];

	if (told->count < HOLES_MAX ||
	    rnic_psn_distance(before[1].start, qp->requester.repair.told_end) <= 0)
		return;
	before->end = before[1].end;
	told->count--;
	for (uint32_t i = HOLES_MAX / 2; i < told->count; i++)
		told->holes[i] = told->holes[i + 1];
}

/* Sends again what is missing; while holes are due, later reports will tell the others. */
static void repair_holes(struct qp *qp, struct holes *told)
{
	struct repair *repair = &qp->requester.repair;

	if (repair_is_due(qp))
		return;
	if (is_overflow(qp, told)) {
		peer_window_reduce(qp->engine, qp->peer_window);
		fill_middle(qp, told);
	}
	/* After a pause what is told is lost again: only probes go, each later than a check. */
	if (qp->engine->now_ns - repair->sent_ns >= answer_ns(qp))
		repair->told_end = qp->requester.unacknowledged;
	if (qp->engine->now_ns - repair->checked_ns >= 2 * answer_ns(qp)) {
		repair->checked_ns = qp->engine->now_ns;
		repair->checked_end = repair->told_end;
		repair->again_end = qp->requester.unacknowledged;
	}
	if (rnic_psn_distance(repair->told_end, qp->requester.unacknowledged) < 0)
		repair->told_end = qp->requester.unacknowledged;
	for (uint32_t i = 0; i < told->count; i++) {
		const struct hole hole = clip_hole(qp, told->holes[i]);

		if (rnic_psn_distance(hole.end, hole.start) > 0 && try_take_hole(qp, &hole))
			repair->due.holes[repair->due.count++] = hole;
	}
	if (repair->due.count == 0)
		return;
	load_hole(repair);
	qp->retry.tail_packets = 0;
	peer_window_recover(qp->peer_window);
	round_trip_wait_for_repair(&qp->round_trip);
	ready_list_add(qp);
}

static bool is_sending(const struct qp *qp)
{
	return (qp->state == RNIC_QP_STATE_RTS || qp->state == RNIC_QP_STATE_SQD) &&
	       qp->retry.running != RETRY_TIMER_RNR &&
	       !rnic_psn_equal(qp->requester.psn, qp->requester.unacknowledged);
}

bool repair_take_report(struct qp *qp, const struct rnic_packet *packet)
{
	struct repair *repair = &qp->requester.repair;
	struct holes told;

	if (!holes_decode(packet, &told) || !is_sending(qp))
		return false;
	if (qp->retry.is_silent)
		return !qp->requester.has_gone_back;
	if (!repair->is_told) {
		/* The repair that began with a NAK is one of the holes. */
		repair->told_end =
			repair->is_under_way ? repair->end : qp->requester.unacknowledged;
		repair->checked_end = repair->told_end;
		repair->again_end = repair->told_end;
		repair->checked_ns = qp->engine->now_ns;
	}
	repair->is_told = true;
	repair->is_under_way = false;
	repair->peer = REPAIR_PEER_KEEPS;
	repair_holes(qp, &told);
	return false;
}

/* The NAK names the first hole. */
static bool repair_first_hole(struct qp *qp)
{
	const struct rnic_psn start = qp->requester.unacknowledged;
	struct holes told = {.count = 1, .holes = {{start, rnic_psn_add(start, 1)}}};

	qp->requester.has_gone_back = true;
	repair_holes(qp, &told);
	return true;
}

/* --- holes that acknowledgements show ----------------------------------------------------------
 */

bool repair_begin(struct qp *qp)
{
	struct repair *repair = &qp->requester.repair;

	if (repair->is_told)
		return may_repair(qp) && repair_first_hole(qp);
	if (is_reached(qp))
		return repair_next(qp);
	if (!may_repair(qp))
		return false;
	if (qp->peer_kind == RNIC_PEER_KIND_RNICD)
		repair->owes |= REPAIR_OWES_OFFER;
	if (repair->is_under_way && repair_is_due(qp))
		repair->next = qp->requester.unacknowledged;
	else
		repair_start(qp, 0);
	return true;
}

void repair_acknowledged(struct engine *engine, struct qp *qp)
{
	struct requester *requester = &qp->requester;
	struct repair *repair = &requester->repair;

	if (packets_beyond(qp) < 0)
		return;
	/* What was sent before the repair has arrived before the repair, or is missing. */
	if (!is_reached(qp) ||
	    rnic_psn_distance(requester->unacknowledged, repair->sent_end) >= 0) {
		if (is_reached(qp) && packets_beyond(qp) > 0)
			repair->peer = REPAIR_PEER_KEEPS;
		repair->next = repair->end;
		repair->is_under_way = false;
		return;
	}
	if (repair_next(qp) || repair->peer != REPAIR_PEER_DROPS)
		return;
	peer_window_reduce(engine, qp->peer_window);
	send_position_rewind(engine, qp);
	requester->has_gone_back = true;
	repair->follows_nak = true;
}

void repair_answered(struct qp *qp)
{
	if (packets_beyond(qp) >= 0)
		send_position_end_repair(qp);
}

void repair_skip_acknowledged(struct qp *qp)
{
	struct requester *requester = &qp->requester;

	while (packets_beyond(qp) >= 0 && requester->repair.due.count > 0)
		load_hole(&requester->repair);
	if (packets_beyond(qp) >= 0)
		requester->repair.next = requester->repair.end;
	else if (rnic_psn_distance(requester->repair.next, requester->unacknowledged) < 0)
		requester->repair.next = requester->unacknowledged;
}

bool repair_sent(struct engine *engine, struct qp *qp)
{
	struct repair *repair = &qp->requester.repair;

	repair->sent_ns = engine->now_ns;
	if (rnic_psn_equal(repair->next, qp->requester.unacknowledged))
		retry_timer_repair_sent(engine, qp);
	repair->next = rnic_psn_add(repair->next, 1);
	if (repair_is_due(qp))
		return false;
	if (repair->due.count > 0)
		load_hole(repair);
	return true;
}
