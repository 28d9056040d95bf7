/* SPDX-License-Identifier: MIT */
/*
 * The UDP source port of the packets of a QP's peer, where peer_ports.h says what is taken. UD
 * has no one peer, and takes packets from any port.
 *
 * A packet that anybody could have forged does not pin the port: the first one does whose PSN is in
 * place. The port stays until the QP gets another path, or goes to RTR again.
 */
#ifndef LIB_NIC_ENGINE_PEER_PORT_H
#define LIB_NIC_ENGINE_PEER_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct qp;
struct rnic_packet;

/*
 * Whether the packet may be one of the QP's peer, as far as its port tells. Hardware sends
 * congestion notifications from port 0 or any other, whatever port its other packets have.
 */
bool peer_port_admits(const struct qp *qp, const struct rnic_packet *packet);

/* Whether a notification from `port` counts as the peer's own word: see congestion.h. */
bool peer_port_proves(const struct qp *qp, uint16_t port);

/* Pins the port of a packet that passed all checks, if the packet is the first one in place. */
void peer_port_learn(struct qp *qp, const struct rnic_packet *packet);

/* The next packet may come from another port. */
void peer_port_forget(struct qp *qp);

/* Writes a sentence about the packet that VERDICT_BAD_PORT dropped last. */
void peer_port_text(const struct qp *qp, char *text, uint32_t text_bytes);

#endif
