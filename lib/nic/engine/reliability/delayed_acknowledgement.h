/* SPDX-License-Identifier: MIT */
/*
 * An ACK that waits for a request of its own queue pair, to leave behind the request in one send.
 *
 * In a ping-pong the program answers each message with one of its own. Sent by itself, the ACK of
 * the message costs each side a packet, and the program waits until the packet has left. So where
 * a request has followed an ACK soon LIMIT_ACK_REPLIES times in a row, the next ACK waits, for
 * LIMIT_ACK_WAIT_NS at most. When no request comes in that time, ACKs leave at once again until
 * the ping-pong has been seen anew, for twice as long as before: two programs that each wait for
 * the other's ACK before they send look like one.
 *
 * NAKs, READ responses and atomic acknowledgements never wait, nor do ACKs of a device to itself.
 * The peer may ask for an acknowledgement, but sets no time for the answer but its timeout
 * (IBTA 1.4, 9.7.5.1.2). Where a peer's timeout is shorter than a wait, the request that it sends
 * again ends the wait.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_DELAYED_ACKNOWLEDGEMENT_H
#define LIB_NIC_ENGINE_RELIABILITY_DELAYED_ACKNOWLEDGEMENT_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct qp;

/* Lets the ACK that `qp` owes wait, or wait on. False: the ACK or NAK is to leave now. */
bool delayed_acknowledgement_try_wait(struct qp *qp);

/* A request of `qp` leaves: an ACK that waits is to leave behind it. */
void delayed_acknowledgement_request_sent(struct qp *qp);

/* `qp` has no further request to send now. Returns whether the ACK is to leave behind the last. */
bool delayed_acknowledgement_follows(struct qp *qp);

/* An ACK or NAK of `qp` leaves. */
void delayed_acknowledgement_sent(struct qp *qp);

/* The peer has sent a request again: it misses its ACK, which leaves at once if it waits. */
void delayed_acknowledgement_was_missed(struct qp *qp);

/* Forgets the wait, and that there was a ping-pong. */
void delayed_acknowledgement_forget(struct qp *qp);

/* When the first wait ends; UINT64_MAX: no ACK waits. */
uint64_t delayed_acknowledgement_next_ns(const struct engine *engine);

/* The ACKs whose wait is over at engine->now_ns leave with the next engine_transmit(). */
void delayed_acknowledgement_expire(struct engine *engine);

/* So do all that wait. `none_came`: as if no request had come in time. */
void delayed_acknowledgement_end_waits(struct engine *engine, bool none_came);

#endif
