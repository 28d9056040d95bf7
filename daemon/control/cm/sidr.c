/* SPDX-License-Identifier: MIT */
/*
 * Resolution of datagram services (IBTA 1.4, 12.11.1): one question, one answer, no state
 * afterwards. The answering side remembers its answer for a while, so that a repeated question does
 * not become a second request.
 */
#include "daemon/control/cm/connection_action.h"

#include "daemon/control/cm/cm_state.h"

#include <errno.h>

static void tell_refused(struct cm_connection *connection, const struct rnic_cm_sidr_rep *rep)
{
	struct cm_event event = {
		.type = CM_EVENT_REJECTED,
		.status = rep->status,
		.private_data = rep->private_data,
		.private_bytes = sizeof(rep->private_data),
	};

	connection->cm->counters[CM_COUNTER_REJECTS_RECEIVED]++;
	connection_tell(connection, &event);
}

int action_sidr_resolved(struct cm_connection *connection, const struct connection_input *input)
{
	const struct rnic_cm_sidr_rep *rep = &input->message->sidr_rep;
	struct cm_event event = {
		.type = CM_EVENT_ESTABLISHED,
		.private_data = rep->private_data,
		.private_bytes = sizeof(rep->private_data),
	};

	if (rep->status != RNIC_CM_SIDR_SUCCESS) {
		tell_refused(connection, rep);
	} else {
		connection->peer.qpn = rep->qpn;
		connection->peer.qkey = rep->qkey;
		connection->is_established = true;
		event.peer = connection->peer;
		connection_tell(connection, &event);
	}
	connection_end(connection);
	return 0;
}

int action_sidr_retry(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	if (connection_retry(connection, RNIC_CM_SIDR_REQ))
		return 0;
	connection_tell_simply(connection, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	connection_end(connection);
	return 0;
}

static void say(struct cm_connection *connection)
{
	connection_queue_message(connection, RNIC_CM_SIDR_REP);
	connection_arm(connection, connection_linger_ns(connection));
}

int action_sidr_repeat(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	connection->cm->counters[CM_COUNTER_DUPLICATES]++;
	say(connection);
	return 0;
}

static int sidr_answer(struct cm_connection *connection, const struct connection_input *input,
		       uint16_t status)
{
	int result = connection_keep_private(connection, input->private_data, input->private_bytes,
					     CM_DATAGRAM_ACCEPT_PRIVATE_BYTES);

	if (result != 0)
		return result;
	connection->reason = status;
	connection_answered(connection);
	connection_enter(connection, STATE_SIDR_ANSWERED);
	say(connection);
	return 0;
}

int action_sidr_accept(struct cm_connection *connection, const struct connection_input *input)
{
	int result = sidr_answer(connection, input, RNIC_CM_SIDR_SUCCESS);

	if (result == 0)
		connection->local = input->accept->qp;
	return result;
}

int action_sidr_reject(struct cm_connection *connection, const struct connection_input *input)
{
	return sidr_answer(connection, input, input->reason);
}

int action_sidr_decline(struct cm_connection *connection, const struct connection_input *input)
{
	return sidr_answer(connection, input, RNIC_CM_SIDR_REJECT);
}
