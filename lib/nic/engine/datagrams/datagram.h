/* SPDX-License-Identifier: MIT */
/*
 * What datagrams (UD) have of their own: each carries its address and Q_Key, fits one packet, and
 * is received with the header it came in (IBTA 1.4, 9.8.3; A17.4.5). Sending is the requester's
 * business and receive entries are the responder's; this is what differs.
 */
#ifndef NIC_ENGINE_DATAGRAMS_DATAGRAM_H
#define NIC_ENGINE_DATAGRAMS_DATAGRAM_H

#include "wire/packet.h"

#include <stdint.h>

struct engine;
struct qp;

/*
 * Fills in where the datagram of send entry `index` goes, and from whom: addresses, QP numbers and
 * Q_Key. One with the highest bit set stands for the QP's own (IBTA 1.4, 10.2.5).
 */
void datagram_address(const struct qp *qp, uint32_t index, struct rnic_packet *packet);

/*
 * A datagram for `qp` whose Q_Key is right. Takes a receive entry, puts 40 bytes of header and the
 * payload there; one that finds no entry, or one too short, is dropped.
 */
void datagram_receive(struct engine *engine, struct qp *qp, const struct rnic_packet *packet);

#endif
