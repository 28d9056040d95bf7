/* SPDX-License-Identifier: MIT */
/*
 * What a requester sends again, and when the requester gives up: the timer's expiry
 * (retry_timer.h), NAKs. NAKs and the ACK timeout take the send position back (go-back-N); a tail
 * probe sends two packets again from where they are.
 */
#ifndef LIB_NIC_ENGINE_REQUESTER_RETRY_H
#define LIB_NIC_ENGINE_REQUESTER_RETRY_H

#include <stdint.h>

struct engine;
struct qp;

/* An RNR NAK with timer code `code` came for the oldest unacknowledged packet. */
void retry_rnr(struct engine *engine, struct qp *qp, uint8_t code);

/* A sequence NAK came, or a response is missing: goes back at the cost of one retry. */
void retry_sequence_error(struct engine *engine, struct qp *qp);

/* The timer of `qp` expired. */
void retry_expired(struct engine *engine, struct qp *qp);

#endif
