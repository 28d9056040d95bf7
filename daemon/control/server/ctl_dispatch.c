/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/ctl_dispatch.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm_ids/ctl_cm_handlers.h"
#include "daemon/control/server/client_teardown.h"
#include "daemon/control/server/ctl_server.h"
#include "daemon/control/server/troubles.h"
#include "daemon/shared/served_peer/ctl_call.h"
#include "lib/wait/clock.h"
#include "proto/ctl/ctl_check.h"

#include <errno.h>

static int (*const ctl_handlers[RNIC_CTL_OPERATION_COUNT])(struct ctl_call *call) = {
	[RNIC_CTL_HELLO] = ctl_hello,
	[RNIC_CTL_SHOW] = ctl_show,
	[RNIC_CTL_CONDITION] = ctl_condition,
	[RNIC_CTL_VERB_RULES] = ctl_verb_rules,
	[RNIC_CTL_CM_CREATE_CHANNEL] = ctl_cm_create_channel,
	[RNIC_CTL_CM_DESTROY_CHANNEL] = ctl_cm_destroy_channel,
	[RNIC_CTL_CM_SEND_EVENTS] = ctl_cm_send_events,
	[RNIC_CTL_CM_CREATE_ID] = ctl_cm_create_id,
	[RNIC_CTL_CM_DESTROY_ID] = ctl_cm_destroy_id,
	[RNIC_CTL_CM_MIGRATE] = ctl_cm_migrate,
	[RNIC_CTL_CM_SET_OPTION] = ctl_cm_set_option,
	[RNIC_CTL_CM_QUERY] = ctl_cm_query,
	[RNIC_CTL_CM_BIND] = ctl_cm_bind,
	[RNIC_CTL_CM_RESOLVE_ADDRESS] = ctl_cm_resolve_address,
	[RNIC_CTL_CM_RESOLVE_ROUTE] = ctl_cm_resolve_route,
	[RNIC_CTL_CM_LISTEN] = ctl_cm_listen,
	[RNIC_CTL_CM_CONNECT] = ctl_cm_connect,
	[RNIC_CTL_CM_ACCEPT] = ctl_cm_accept,
	[RNIC_CTL_CM_REJECT] = ctl_cm_reject,
	[RNIC_CTL_CM_ESTABLISH] = ctl_cm_establish,
	[RNIC_CTL_CM_DISCONNECT] = ctl_cm_disconnect,
	[RNIC_CTL_CM_NOTIFY] = ctl_cm_notify,
	[RNIC_CTL_CM_QP_ATTRIBUTES] = ctl_cm_qp_attributes,
	[RNIC_CTL_CM_JOIN_MCAST] = ctl_cm_join_mcast,
	[RNIC_CTL_CM_LEAVE_MCAST] = ctl_cm_leave_mcast,
};

/* Returns 0 when the operation may come now and from this client. */
static int ctl_check(struct ctl_call *call)
{
	const struct client *client = call->client;
	const uint16_t operation = call->request.header.operation;
	const bool is_hello = operation == RNIC_CTL_HELLO;

	if (ctl_handlers[operation] == NULL)
		return ctl_refuse(call, -EPROTO, "%s came on a control connection",
				  rnic_ctl_operation_name(operation));
	/* An older library sends a descriptor with HELLO, and is to hear why that fails. */
	if (call->has_foreign_fds && !is_hello)
		return ctl_refuse(call, -EPROTO, "%s brought descriptors on a control connection",
				  rnic_ctl_operation_name(operation));
	if (is_hello == client->has_greeted)
		return ctl_refuse(call, -EPROTO,
				  client->has_greeted ? "HELLO came twice"
						      : "a connection begins with HELLO");
	if (client->is_admin && !is_hello && operation != RNIC_CTL_SHOW &&
	    operation != RNIC_CTL_CONDITION)
		return ctl_refuse(call, -EPERM,
				  "an admin connection can only ask for SHOW and CONDITION");
	if (!client->is_admin && operation == RNIC_CTL_CONDITION)
		return ctl_refuse(call, -EPERM, "CONDITION comes on an admin connection");
	return 0;
}

/*
 * Whether the request looks at what there is, or makes conditions. A program needs none of them
 * often: VERB_RULES comes once.
 */
static bool ctl_is_of_viewer(uint16_t operation)
{
	return operation == RNIC_CTL_SHOW || operation == RNIC_CTL_CONDITION ||
	       operation == RNIC_CTL_VERB_RULES;
}

/* -EINPROGRESS: the user's share is used up. */
static int ctl_await_share(struct ctl_call *call)
{
	int result = call->has_share ? 0 : client_await_share(call->client);

	call->has_share = result == 0;
	call->awaits_time = result == -EAGAIN;
	if (result == -EBUSY)
		call->waits_in = &client_share(call->client)->waiting;
	return result == 0 ? 0 : -EINPROGRESS;
}

/* Carries out a request, for which the user's share pays. */
static int ctl_handle_paid(struct ctl_call *call)
{
	struct request_connection *requests = call->connection;
	const uint64_t began_ns = request_connection_begin_call(requests);
	int result = ctl_await_share(call);

	if (result == 0) {
		result = ctl_handlers[call->request.header.operation](call);
		if (result != -EINPROGRESS)
			client_end_request(call->client);
	}
	if (requests->is_charged)
		client_pay(call->client, clock_thread_ns() - began_ns);
	return result;
}

static int ctl_handle(struct ctl_call *call)
{
	int result;

	call->client = client_of_connection(call->connection);
	result = ctl_check(call);
	if (result != 0)
		return result;
	call->client->is_viewing = ctl_is_of_viewer(call->request.header.operation);
	return ctl_handle_paid(call);
}

static void ctl_note_refusal(struct request_connection *requests, uint16_t operation, int error,
			     const char *reason)
{
	trouble_of_request(client_of_connection(requests), operation, error, reason);
}

static void ctl_charge(struct request_connection *requests, uint64_t cpu_ns)
{
	struct client *client = client_of_connection(requests);

	client_set_charge(client->set, client->peer.uid, cpu_ns);
	client_pay(client, cpu_ns);
}

const struct request_role ctl_dispatch_role = {
	.accept = ctl_server_accept,
	.handle = ctl_handle,
	.note_refusal = ctl_note_refusal,
	.charge = ctl_charge,
	.end = served_peer_end_connection,
	.first_request = "HELLO",
	.names_users = true,
	.stages = client_teardown_stages,
	.cut = client_cut,
	.destroy = client_destroy,
};
