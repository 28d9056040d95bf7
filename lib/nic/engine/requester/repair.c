/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/requester/repair.h"

#include "lib/nic/base/probe.h"
#include "lib/nic/engine/progress/send_position.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/reliability/retry_timer.h"
#include "lib/nic/engine/reliability/round_trip.h"

/*
 * Packets of a repair. The next step is taken where the hole is longer, or where the next hole
 * begins so near that the longer repair would have closed it, too: a queue that overflows leaves
 * many holes, which would take a round trip each.
 */
static const uint16_t lengths[] = {1, 16, 256, 4096};

/* From there on holes are no single packets that were lost: a queue has overflowed. */
#define OVERFLOW_STEP 2

/* The first packet from the oldest on that the peer does not keep, at most `end`. */
static struct rnic_psn kept_end(const struct qp *qp, struct rnic_psn end)
{
	for (uint32_t i = qp->send_queue.retired; i != qp->send_queue.next; i++) {
		const struct send_wqe *wqe = send_queue_at(&qp->send_queue, i);

		if (rnic_psn_distance(wqe->psn, end) >= 0)
			break;
		if (wqe_operation(wqe)->has_response)
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
	requester->repair.end = kept_end(qp, end);
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

bool repair_begin(struct engine *engine, struct qp *qp)
{
	struct repair *repair = &qp->requester.repair;

	(void)engine;
	if (is_reached(qp))
		return repair_next(qp);
	if (!may_repair(qp))
		return false;
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
	if (qp->requester.repair.is_under_way && packets_beyond(qp) >= 0)
		send_position_end_repair(qp);
}

void repair_skip_acknowledged(struct qp *qp)
{
	struct requester *requester = &qp->requester;

	if (packets_beyond(qp) >= 0)
		requester->repair.next = requester->repair.end;
	else if (rnic_psn_distance(requester->repair.next, requester->unacknowledged) < 0)
		requester->repair.next = requester->unacknowledged;
}

void repair_sent(struct engine *engine, struct qp *qp)
{
	struct repair *repair = &qp->requester.repair;

	repair->next = rnic_psn_add(repair->next, 1);
	retry_timer_repair_sent(engine, qp);
}
