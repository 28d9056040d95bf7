/* SPDX-License-Identifier: MIT */
/*
 * Linux rxe cannot bear an ACK of packets that rxe is about to send again
 * (findings/rxe-answer-amid-resend.sh). The responder withholds such an ACK.
 *
 * The packets are executed, and a NAK has left that makes rxe send them again. The first duplicate
 * shows that rxe has gone back; from then on rxe gets its ACKs as the packets come again. When no
 * duplicate comes within LIMIT_ACK_WITHHELD_NS, the NAK was lost or rxe has ignored it, and the ACK
 * leaves.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_WITHHELD_ACKNOWLEDGEMENT_H
#define LIB_NIC_ENGINE_RELIABILITY_WITHHELD_ACKNOWLEDGEMENT_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct qp;

/* Withholds the ACK of all that `qp` has executed, and of what it executes from now on. */
void withheld_acknowledgement_begin(struct qp *qp);
bool withheld_acknowledgement_is_on(const struct qp *qp);

/* The peer needs it no more, or may not have it. */
void withheld_acknowledgement_drop(struct qp *qp);

/* The queue pair ends: owes the ACK that was withheld, if there is one. */
void withheld_acknowledgement_tell(struct qp *qp);

/* When the first wait ends; UINT64_MAX: no ACK is withheld. */
uint64_t withheld_acknowledgement_next_ns(const struct engine *engine);

/* Ends the waits that are over. */
void withheld_acknowledgement_expire(struct engine *engine);

/* Ends all waits: the device ends. */
void withheld_acknowledgement_tell_all(struct engine *engine);

#endif
