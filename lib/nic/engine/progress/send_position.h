/* SPDX-License-Identifier: MIT */
/*
 * The send position of a QP and the acknowledged end behind it: arithmetic over the packets of
 * WQEs, and how both ends move.
 *
 *     unacknowledged <= psn <= highest      (PSN order; at most LIMIT_QP_WINDOW_PACKETS apart)
 */
#ifndef LIB_NIC_ENGINE_PROGRESS_SEND_POSITION_H
#define LIB_NIC_ENGINE_PROGRESS_SEND_POSITION_H

#include "lib/nic/engine/qp_state.h"

/*
 * The first `packets` unacknowledged packets, all of the oldest WQE, are acknowledged or answered:
 * gives their share back to the peer window, and moves the send position when it lies behind them
 * (after a rewind).
 */
void send_position_advance(struct engine *engine, struct qp *qp, uint32_t packets);

/* Takes the send position back to the oldest unacknowledged packet: all packets from there go out
 * again. Stops the timer. */
void send_position_rewind(struct engine *engine, struct qp *qp);

/* The WQE of packet `psn`; send_queue.next where the packet is not under way. */
uint32_t send_position_wqe_index_of(const struct qp *qp, struct rnic_psn psn);

/* Nothing is sent again beside the send position any more. */
static inline void send_position_end_repair(struct qp *qp)
{
	struct repair *repair = &qp->requester.repair;

	repair->next = repair->end;
	repair->due.count = 0;
	repair->is_under_way = false;
	repair->follows_nak = false;
}

/* Its unacknowledged packets count no more towards the path's window. */
void send_position_release_share(struct qp *qp);

/* Starts at `psn` with an empty queue; entering RTS. */
void send_position_start(struct qp *qp, struct rnic_psn psn);

/* `qp` has nothing to send now: the QP waits no more for room in the peer window, or for its turn
 * in the pace. */
void send_position_cancel_window_wait(struct engine *engine, struct qp *qp);

/* Gives back the QP's share of the peer window and its turn there; QP to RESET or ERR. */
void send_position_reset(struct engine *engine, struct qp *qp);

/* --- arithmetic over a WQE's packets ------------------------------------------------------ */

/* Where in the message packet `index` begins; the end of the message for indices behind it. */
static inline uint32_t send_position_packet_offset(const struct qp *qp, const struct send_wqe *wqe,
						   uint32_t index)
{
	uint64_t offset = (uint64_t)index * qp->path_mtu_bytes;

	return offset < wqe->length ? (uint32_t)offset : wqe->length;
}

static inline bool send_position_is_read(const struct send_wqe *wqe)
{
	return wqe_operation(wqe)->request == RNIC_OPERATION_READ_REQUEST;
}

/* READ responses up to the end of the request that packet `packet_index` of `wqe` belongs to. */
static inline uint32_t send_position_read_packets(const struct send_wqe *wqe, uint32_t packet_index)
{
	uint32_t in_chunk = wqe->read_packets - packet_index % wqe->read_packets;
	uint32_t in_wqe = wqe->packets - packet_index;

	return in_chunk < in_wqe ? in_chunk : in_wqe;
}

/* What packets [first, end) of `wqe` count towards the peer window. */
static inline uint32_t send_position_cost_bytes(const struct qp *qp, const struct send_wqe *wqe,
						uint32_t first, uint32_t end)
{
	return (end - first) * LIMIT_PACKET_OVERHEAD_BYTES +
	       send_position_packet_offset(qp, wqe, end) -
	       send_position_packet_offset(qp, wqe, first);
}

/* READ requests or atomics that packets [first, end) of `wqe` are answers to. */
static inline uint32_t send_position_count_reads(const struct send_wqe *wqe, uint32_t first,
						 uint32_t end)
{
	if (first == end || !wqe_operation(wqe)->has_response)
		return 0;
	if (!send_position_is_read(wqe))
		return 1;
	return (end - 1) / wqe->read_packets - first / wqe->read_packets + 1;
}

#endif
