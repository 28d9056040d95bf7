/* SPDX-License-Identifier: MIT */
/*
 * When to send again. A requester has one timer. With RC it is one of the first four, with UC and
 * UD, which send nothing twice, the last:
 *
 * Local ACK timeout (IBTA 1.4, 9.7.6.1): runs while anything is unacknowledged, from the last
 * progress or the last transmission of the oldest packet. When it expires, everything
 * unacknowledged goes out again; each expiry without progress uses up one retry. The encoded
 * timeout is a least value, and counts the answer delay of the peer: ours is that value, but not
 * less than the delay a device like this one announces (LIMIT_LOCAL_ACK_DELAY), doubled for each
 * expiry in a row up to eight times. Code 0 means no timeout; then, and whenever the timeout is
 * longer, the share of the path's window is given back after LIMIT_SHARE_NS without progress. From
 * then on, and after any expiry, the peer counts as silent until there is progress: only probes go
 * to it, packets that ask for an acknowledgement and neither take part of the window nor wait for
 * it, LIMIT_SILENT_PEER_BYTES each time, and its silence says nothing more of the path. So the QPs
 * of a program that has ended hold up no others to the same host, nor each other.
 *
 * Line: runs while nothing is under way because others have the path's window, as long as the ACK
 * timeout or LIMIT_SHARE_NS; one probe may go then. So whoever waits behind such QPs hears of its
 * peer, or finds it silent too.
 *
 * RNR timer (IBTA 1.4, 9.7.5.2.8): runs after an RNR NAK for the time that the NAK carries; nothing
 * is sent before. Uses up RNR retries, of which 7 means without end, and gives the other retries
 * back, since the peer is there. Progress gives all retries back.
 *
 * Credits: runs while nothing is under way and the next message needs a credit that the peer has
 * not given, for LIMIT_CREDIT_PROBE_NS; a probe is sent then (credits.h).
 *
 * Pace: runs until unacknowledged traffic may go on (pace.h).
 */
#ifndef NIC_ENGINE_RELIABILITY_RETRY_H
#define NIC_ENGINE_RELIABILITY_RETRY_H

#include "base/timer_heap.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct qp;

struct retry {
	struct timer timer; /* in engine->timers */
	uint8_t retries_left;
	uint8_t rnr_retries_left;
	uint8_t timeouts_in_a_row;
	bool is_rnr_wait;	/* the timer is the RNR timer */
	bool is_probe_wait;	/* it is the wait for credits */
	bool is_line_wait;	/* it is the wait in the path's line */
	bool may_probe;		/* that was long enough: the next packet is a probe */
	bool is_silent;		/* no progress since a timeout, or since the share was given back */
	uint32_t probe_bytes;	/* that may go to a silent peer beside those under way */
	uint64_t timeout_at_ns; /* end of the ACK timeout; UINT64_MAX: never */
};

void retry_init(struct qp *qp);

/* All retries again; called on entering RTS and on progress. */
void retry_progress(struct engine *engine, struct qp *qp);

/* A packet was sent: the ACK timer starts unless it runs. */
void retry_packet_sent(struct engine *engine, struct qp *qp);

/* It is a probe, of `bytes` as they count towards a window. */
void retry_probe_sent(struct qp *qp, uint32_t bytes);

/* An RNR NAK with timer code `code` came for the oldest unacknowledged packet. */
void retry_rnr(struct engine *engine, struct qp *qp, uint8_t code);

/* A sequence NAK came, or a response was found missing: go back at the cost of one retry. */
void retry_sequence_error(struct engine *engine, struct qp *qp);

/* UC and UD, which have neither timeout: sends on at `ready_ns` (pace.h). */
void retry_pace(struct engine *engine, struct qp *qp, uint64_t ready_ns);

/* Nothing is under way, and there is no credit: allows a probe after a while. */
void retry_probe(struct engine *engine, struct qp *qp);

/* Nothing is under way, and the path's window is in use: allows a probe after a while. */
void retry_wait_in_line(struct engine *engine, struct qp *qp);

/* It waits there no more. */
void retry_cancel_window_wait(struct engine *engine, struct qp *qp);

/* The timer of `qp` expired. */
void retry_expired(struct engine *engine, struct qp *qp);

void retry_stop(struct engine *engine, struct qp *qp);

#endif
