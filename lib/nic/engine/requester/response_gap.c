/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/requester/response_gap.h"

#include "lib/nic/base/probe.h"
#include "lib/nic/engine/objects/kept.h"
#include "lib/nic/engine/progress/send_position.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/reliability/retry_timer.h"
#include "lib/nic/engine/reliability/round_trip.h"

/* So many missing responses of one request are no single losses: a queue has overflowed. */
#define OVERFLOW_PACKETS 4

static struct rnic_psn later(struct rnic_psn one, struct rnic_psn other)
{
	return rnic_psn_distance(one, other) > 0 ? one : other;
}

static struct rnic_psn run_end(const struct kept_packet *run)
{
	return rnic_psn_add(run->run_last->packet.psn, 1);
}

/* The first response from `psn` on that is missing. */
static struct rnic_psn first_missing(const struct qp *qp, struct rnic_psn psn)
{
	const struct kept_packet *run = qp->kept_responses.first;

	for (; run != NULL && rnic_psn_distance(run->packet.psn, psn) <= 0; run = run->run_next)
		psn = later(psn, run_end(run));
	return psn;
}

/* One past the last response before `end` that is missing. */
static struct rnic_psn last_missing(const struct qp *qp, struct rnic_psn end)
{
	const struct kept_packet *run = qp->kept_responses.first;

	for (; run != NULL && rnic_psn_distance(run->packet.psn, end) < 0; run = run->run_next)
		if (rnic_psn_distance(run_end(run), end) >= 0)
			return run->packet.psn;
	return end;
}

/* Responses in [start, end) that are missing; no run reaches beyond these bounds. */
static int32_t count_missing(const struct qp *qp, struct rnic_psn start, struct rnic_psn end)
{
	int32_t missing = rnic_psn_distance(end, start);
	const struct kept_packet *run = qp->kept_responses.first;

	for (; run != NULL && rnic_psn_distance(run->packet.psn, end) < 0; run = run->run_next)
		if (rnic_psn_distance(run->packet.psn, start) > 0)
			missing -= rnic_psn_distance(run_end(run), run->packet.psn);
	return missing;
}

/* One past the last response to the request that `psn` is an answer to. */
static struct rnic_psn request_end(const struct send_wqe *wqe, struct rnic_psn psn)
{
	const uint32_t index = wqe_packet_index(wqe, psn);
	uint32_t packets = wqe->packets - index;

	if (send_position_is_read(wqe))
		packets = send_position_read_packets(wqe, index);
	return rnic_psn_add(psn, (int32_t)packets);
}

static void ask(struct qp *qp, struct rnic_psn start, struct rnic_psn end)
{
	struct requester *requester = &qp->requester;

	requester->response_gap.next = start;
	requester->response_gap.end = end;
	requester->repair.owes |= REPAIR_OWES_RESPONSES;
	requester->has_gone_back = true;
	if (count_missing(qp, start, end) >= OVERFLOW_PACKETS)
		peer_window_reduce(qp->engine, qp->peer_window);
	peer_window_recover(qp->peer_window);
	round_trip_wait_for_repair(&qp->round_trip);
	ready_list_add(qp);
	RNIC_PROBE3(repair, qp->qpn, start.value, end.value);
}

/*
 * Looks for the next request of whose answer something is missing, and the end has come. Requests
 * without responses, of which nothing is kept, are done by the responses behind them.
 */
static void judge(struct qp *qp)
{
	struct response_gap *gap = &qp->requester.response_gap;
	const struct rnic_psn seen_end = run_end(qp->kept_responses.last_run);
	struct rnic_psn start = later(gap->judged_end, qp->requester.unacknowledged);

	for (;;) {
		const struct send_wqe *wqe;
		struct rnic_psn end;
		uint32_t index;

		start = first_missing(qp, start);
		index = send_position_wqe_index_of(qp, start);
		if (rnic_psn_distance(start, qp->requester.psn) >= 0 ||
		    index == qp->send_queue.next)
			return;
		wqe = send_queue_at(&qp->send_queue, index);
		end = request_end(wqe, start);
		if (rnic_psn_distance(end, seen_end) > 0)
			return;
		gap->judged_end = end;
		if (wqe_operation(wqe)->has_response) {
			ask(qp, start, last_missing(qp, end));
			return;
		}
		start = end;
	}
}

bool response_gap_keep(struct qp *qp, const struct rnic_packet *packet)
{
	struct response_gap *gap = &qp->requester.response_gap;

	if (qp->kept_responses.first == NULL)
		gap->judged_end = qp->requester.unacknowledged;
	if (!kept_add(qp->engine, &qp->kept_responses, packet) || qp->retry.is_silent)
		return false;
	if (!(qp->requester.repair.owes & REPAIR_OWES_RESPONSES))
		judge(qp);
	return true;
}

bool response_gap_find_due(struct qp *qp, struct rnic_psn *start, struct rnic_psn *end)
{
	struct response_gap *gap = &qp->requester.response_gap;

	while (qp->requester.repair.owes & REPAIR_OWES_RESPONSES) {
		*start = first_missing(qp, later(gap->next, qp->requester.unacknowledged));
		*end = last_missing(qp, gap->end);
		if (rnic_psn_distance(*end, *start) > 0)
			return true;
		response_gap_asked(qp);
	}
	return false;
}

void response_gap_asked(struct qp *qp)
{
	if (rnic_psn_equal(qp->requester.response_gap.next, qp->requester.unacknowledged))
		retry_timer_repair_sent(qp->engine, qp);
	qp->requester.repair.owes &= (uint8_t)~REPAIR_OWES_RESPONSES;
	if (qp->kept_responses.first != NULL)
		judge(qp);
}
