/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/requester/peer_probe.h"

#include "lib/nic/engine/packet_builder.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"

#include <errno.h>

static bool peer_probe_may_leave(const struct qp *qp)
{
	return qp->state == RNIC_QP_STATE_RTS || qp->state == RNIC_QP_STATE_SQD;
}

int peer_probe_ask(struct qp *qp)
{
	if (qp->type != RNIC_QP_TYPE_RC)
		return -EOPNOTSUPP;
	if (qp->state == RNIC_QP_STATE_ERR || qp->state == RNIC_QP_STATE_RESET)
		return -ENOTCONN;
	if (!peer_probe_may_leave(qp))
		return -EAGAIN;
	qp->requester.owes_probe = true;
	ready_list_add(qp);
	return 0;
}

bool peer_probe_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out)
{
	qp->requester.owes_probe = false;
	if (!peer_probe_may_leave(qp))
		return false;
	packet_builder_start(qp, out, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 0,
			     rnic_psn_add(qp->requester.unacknowledged, -1));
	out->packet.ack_request = true;
	engine->counters[COUNTER_PEER_PROBES]++;
	return true;
}
