/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/progress/send_position.h"

#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/credits.h"
#include "lib/nic/engine/reliability/pace_line.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/reliability/retry_timer.h"

#include <assert.h>

/* Packets of the oldest WQE that are sent: all of them when the position is behind it. */
static uint32_t sent_of_oldest(const struct qp *qp, const struct send_wqe *oldest)
{
	return qp->requester.wqe_index == qp->send_queue.retired
		       ? wqe_packet_index(oldest, qp->requester.psn)
		       : oldest->packets;
}

void send_position_advance(struct engine *engine, struct qp *qp, uint32_t packets)
{
	struct requester *requester = &qp->requester;
	const struct send_wqe *wqe = send_queue_at(&qp->send_queue, qp->send_queue.retired);
	uint32_t first = wqe_packet_index(wqe, requester->unacknowledged);
	uint32_t end = first + packets;
	uint32_t sent = sent_of_oldest(qp, wqe);
	uint32_t acknowledged = end < sent ? end : sent;
	uint32_t bytes = send_position_cost_bytes(qp, wqe, first, acknowledged);

	assert(qp->send_queue.retired != qp->send_queue.next && end <= wqe->packets);
	assert(engine == qp->engine);
	if (bytes > requester->in_flight_bytes)
		bytes = requester->in_flight_bytes; /* its share was released before */
	requester->in_flight_bytes -= bytes;
	if (qp->peer_window != NULL)
		peer_window_release(qp->peer_window, bytes, true);
	requester->reads_outstanding -= send_position_count_reads(wqe, first, sent) -
					send_position_count_reads(wqe, acknowledged, sent);
	requester->unacknowledged = rnic_psn_add(requester->unacknowledged, (int32_t)packets);
	requester->has_gone_back = false;
	credits_acknowledged(qp, wqe, end, sent);
	if (end > sent) {
		if (requester->repair.follows_nak)
			requester->repair.peer = REPAIR_PEER_KEEPS;
		requester->psn = requester->unacknowledged;
		requester->packets_since_ack_request = 0;
		requester->has_unasked_end = false;
		if (end == wqe->packets)
			requester->wqe_index++;
	}
}

void send_position_release_share(struct qp *qp)
{
	if (qp->peer_window != NULL)
		peer_window_release(qp->peer_window, qp->requester.in_flight_bytes, false);
	qp->requester.in_flight_bytes = 0;
}

void send_position_rewind(struct engine *engine, struct qp *qp)
{
	struct requester *requester = &qp->requester;

	retry_timer_stop(engine, qp);
	send_position_release_share(qp);
	requester->psn = requester->unacknowledged;
	requester->wqe_index = qp->send_queue.retired;
	requester->reads_outstanding = 0;
	requester->packets_since_ack_request = 0;
	requester->has_unasked_end = false;
	requester->has_gone_back = false;
	requester->has_late_nak = false;
	send_position_end_repair(qp);
	requester->repair.owes &= (uint8_t)~REPAIR_OWES_RESPONSES;
	credits_rewound(qp);
	ready_list_add(qp);
}

uint32_t send_position_wqe_index_of(const struct qp *qp, struct rnic_psn psn)
{
	uint32_t index = qp->send_queue.retired;

	for (; index != qp->send_queue.next; index++) {
		const struct send_wqe *wqe = send_queue_at(&qp->send_queue, index);

		if (wqe_packet_index(wqe, psn) < wqe->packets)
			break;
	}
	return index;
}

void send_position_start(struct qp *qp, struct rnic_psn psn)
{
	qp->requester = (struct requester){
		.psn = psn,
		.highest = psn,
		.part_end = psn,
		.unacknowledged = psn,
		.wqe_index = qp->send_queue.next,
	};
}

void send_position_cancel_window_wait(struct engine *engine, struct qp *qp)
{
	if (!qp_is_reliable(qp)) {
		pace_line_leave(engine, qp);
	} else if (qp->peer_window != NULL) {
		peer_window_leave(qp->peer_window, qp);
		retry_timer_cancel_window_wait(engine, qp);
	}
}

void send_position_reset(struct engine *engine, struct qp *qp)
{
	retry_timer_stop(engine, qp);
	send_position_release_share(qp);
	send_position_cancel_window_wait(engine, qp);
	send_position_start(qp, qp->requester.psn);
}
