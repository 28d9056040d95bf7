/* SPDX-License-Identifier: MIT */
/*
 * End-to-end credits (IBTA 1.4, 9.7.7.2): the responder of an RC QP with a receive queue of its own
 * says in its acknowledgements how many receive WQEs are posted, and the requester starts no more
 * messages that need one. This backpressure makes a sender that is faster than its receiver wait,
 * instead of running into RNR NAKs.
 *
 * Requester: it counts the messages that take a receive WQE. `limit` is how many of them may be
 * started, by the latest acknowledgement: those acknowledged and the credits. It only grows. Peers
 * that carry no credits (code 31) set no limit, and neither do those that have acknowledged nothing
 * yet, until they send an RNR NAK, which carries none and stands for acknowledgements. Without a
 * credit one message may be started all the same, of which the first packet goes out alone as a
 * probe; that is done when no acknowledgement is under way that could bring credits, and after
 * LIMIT_CREDIT_PROBE_NS, within which the peer is expected to tell of new entries unasked.
 *
 * Some peers say "no credits" in each acknowledgement, whatever is posted: ConnectX did in captures
 * of WRITEs. A peer that has taken LIMIT_CREDIT_PROBES_PASSED probes in a row, and told of no
 * credit meanwhile, sets no limit by that code, until it tells of credits or sends an RNR NAK.
 *
 * Responder: a peer that was told of no credits is told when there are some, unasked, by the last
 * ACK once more, unless the last request is a READ or atomic, which an ACK cannot answer.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_CREDITS_H
#define LIB_NIC_ENGINE_RELIABILITY_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct qp;
struct send_wqe;

/* Whether packet `index` of the started WQE `work` goes out beyond the limit, as a probe. */
bool credits_is_probe(const struct qp *qp, const struct send_wqe *wqe, uint32_t index);

/* Whether credits let the packet go now. When not, the QP is made ready once they may. */
bool credits_try_start(struct engine *engine, struct qp *qp, const struct send_wqe *wqe,
		       uint32_t index);

/* The packet leaves. */
void credits_sent(struct qp *qp, const struct send_wqe *wqe, uint32_t index);

/*
 * Packets of the oldest WQE up to `end` are acknowledged, of which `sent` lie before the send
 * position.
 */
void credits_acknowledged(struct qp *qp, const struct send_wqe *wqe, uint32_t end, uint32_t sent);

/* The send position went back to the oldest unacknowledged packet. */
void credits_rewound(struct qp *qp);

/* The response to the packets up to the oldest unacknowledged packet carried `syndrome`. */
void credits_learn(struct engine *engine, struct qp *qp, uint8_t syndrome);

/* The same by the number itself, of a peer that is known to send credits. */
void credits_learn_number(struct qp *qp, uint32_t entries);

/* An RNR NAK came for the oldest unacknowledged packet: one message goes out again, as a probe. */
void credits_refused(struct qp *qp);

/* The responder's: the syndrome of an acknowledgement that leaves now. */
uint8_t credits_syndrome(struct engine *engine, struct qp *qp);

/*
 * The client's ring holds receive WQEs of `qp`, which the sink's watch() asked for: tells the peer.
 * True when no peer waits for WQEs any more.
 */
bool credits_posted(struct engine *engine, struct qp *qp);

#endif
