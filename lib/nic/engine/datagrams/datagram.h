/* SPDX-License-Identifier: MIT */
/*
 * What datagrams (UD) have of their own: each carries its address and Q_Key, fits one packet, and
 * is received with the header it came in (IBTA 1.4, 9.8.3; A17.4.5). The requester sends, and the
 * responder takes receive WQEs; this file holds what differs.
 */
#ifndef LIB_NIC_ENGINE_DATAGRAMS_DATAGRAM_H
#define LIB_NIC_ENGINE_DATAGRAMS_DATAGRAM_H

#include "proto/wire/packet.h"

#include <stdint.h>

struct engine;
struct qp;

/*
 * A datagram for `qp` whose Q_Key is right. Takes a receive WQE, and puts 40 bytes of header and
 * the payload there; a datagram that finds no WQE, or a WQE too short, is dropped.
 */
void datagram_receive(struct engine *engine, struct qp *qp, const struct rnic_packet *packet);

#endif
