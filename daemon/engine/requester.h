/* SPDX-License-Identifier: MIT */
/*
 * The requester: work entries become request packets (IBTA 1.4, 9.7.2 to 9.7.5). It owns the send
 * position; the completer moves the acknowledged end, retry.h takes the position back.
 *
 *     unacknowledged <= position.psn <= highest      (PSN order; at most half of the PSN space)
 */
#ifndef DAEMON_ENGINE_REQUESTER_H
#define DAEMON_ENGINE_REQUESTER_H

#include "engine/verdict.h"
#include "wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct packet_builder;
struct qp;

struct requester {
	struct rnic_psn psn;		/* of the next packet to build */
	struct rnic_psn highest;	/* one past the highest PSN ever built */
	struct rnic_psn unacknowledged; /* the oldest PSN that is not acknowledged */
	uint32_t work_index;		/* the entry being sent: send_queue.next, or less after a rewind */
	uint32_t offset_bytes;		/* of that entry, already built */
	uint32_t reads_outstanding;	/* READ requests and atomics sent and not answered */
	uint32_t in_flight_bytes;	/* reserved with the path */
	uint32_t packets_since_ack_request;
	uint32_t credits;		/* receive entries the responder has announced */
	bool is_waiting_for_path;	/* in path->waiting */
	bool has_failed_payload;
};

/* Builds the next request packet of `qp` into `out`; false when there is none to send now. */
bool requester_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out);

/* Back to the oldest unacknowledged packet: all after it goes out again. */
void requester_rewind(struct engine *engine, struct qp *qp);

/* Releases what is reserved with the path and forgets the send position; QP to RESET or ERR. */
void requester_reset(struct engine *engine, struct qp *qp);

/* The entry at the head cannot be carried out: completes it with the verdict's status; QP to ERR. */
void requester_fail(struct engine *engine, struct qp *qp, enum verdict verdict);

#endif
