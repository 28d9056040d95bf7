/* SPDX-License-Identifier: MIT */
/*
 * The completer: responses become progress and completions (IBTA 1.4, 9.7.5.1.2, 9.7.5.2).
 * Acknowledgements are cumulative: an acknowledgement of a PSN stands for all packets before it,
 * except for requests with a response of their own (READ, atomic, FLUSH, ATOMIC WRITE): that
 * response must arrive.
 */
#ifndef LIB_NIC_ENGINE_REQUESTER_COMPLETER_H
#define LIB_NIC_ENGINE_REQUESTER_COMPLETER_H

#include "lib/nic/engine/verdict.h"
#include "proto/wire/packet.h"

struct engine;
struct qp;

/* One response packet (ACK, NAK, READ response, atomic ACK) for `qp`. */
void completer_receive(struct engine *engine, struct qp *qp, const struct rnic_packet *packet);

/*
 * Takes a slice of the responses that `qp` keeps (response_gap.h) and that follow now. The rest
 * follows with engine_tick().
 */
void completer_drain(struct qp *qp);

/*
 * UC and UD: the payload of all packets built so far was read. Those packets are done, since nobody
 * will acknowledge them.
 */
void completer_packets_read(struct engine *engine, struct qp *qp);

/* The same for the packets before `end`. False when the QP stopped over them. */
bool completer_packets_read_before(struct engine *engine, struct qp *qp, struct rnic_psn end);

#endif
