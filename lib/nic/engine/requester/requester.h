/* SPDX-License-Identifier: MIT */
/*
 * The requester: work entries become request packets (IBTA 1.4, 9.7.2 to 9.7.5). It owns the send
 * position `psn`; the completer moves the acknowledged end, retry.h takes the position back.
 *
 *     unacknowledged <= psn <= highest      (PSN order; at most LIMIT_QP_WINDOW_PACKETS apart)
 *
 * UC and UD are not acknowledged: there `unacknowledged` is where the payload of what was built is
 * not known to be read yet (engine_packets_read()), and nothing is sent twice.
 */
#ifndef NIC_ENGINE_REQUESTER_REQUESTER_H
#define NIC_ENGINE_REQUESTER_REQUESTER_H

#include "engine/reliability/credits.h"
#include "engine/verdict.h"
#include "wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct packet_builder;
struct payload_piece;
struct qp;
struct send_wqe;

struct requester {
	struct rnic_psn psn;		/* of the next packet to build */
	struct rnic_psn highest;	/* one past the highest PSN ever built */
	struct rnic_psn unacknowledged; /* the oldest PSN that is not acknowledged */
	uint32_t wqe_index;	    /* the entry that `psn` belongs to: send_queue.next, or less */
	uint32_t reads_outstanding; /* READ requests and atomics in [unacknowledged, psn) */
	uint32_t in_flight_bytes;   /* reserved with the path for [unacknowledged, psn) */
	uint32_t packets_since_ack_request;
	bool has_unasked_end; /* a message ended without asking, and nothing behind it asked yet */
	uint32_t path_wait_bytes; /* what it waits for, while in a line of path_node */
	uint32_t failed_index; /* with has_failed_payload: the entry that cannot be carried out */
	bool has_failed_payload;
	struct credits credits;
	bool has_gone_back; /* a gap made it go back, and no progress was made since */
};

/* Builds the next request packet of `qp` into `out`; false when there is none to send now. */
bool requester_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out);

/*
 * The first `packets` unacknowledged packets, all of the oldest entry, are acknowledged or
 * answered: gives their share back to the path, and moves the send position when it lies behind
 * them (after a rewind).
 */
void requester_advance(struct engine *engine, struct qp *qp, uint32_t packets);

/* Back to the oldest unacknowledged packet: all after it goes out again. Stops the timer. */
void requester_rewind(struct engine *engine, struct qp *qp);

/* Its unacknowledged packets count no more towards the path's window. */
void requester_release_share(struct qp *qp);

/* Starts at `psn` with an empty queue; entering RTS. */
void requester_start(struct qp *qp, struct rnic_psn psn);

/* `qp` has nothing to send now: it waits no more for room on its path, or for its turn in the pace.
 */
void requester_cancel_window_wait(struct engine *engine, struct qp *qp);

/* Gives back what is reserved with the path and its turn there; QP to RESET or ERR. */
void requester_reset(struct engine *engine, struct qp *qp);

/*
 * The oldest entry cannot be carried out: completes it with the verdict's status; QP to ERR, UC and
 * UD to SQE.
 */
void requester_fail(struct engine *engine, struct qp *qp, enum verdict verdict);

/* The payload of packet `psn` could not be read: its entry fails once those before it are done. */
void requester_payload_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn);

/*
 * Response data could not be written to client memory. `is_reported`: the completion of its entry
 * tells so, else the entry is still the oldest.
 */
void requester_write_failed(struct engine *engine, struct qp *qp, bool is_reported);

/*
 * The bytes [offset, offset + length) of the message of entry `index` as pieces of its SGEs (or of
 * its inline data). `pieces` has room for LIMIT_SGES. PASS, or LOCAL_PROTECTION when an SGE's
 * region is not, or no longer, what the entry's kind needs.
 */
enum verdict requester_gather(struct engine *engine, struct qp *qp, uint32_t index, uint32_t offset,
			      uint32_t length, struct payload_piece *pieces, uint32_t *piece_count);

/* READ responses up to the end of the request that packet `packet_index` of `work` belongs to. */
uint32_t requester_read_packets(const struct qp *qp, const struct send_wqe *wqe,
				uint32_t packet_index);

/* What packets [first, end) of `work` count towards the path's window. */
uint32_t requester_cost_bytes(const struct qp *qp, const struct send_wqe *wqe, uint32_t first,
			      uint32_t end);

/* READ requests or atomics that packets [first, end) of `work` are answers to. */
uint32_t requester_count_reads(const struct qp *qp, const struct send_wqe *wqe, uint32_t first,
			       uint32_t end);

#endif
