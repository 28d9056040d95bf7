/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/peer_port.h"

#include "lib/nic/engine/qp_state.h"
#include "proto/wire/peer_kind.h"

#include <stdio.h>

/* Whether packets from `port` may be the peer's. */
static bool is_port_right(const struct qp *qp, uint16_t port)
{
	return rnic_peer_ports_admit(qp->engine->config.peer_ports, qp->peer_port, port,
				     qp->attributes.dest_qpn, qp->qpn);
}

bool peer_port_admits(const struct qp *qp, const struct rnic_packet *packet)
{
	if (packet->row->service == RNIC_SERVICE_CNP &&
	    qp->engine->config.peer_ports != RNIC_PEER_PORTS_RNICD)
		return true;
	return is_port_right(qp, packet->addresses.source_port);
}

bool peer_port_proves(const struct qp *qp, uint16_t port)
{
	const bool is_pinned = qp->engine->config.peer_ports == RNIC_PEER_PORTS_PINNED;

	return is_port_right(qp, port) && (!is_pinned || qp->peer_port != 0);
}

/* Whether the packet's PSN is the one that is expected, or that of a request under way. */
static bool is_in_place(const struct qp *qp, const struct rnic_packet *packet)
{
	const struct requester *requester = &qp->requester;

	if (packet->row->service == RNIC_SERVICE_MANUFACTURER)
		return false;
	if (packet->row->is_request)
		return rnic_psn_equal(packet->psn, qp->responder.expected_psn);
	return rnic_psn_distance(packet->psn, requester->unacknowledged) >= 0 &&
	       rnic_psn_distance(packet->psn, requester->highest) < 0;
}

void peer_port_learn(struct qp *qp, const struct rnic_packet *packet)
{
	if (qp->peer_port != 0 || qp->type == RNIC_QP_TYPE_UD || !is_in_place(qp, packet))
		return;
	qp->peer_port = packet->addresses.source_port;
	qp->peer_kind = (uint8_t)rnic_peer_kind_of(packet, qp->attributes.dest_qpn, qp->qpn);
}

void peer_port_forget(struct qp *qp)
{
	qp->peer_port = 0;
	qp->peer_kind = RNIC_PEER_KIND_UNKNOWN;
}

void peer_port_text(const struct qp *qp, char *text, uint32_t text_bytes)
{
	char wanted[32] = "the port of its rnicd";

	if (qp->engine->config.peer_ports == RNIC_PEER_PORTS_PINNED)
		snprintf(wanted, sizeof(wanted), "%u as before", qp->peer_port);
	snprintf(text, text_bytes,
		 "A packet from UDP port %u of the peer, not %s, was dropped: it is forged, or the "
		 "peer changes ports (rnicd --peer-ports any).",
		 qp->refused_port, wanted);
}
