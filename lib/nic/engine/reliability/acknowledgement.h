/* SPDX-License-Identifier: MIT */
/* The one acknowledgement, ACK or NAK, that a responder owes its peer. */
#ifndef NIC_ENGINE_RELIABILITY_ACKNOWLEDGEMENT_H
#define NIC_ENGINE_RELIABILITY_ACKNOWLEDGEMENT_H

#include "wire/psn.h"
#include "wire/syndrome.h"

#include <stdbool.h>
#include <stdint.h>

struct qp;
struct responder;

/* Of an ACK that is owed; credits_syndrome() gives it its credits when it leaves. */
#define ACKNOWLEDGEMENT_SYNDROME rnic_syndrome_make(RNIC_SYNDROME_ACK, RNIC_CREDITS_NOT_CARRIED)

/* Owes the peer `syndrome` for `psn`, in place of what was owed. */
void acknowledgement_owe(struct qp *qp, uint8_t syndrome, struct rnic_psn psn);

/* Whether a NAK of any kind is owed. */
bool acknowledgement_owes_nak(const struct responder *responder);

/*
 * Owes the peer an ACK of all up to `psn`. A NAK stands for an acknowledgement of all before it, so
 * one that is owed already is enough; and so is an ACK of more.
 */
void acknowledgement_queue(struct qp *qp, struct rnic_psn psn);

#endif
