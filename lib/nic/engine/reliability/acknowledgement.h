/* SPDX-License-Identifier: MIT */
/* The one acknowledgement, ACK or NAK, that the responder has queued for its peer. */
#ifndef LIB_NIC_ENGINE_RELIABILITY_ACKNOWLEDGEMENT_H
#define LIB_NIC_ENGINE_RELIABILITY_ACKNOWLEDGEMENT_H

#include "proto/wire/psn.h"
#include "proto/wire/syndrome.h"

#include <stdbool.h>
#include <stdint.h>

struct qp;
struct responder;

/* Of a queued ACK; credits_syndrome() fills in the credits when the ACK leaves. */
#define ACKNOWLEDGEMENT_SYNDROME rnic_syndrome_make(RNIC_SYNDROME_ACK, RNIC_CREDITS_NOT_CARRIED)

/* Queues `syndrome` for `psn`, in place of what was queued. */
void acknowledgement_owe(struct qp *qp, uint8_t syndrome, struct rnic_psn psn);

/* Whether a NAK of any kind is owed. */
bool acknowledgement_owes_nak(const struct responder *responder);

/*
 * Queues an ACK of all packets up to `psn`. A NAK acknowledges all packets before its own, so a
 * queued NAK is enough; and so is a queued ACK of more.
 */
void acknowledgement_queue(struct qp *qp, struct rnic_psn psn);

/*
 * Queues the ACK of the last packet once more. Not behind a NAK, after which the peer asks again by
 * itself, nor in ERR. No ACK may have the PSN of a READ or atomic, whose answer may be lost: Linux
 * rxe takes the operation for done.
 */
void acknowledgement_queue_last(struct qp *qp);

/*
 * The request of `psn` is not answered at all: queues an ACK of the requests before it, which had
 * `msn` messages, in place of what was queued. No ACK may have the PSN of a READ or atomic, whose
 * answer does the same: Linux rxe takes the operation for done.
 */
void acknowledgement_end_before(struct qp *qp, struct rnic_psn psn, uint32_t msn);

#endif
