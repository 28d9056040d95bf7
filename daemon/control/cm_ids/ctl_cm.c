/* SPDX-License-Identifier: MIT */
/* Control requests about channels and identifiers of the connection manager. */
#include "daemon/control/cm_ids/ctl_cm_handlers.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm_ids/cm_identifier.h"
#include "daemon/control/cm_ids/ctl_cm_common.h"
#include "daemon/shared/served_peer/ctl_channel.h"
#include "proto/ctl/ctl_check.h"

#include <errno.h>
#include <stdlib.h>

#define ACK_TIMEOUT_MAX	  31 /* a 5-bit code */
#define MIN_RNR_TIMER_MAX 31

struct client_cm_id *ctl_cm_find(struct ctl_call *call, struct rnic_handle handle, int *refusal)
{
	struct client_cm_id *id = handle_table_get(&call->client->cm_ids, handle);
	const uint32_t operation = call->request.header.operation;

	if (id == NULL) {
		*refusal = ctl_refuse(call, -EINVAL, "no such identifier");
		return NULL;
	}
	if (!cm_identifier_allows(id, operation)) {
		*refusal = ctl_refuse(
			call, -EINVAL, "an identifier in the state \"%s\" does not allow %s",
			cm_identifier_state_name(id), rnic_ctl_operation_name(operation));
		return NULL;
	}
	return id;
}

/* --- channels -------------------------------------------------------------------------------- */

static int ctl_cm_open_channel(void *channel, int *client_fd)
{
	return cm_channel_open(channel, client_fd);
}

static void ctl_cm_close_channel(void *channel)
{
	cm_channel_close(channel);
}

int ctl_cm_create_channel(struct ctl_call *call)
{
	struct rnic_ctl_cm_channel_reply *reply = (void *)call->reply.payload;
	struct client *client = call->client;
	struct client_cm_channel *channel = calloc(1, sizeof(*channel));
	int result;

	if (channel == NULL)
		return -ENOMEM;
	result = ctl_channel_open(call, &(struct ctl_channel){
						.account = &client->peer.account,
						.resource = RESOURCE_CM_CHANNEL,
						.table = &client->cm_channels,
						.object = channel,
						.open = ctl_cm_open_channel,
						.close = ctl_cm_close_channel,
						.handle = &channel->handle,
						.plural = "event channels",
					});
	if (result != 0) {
		free(channel);
		return result;
	}
	reply->channel = channel->handle;
	return 0;
}

int ctl_cm_destroy_channel(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct client_cm_channel *channel =
		handle_table_get(&call->client->cm_channels, request->handle);

	if (channel == NULL)
		return ctl_refuse(call, -EINVAL, "no such event channel");
	if (channel->references != 0)
		return ctl_refuse(call, -EBUSY, "%u identifiers still report to this channel",
				  channel->references);
	cm_channel_free(call->client, channel);
	return 0;
}

int ctl_cm_send_events(struct ctl_call *call)
{
	const struct rnic_ctl_cm_send_events *request = (const void *)call->request.payload;
	struct client_cm_channel *channel =
		handle_table_get(&call->client->cm_channels, request->channel);

	if (channel == NULL)
		return ctl_refuse(call, -EINVAL, "no such event channel");
	cm_identifier_note_taken(call->client, channel, request->taken);
	return 0;
}

/* --- identifiers ----------------------------------------------------------------------------- */

/* Whether the port space has queue pairs of the type. */
static bool port_space_has(uint32_t port_space, uint32_t qp_type)
{
	const bool is_connected = qp_type == RNIC_QP_TYPE_RC || qp_type == RNIC_QP_TYPE_UC ||
				  qp_type == RNIC_QP_TYPE_XRC_INITIATOR ||
				  qp_type == RNIC_QP_TYPE_XRC_TARGET;

	switch (port_space) {
	case RNIC_PORT_SPACE_TCP:
		return is_connected;
	case RNIC_PORT_SPACE_UDP:
	case RNIC_PORT_SPACE_IPOIB:
		return qp_type == RNIC_QP_TYPE_UD;
	case RNIC_PORT_SPACE_IB:
		return is_connected || qp_type == RNIC_QP_TYPE_UD;
	default:
		return false;
	}
}

int ctl_cm_create_id(struct ctl_call *call)
{
	const struct rnic_ctl_cm_create_id *request = (const void *)call->request.payload;
	struct rnic_ctl_cm_id_reply *reply = (void *)call->reply.payload;
	struct client_cm_channel *channel =
		handle_table_get(&call->client->cm_channels, request->channel);
	struct client_cm_id *id;
	int result;

	if (channel == NULL)
		return ctl_refuse(call, -EINVAL, "no such event channel");
	if (!port_space_has(request->port_space, request->qp_type))
		return ctl_refuse(call, -EINVAL,
				  "no such port space, or no queue pairs of that type in it");
	result = cm_identifier_create(call->client, channel, (uint16_t)request->port_space,
				      (uint8_t)request->qp_type, &id);
	if (result != 0)
		return ctl_refuse(call, result, "no more identifiers are available");
	reply->id = id->handle;
	return 0;
}

int ctl_cm_destroy_id(struct ctl_call *call)
{
	const struct rnic_ctl_cm_destroy_id *request = (const void *)call->request.payload;
	struct client_cm_id *id = handle_table_get(&call->client->cm_ids, request->id);

	if (id == NULL)
		return ctl_refuse(call, -EINVAL, "no such identifier");
	cm_identifier_note_taken(call->client, id->channel, request->taken);
	cm_identifier_free(id);
	return 0;
}

int ctl_cm_migrate(struct ctl_call *call)
{
	const struct rnic_ctl_cm_migrate *request = (const void *)call->request.payload;
	struct client_cm_id *id = handle_table_get(&call->client->cm_ids, request->id);
	struct client_cm_channel *channel =
		handle_table_get(&call->client->cm_channels, request->channel);

	if (id == NULL || channel == NULL)
		return ctl_refuse(call, -EINVAL, "no such identifier or event channel");
	cm_identifier_note_taken(call->client, id->channel, request->taken);
	if (channel == id->channel)
		return 0;
	id->moves++;
	cm_identifier_migrate(id, channel);
	return 0;
}

int ctl_cm_set_option(struct ctl_call *call)
{
	const struct rnic_ctl_cm_set_option *request = (const void *)call->request.payload;
	const uint32_t value = request->value;
	int refusal;
	struct client_cm_id *id = ctl_cm_find(call, request->id, &refusal);

	if (id == NULL)
		return refusal;
	switch (request->option) {
	case RNIC_CM_OPTION_TOS:
		if (value > UINT8_MAX)
			break;
		id->traffic_class = (uint8_t)value;
		return 0;
	case RNIC_CM_OPTION_REUSE_ADDRESS:
	case RNIC_CM_OPTION_ADDRESS_FAMILY_ONLY:
		if (value > 1 || id->binding != NULL)
			break;
		if (request->option == RNIC_CM_OPTION_REUSE_ADDRESS)
			id->may_reuse = value == 1;
		else
			id->is_ipv6_only = value == 1;
		return 0;
	case RNIC_CM_OPTION_ACK_TIMEOUT:
		if (value > ACK_TIMEOUT_MAX)
			break;
		id->ack_timeout = (uint8_t)value;
		return 0;
	case RNIC_CM_OPTION_MIN_RNR_TIMER:
		if (value > MIN_RNR_TIMER_MAX)
			break;
		id->min_rnr_timer = (uint8_t)value;
		return 0;
	default:
		return ctl_refuse(call, -EINVAL, "there is no option %u", request->option);
	}
	return ctl_refuse(call, -EINVAL, "the option cannot have the value %u now", value);
}

int ctl_cm_query(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct client_cm_id *id = handle_table_get(&call->client->cm_ids, request->handle);

	if (id == NULL)
		return ctl_refuse(call, -EINVAL, "no such identifier");
	cm_identifier_describe(id, (void *)call->reply.payload);
	return 0;
}
