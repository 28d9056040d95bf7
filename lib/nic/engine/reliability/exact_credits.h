/* SPDX-License-Identifier: MIT */
/*
 * Exact credits: an ACK carries a code that rounds the number of receive WQEs down, by up to a
 * third (IBTA 1.4, table 46). Where a round trip uses all of them, the path then carries that much
 * less. So two devices like this one tell each other the number itself, in packets of the opcode
 * of holes.h, whose payload begins with another kind:
 *
 *     question  requester to responder, when credits hold messages back on a long path, to a peer
 *               whose packets look like those of this device; each LIMIT_CREDITS_ASK_NS until an
 *               answer came
 *     answer    responder to requester, after a question, behind each ACK whose code is rounded, at
 *               most one each LIMIT_HOLES_NS: the receive WQEs posted when all packets up to the
 *               PSN were executed
 *
 * Payload: kind (2 question, 3 answer), 0, and in an answer 3 bytes of the number, in network
 * order. An answer acknowledges nothing. One that is lost leaves the code of the ACK. A forged one
 * lets messages go that find no receive, as a forged ACK does: the peer sends an RNR NAK.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_EXACT_CREDITS_H
#define LIB_NIC_ENGINE_RELIABILITY_EXACT_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

struct packet_builder;
struct qp;
struct rnic_packet;

/* Credits hold the requester back: a question is owed, where the peer may answer one. */
void exact_credits_ask(struct qp *qp);

void exact_credits_build_question(struct qp *qp, struct packet_builder *out);

/* An ACK leaves whose code stands for less than `entries`: the number is owed, when asked for. */
void exact_credits_owe(struct qp *qp, uint32_t entries);

void exact_credits_build_answer(struct qp *qp, struct packet_builder *out);

void exact_credits_take_question(struct qp *qp);

/* Reads an answer. False: it is too short, or says nothing of what is under way. */
bool exact_credits_read(struct qp *qp, const struct rnic_packet *packet, uint32_t *entries);

#endif
