/* SPDX-License-Identifier: MIT */
/* Control requests that make, keep and end connections. */
#include "daemon/control/cm_ids/ctl_cm_handlers.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm_ids/cm_attributes.h"
#include "daemon/control/cm_ids/cm_identifier.h"
#include "daemon/control/cm_ids/ctl_cm_common.h"
#include "daemon/control/supervisor/device_child.h"
#include "proto/mad/cm_message.h"

#include <errno.h>
#include <string.h>

/*
 * Whether the client may have messages sent that name this queue pair. A peer takes a known number
 * in a REQ as a sign that the old connection is over, and ends it (IBTA 1.4, 12.9.8.3.1); in a
 * REP, as where to send. A program may open the device more than once, so a queue pair of another
 * client of the same process counts as the client's own.
 */
static bool ctl_cm_has_qp(const struct client *client, uint32_t qpn)
{
	const uint32_t client_id = client->peer.client_id;
	const uint32_t owner_id =
		client->device != NULL ? device_child_qp_owner(client->device, qpn) : 0;
	const struct client *owner;

	if (owner_id == 0 || owner_id == client_id)
		return owner_id != 0;
	owner = client_find(client->set, owner_id);
	return owner != NULL && owner->device == client->device &&
	       owner->peer.uid == client->peer.uid && owner->peer.pid == client->peer.pid;
}

static int ctl_cm_refuse_qp(struct ctl_call *call, uint32_t qpn)
{
	return ctl_refuse(call, -EINVAL, "this program has no queue pair 0x%06x", (unsigned)qpn);
}

/* Converts the client's parameters for the connection manager, and chooses the missing ones. */
static struct cm_qp_parameters ctl_cm_connect_parameters_of(struct client_cm_id *id,
							    const struct rnic_cm_parameters *wanted)
{
	const bool is_datagram = id->qp_type == RNIC_QP_TYPE_UD;

	return (struct cm_qp_parameters){
		.qpn = wanted->qpn,
		.psn = id->starting_psn,
		.qkey = is_datagram && wanted->qkey == 0 ? CM_UDP_QKEY : wanted->qkey,
		.responder_resources = wanted->responder_resources,
		.initiator_depth = wanted->initiator_depth,
		.has_flow_control = wanted->flow_control != 0,
		.has_srq = wanted->has_srq != 0,
		.retry_count = wanted->retry_count & 7,
		.rnr_retry_count = wanted->rnr_retry_count & 7,
		.ece_vendor_id = wanted->ece_vendor_id,
		.ece_options = wanted->ece_options,
	};
}

int ctl_cm_connect(struct ctl_call *call)
{
	const struct rnic_ctl_cm_connect *request = (const void *)call->request.payload;
	struct client_set *set = call->client->set;
	struct cm_connect connect;
	int result;
	struct client_cm_id *id = ctl_cm_find(call, request->id, &result);

	if (id == NULL)
		return result;
	/* A SIDR_REQ names no queue pair. */
	if (id->qp_type != RNIC_QP_TYPE_UD && !ctl_cm_has_qp(call->client, request->parameters.qpn))
		return ctl_cm_refuse_qp(call, request->parameters.qpn);
	connect = (struct cm_connect){
		.port_space = id->port_space,
		.qp_type = id->qp_type,
		.source_port = id->local.port,
		.dest_port = id->peer.port,
		.qp = ctl_cm_connect_parameters_of(id, &request->parameters),
		.response_timeout = CM_DEFAULT_RESPONSE_TIMEOUT,
		.max_retries = CM_DEFAULT_MAX_RETRIES,
		.ends_by_call = request->ends_by_call != 0,
		.private_data = request->parameters.private_data,
		.private_bytes = request->parameters.private_data_bytes,
		.owner = call->client->peer.account.user->uid,
		.user = id,
	};
	cm_identifier_path(id, &connect.path);
	result = cm_connect(set->cm, &connect, set->now_ns, &id->connection);
	if (result == -EINVAL)
		return ctl_refuse(call, result,
				  "a number is too large, or %u bytes of private data are too many",
				  connect.private_bytes);
	if (result != 0)
		return ctl_refuse(call, result, "no more connections are available");
	return 0;
}

/* Refuses a request about a connection that the peer has given up meanwhile. */
static int refuse_result(struct ctl_call *call, int result)
{
	if (result == -ENOTCONN)
		return ctl_refuse(call, result, "the peer has given up");
	return ctl_refuse(call, result, "a number is too large, or too much private data");
}

int ctl_cm_accept(struct ctl_call *call)
{
	const struct rnic_ctl_cm_connect *request = (const void *)call->request.payload;
	struct cm_accept accept;
	int result;
	struct client_cm_id *id = ctl_cm_find(call, request->id, &result);

	if (id == NULL)
		return result;
	if (!ctl_cm_has_qp(call->client, request->parameters.qpn))
		return ctl_cm_refuse_qp(call, request->parameters.qpn);
	accept = (struct cm_accept){
		.qp = ctl_cm_connect_parameters_of(id, &request->parameters),
		.ends_by_call = request->ends_by_call != 0,
		.private_data = request->parameters.private_data,
		.private_bytes = request->parameters.private_data_bytes,
	};
	result = cm_accept(id->connection, &accept, call->client->set->now_ns);
	if (result != 0)
		return refuse_result(call, result);
	return 0;
}

int ctl_cm_reject(struct ctl_call *call)
{
	const struct rnic_ctl_cm_connect *request = (const void *)call->request.payload;
	uint32_t reason = request->reject_reason;
	int result;
	struct client_cm_id *id = ctl_cm_find(call, request->id, &result);

	if (id == NULL)
		return result;
	if (reason == 0)
		reason = id->qp_type == RNIC_QP_TYPE_UD ? RNIC_CM_SIDR_REJECT
							: RNIC_CM_REJECT_CONSUMER;
	result = cm_reject(id->connection, (uint16_t)reason, request->parameters.private_data,
			   request->parameters.private_data_bytes, call->client->set->now_ns);
	if (result != 0)
		return refuse_result(call, result);
	return 0;
}

int ctl_cm_establish(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct client_cm_id *id = handle_table_get(&call->client->cm_ids, request->handle);
	int result;

	/* No mistake of the program: the peer may part before this end confirms. */
	if (id != NULL && cm_identifier_state(id) == CM_ID_CLOSED)
		return ctl_refuse(call, -ECONNRESET, "the connection has ended");
	id = ctl_cm_find(call, request->handle, &result);
	if (id == NULL)
		return result;
	result = cm_establish(id->connection, call->client->set->now_ns);
	if (result != 0)
		return refuse_result(call, result);
	return 0;
}

int ctl_cm_disconnect(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	int result;
	struct client_cm_id *id = ctl_cm_find(call, request->handle, &result);

	if (id == NULL)
		return result;
	if (id->connection == NULL || id->qp_type == RNIC_QP_TYPE_UD)
		return ctl_refuse(call, -EINVAL, "there is no connection to end");
	result = cm_disconnect(id->connection, call->client->set->now_ns);
	if (result != 0)
		return ctl_refuse(call, result, "the connection was never established");
	return 0;
}

int ctl_cm_notify(struct ctl_call *call)
{
	const struct rnic_ctl_cm_notify *request = (const void *)call->request.payload;
	struct client_cm_id *id = handle_table_get(&call->client->cm_ids, request->id);

	if (id == NULL || id->connection == NULL)
		return ctl_refuse(call, -EINVAL, "no such connection");
	if (request->event != RNIC_EVENT_COMM_EST)
		return ctl_refuse(call, -EINVAL, "that event does not concern a connection");
	cm_note_traffic(id->connection, call->client->set->now_ns);
	return 0;
}

static bool is_way_told(const struct rnic_ctl_cm_qp_attributes *request)
{
	if (request->next_state != 0)
		return request->state == RNIC_QP_STATE_RTR &&
		       request->next_state == RNIC_QP_STATE_RTS;
	return request->state == RNIC_QP_STATE_INIT || request->state == RNIC_QP_STATE_RTR ||
	       request->state == RNIC_QP_STATE_RTS;
}

int ctl_cm_qp_attributes(struct ctl_call *call)
{
	const struct rnic_ctl_cm_qp_attributes *request = (const void *)call->request.payload;
	struct client_cm_id *id = handle_table_get(&call->client->cm_ids, request->id);
	int result;

	if (id == NULL)
		return ctl_refuse(call, -EINVAL, "no such identifier");
	if (!is_way_told(request))
		return ctl_refuse(
			call, -EINVAL,
			"attributes are known for INIT, RTR and RTS, or RTR and then RTS");
	result = cm_attributes_tell(id, request->state, request->next_state,
				    (void *)call->reply.payload);
	if (result != 0)
		return ctl_refuse(call, result, "an identifier in the state \"%s\" knows no peer",
				  cm_identifier_state_name(id));
	return 0;
}
