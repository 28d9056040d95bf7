/* SPDX-License-Identifier: MIT */
/*
 * What the responder sends: READ responses packet by packet, atomic acknowledgements, ACKs and
 * NAKs; and what a duplicate request makes it send again.
 *
 * Invariant: answers leave in the order of their requests' PSNs, and none before the placement of
 * the bytes that it acknowledges.
 */
#ifndef LIB_NIC_ENGINE_RESPONDER_RESPONDER_ANSWER_H
#define LIB_NIC_ENGINE_RESPONDER_RESPONDER_ANSWER_H

#include <stdbool.h>

struct engine;
struct packet_builder;
struct qp;
struct rnic_packet;

/* Builds the next answer of `qp` (READ response, atomic ACK, ACK, NAK); false when none is owed. */
bool responder_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out);

/*
 * Whether `qp` owes an acknowledgement, and answers that are to leave before it: the peer needs all
 * of these to know that the acknowledged messages have arrived.
 */
bool responder_owes_answers(struct qp *qp);

/*
 * `qp` forgets its peer: the acknowledgement that it owes leaves without it. Answers that are to
 * leave before do not, and the acknowledgement ends where they begin.
 */
void responder_part(struct engine *engine, struct qp *qp);

/* A request packet that was executed before is answered once more (IBTA 1.4, 9.7.5.1). */
void responder_repeat(struct qp *qp, const struct rnic_packet *packet);

#endif
