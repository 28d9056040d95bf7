/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm_ids/cm_identifier.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm_ids/cm_address.h"
#include "daemon/shared/link/device_facts.h"
#include "proto/wire/gid.h"
#include "proto/wire/packet.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUPS_OF_ID_MAX  64
#define HOP_LIMIT_DEFAULT 64
#define EVENTS_ASKED_MAX  256 /* one for each group, and many for failed address resolutions */

/* With so many waiting events a client can begin no operation that makes further events. */
#define CLIENT_EVENTS_MAX 32768

struct cm_joined_group {
	struct list node;
	struct cm_address address;
};

/* --- addresses and path ---------------------------------------------------------------------- */

static uint8_t gid_index(const struct client_set *set, const struct rnic_gid *gid)
{
	const struct rnic_ctl_gids_reply *gids = &set->facts->gids;

	for (uint32_t i = 0; i < gids->count; i++)
		if (rnic_gid_equal(&gids->entries[i].gid, gid))
			return (uint8_t)i;
	return 0;
}

struct rnic_path cm_identifier_verbs_path(const struct client_set *set, const struct cm_path *path)
{
	return (struct rnic_path){
		.dest_gid = path->dest,
		.flow_label = path->flow_label,
		.source_gid_index = gid_index(set, &path->source),
		.hop_limit = path->hop_limit,
		.traffic_class = path->traffic_class,
		.service_level = path->service_level,
		.port = 1,
		.is_global = 1,
	};
}

void cm_identifier_path(const struct client_cm_id *id, struct cm_path *path)
{
	const struct device_facts *facts = id->client->set->facts;
	const uint8_t hop_limit = device_facts_hop_limit(facts, &id->peer.gid);

	*path = (struct cm_path){
		.source = id->local.gid,
		.dest = id->peer.gid,
		.traffic_class = id->traffic_class,
		.hop_limit = hop_limit != 0 ? hop_limit : HOP_LIMIT_DEFAULT,
		.mtu = facts->port.active_mtu,
		.packet_lifetime =
			id->ack_timeout > 0 ? id->ack_timeout - 1 : CM_DEFAULT_PACKET_LIFETIME,
	};
}

void cm_identifier_describe(const struct client_cm_id *id,
			    struct rnic_ctl_cm_endpoints_reply *reply)
{
	struct cm_path path;

	*reply = (struct rnic_ctl_cm_endpoints_reply){
		.local = cm_address_endpoint(&id->local, cm_identifier_state(id) != CM_ID_IDLE),
		.peer = cm_address_endpoint(&id->peer, id->has_peer),
		.path_mtu = id->client->set->facts->port.active_mtu,
	};
	if (!id->has_local)
		return;
	cm_identifier_path(id, &path);
	reply->path = cm_identifier_verbs_path(id->client->set, &path);
}

/* --- channels and events --------------------------------------------------------------------- */

static void cm_identifier_send_events(struct client *client, struct client_cm_channel *channel)
{
	const uint64_t began_ns = request_connection_begin_call(&client->peer.requests);
	int result = cm_channel_send(channel);

	request_connection_end_call(&client->peer.requests, began_ns);
	if (result != 0)
		served_peer_break(&client->peer,
				  "the events of its connections cannot be sent (%s)",
				  strerror(-result));
}

void cm_identifier_enqueue(struct client_cm_id *id, struct cm_waiting_event *event)
{
	cm_channel_add(id->channel, event);
	list_add_tail(&id->events, &event->id_node);
	id->event_count++;
	id->client->cm_event_count++;
	event->id = id;
	event->event.moves = id->moves;
	/* The client is not asked for its count when it has obviously kept up. */
	if (cm_channel_is_half_full(id->channel))
		cm_identifier_look(id->client, id->channel);
	else
		cm_identifier_send_events(id->client, id->channel);
}

/* Frees an event, but not the identifier that a request made. */
static void forget_event(struct cm_waiting_event *event)
{
	if (event->requester != NULL)
		event->requester->request = NULL;
	cm_channel_withdraw(event->id->channel, event);
	list_remove(&event->id_node);
	event->id->event_count--;
	event->id->client->cm_event_count--;
	free(event);
}

/* Frees an event that no client will take, and the identifier that a request made. */
static void drop_event(struct cm_waiting_event *event)
{
	struct client_cm_id *requester = event->requester;

	forget_event(event);
	if (requester != NULL)
		cm_identifier_free(requester);
}

void cm_identifier_note_taken(struct client *client, struct client_cm_channel *channel,
			      uint32_t taken)
{
	struct cm_waiting_event *event;

	while ((event = cm_channel_next_taken(channel, taken)) != NULL)
		forget_event(event);
	cm_identifier_send_events(client, channel);
}

void cm_identifier_look(struct client *client, struct client_cm_channel *channel)
{
	cm_identifier_note_taken(client, channel, cm_channel_known_taken(channel));
}

void cm_channel_free(struct client *client, struct client_cm_channel *channel)
{
	const uint64_t began_ns = request_connection_begin_call(&client->peer.requests);

	assert(channel->references == 0);
	cm_channel_close(channel);
	request_connection_end_call(&client->peer.requests, began_ns);
	quota_discharge(&client->peer.account, RESOURCE_DESCRIPTORS, 1);
	handle_table_remove(&client->cm_channels, channel->handle);
	quota_discharge(&client->peer.account, RESOURCE_CM_CHANNEL, 1);
	free(channel);
}

struct cm_waiting_event *cm_identifier_new_event(struct client_cm_id *id,
						 enum rnic_cm_event_type type, int status)
{
	struct cm_waiting_event *event = calloc(1, sizeof(*event));
	struct rnic_ctl_cm_endpoints_reply where;

	if (event == NULL) {
		served_peer_break(&id->client->peer,
				  "no memory is left for the events of its connections");
		return NULL;
	}
	cm_identifier_describe(id, &where);
	event->event = (struct rnic_ctl_cm_event){
		.type = type,
		.status = status,
		.id = id->handle,
		.local = where.local,
		.peer = where.peer,
		.path = where.path,
		.path_mtu = where.path_mtu,
		.port_space = id->port_space,
	};
	return event;
}

static bool has_room(const struct client_cm_id *id)
{
	return id->event_count < EVENTS_ASKED_MAX && id->client->cm_event_count < CLIENT_EVENTS_MAX;
}

int cm_identifier_check_room(struct client_cm_id *id)
{
	struct client *client = id->client;
	struct client_cm_channel *channel;

	if (!has_room(id))
		cm_identifier_look(client, id->channel);
	if (client->cm_event_count < CLIENT_EVENTS_MAX)
		return has_room(id) ? 0 : -ENOSPC;
	for (uint32_t slot = 0; (channel = handle_table_next(&client->cm_channels, &slot)) != NULL;)
		cm_identifier_look(client, channel);
	return has_room(id) ? 0 : -ENOSPC;
}

void cm_identifier_note_trouble(const struct client_cm_id *id)
{
	char subject[RNIC_TROUBLE_SUBJECT_BYTES];
	char reason[RNIC_CTL_TEXT_BYTES];
	char peer[RNIC_GID_TEXT_BYTES];

	rnic_gid_text(&id->peer.gid, peer);
	snprintf(subject, sizeof(subject), "connection to %s port %u", peer, id->peer.port);
	cm_identifier_last_error(id, reason, sizeof(reason));
	if (reason[0] != '\0')
		client_note_trouble(id->client, cm_identifier_cause(id), subject, reason);
}

void cm_identifier_note_failure(struct client_cm_id *id, enum rnic_cm_event_type type, int status)
{
	if (status == 0)
		return;
	id->failure = (uint8_t)type;
	id->failure_status = status;
	cm_identifier_note_trouble(id);
}

void cm_identifier_report(struct client_cm_id *id, enum rnic_cm_event_type type, int status,
			  const struct cm_address *group)
{
	struct cm_waiting_event *event = cm_identifier_new_event(id, type, status);
	struct cm_path path;

	if (event == NULL)
		return;
	cm_identifier_note_failure(id, type, status);
	if (group != NULL) {
		cm_identifier_path(id, &path);
		path.dest = group->gid;
		event->event.peer = cm_address_endpoint(group, true);
		event->event.path = cm_identifier_verbs_path(id->client->set, &path);
		event->event.parameters.qpn = RNIC_MULTICAST_QPN;
		event->event.parameters.qkey = CM_UDP_QKEY;
	}
	cm_identifier_enqueue(id, event);
}

void cm_identifier_migrate(struct client_cm_id *id, struct client_cm_channel *channel)
{
	struct client_cm_channel *old = id->channel;
	struct list *node;

	old->references--;
	channel->references++;
	id->channel = channel;
	list_for_each (node, &id->events) {
		struct cm_waiting_event *event = list_entry(node, struct cm_waiting_event, id_node);

		cm_channel_withdraw(old, event);
		event->event.moves = id->moves;
		cm_channel_add(channel, event);
		/*
		 * The client does not know the new identifier yet: its events go to the channel of
		 * its request.
		 */
		if (event->requester != NULL)
			cm_identifier_migrate(event->requester, channel);
	}
	cm_identifier_send_events(id->client, channel);
}

/* --- life ------------------------------------------------------------------------------------ */

int cm_identifier_create(struct client *client, struct client_cm_channel *channel,
			 uint16_t port_space, uint8_t qp_type, struct client_cm_id **created)
{
	struct client_cm_id *id;
	int result = quota_charge(&client->peer.account, RESOURCE_CM_ID, 1);

	if (result != 0)
		return result;
	id = calloc(1, sizeof(*id));
	if (id == NULL) {
		result = -ENOMEM;
		goto discharge;
	}
	result = handle_table_add(&client->cm_ids, id, &id->handle);
	if (result != 0)
		goto free_id;
	id->client = client;
	id->channel = channel;
	id->port_space = port_space;
	id->qp_type = qp_type;
	id->traffic_class = client->set->settings->cm_tos;
	id->starting_psn = cm_choose_psn(client->set->cm);
	list_init(&id->events);
	list_init(&id->groups);
	channel->references++;
	*created = id;
	return 0;

free_id:
	free(id);
discharge:
	quota_discharge(&client->peer.account, RESOURCE_CM_ID, 1);
	return result;
}

bool cm_identifier_drop_event(struct client_cm_id *id)
{
	if (list_is_empty(&id->events))
		return false;
	drop_event(list_first_entry(&id->events, struct cm_waiting_event, id_node));
	return true;
}

/* What a port of the identifier counts as. */
static unsigned port_resource_of(const struct client_cm_id *id)
{
	switch (id->port_space) {
	case RNIC_PORT_SPACE_IPOIB:
		return RESOURCE_CM_PORT_IPOIB;
	case RNIC_PORT_SPACE_TCP:
		return RESOURCE_CM_PORT_TCP;
	case RNIC_PORT_SPACE_UDP:
		return RESOURCE_CM_PORT_UDP;
	default:
		return RESOURCE_CM_PORT_IB;
	}
}

static struct cm_bind wanted_binding(struct client_cm_id *id, const struct cm_address *address)
{
	return (struct cm_bind){
		.port_space = id->port_space,
		.address = *address,
		.may_reuse = id->may_reuse,
		.is_ipv6_only = id->is_ipv6_only,
		.owner = id->client->peer.account.user->uid,
		.user = id,
	};
}

int cm_identifier_bind(struct client_cm_id *id, const struct cm_address *address)
{
	struct quota_account *account = &id->client->peer.account;
	const bool counts = address->port == 0 || cm_port_is_ephemeral(address->port);
	const struct cm_bind bind = wanted_binding(id, address);
	int result;

	if (counts && quota_charge(account, port_resource_of(id), 1) != 0)
		return -EDQUOT;
	result = cm_bind(id->client->set->cm, &bind, &id->binding);
	if (result == 0)
		id->has_port = counts;
	else if (counts)
		quota_discharge(account, port_resource_of(id), 1);
	return result;
}

const struct client_cm_id *cm_identifier_in_the_way(struct client_cm_id *id,
						    const struct cm_address *address)
{
	const struct cm_bind bind = wanted_binding(id, address);

	return cm_bind_holder(id->client->set->cm, &bind);
}

static void unbind(struct client_cm_id *id)
{
	cm_unbind(id->client->set->cm, id->binding);
	if (id->has_port)
		quota_discharge(&id->client->peer.account, port_resource_of(id), 1);
}

void cm_identifier_free(struct client_cm_id *id)
{
	struct client *client = id->client;
	struct client_set *set = client->set;

	if (set->neighbours != NULL)
		neighbour_queries_cancel(set->neighbours, &id->query);
	unbind(id);
	cm_note_owner(id->connection, client->peer.uid);
	cm_destroy(id->connection, set->now_ns);
	if (id->request != NULL)
		forget_event(id->request);
	while (cm_identifier_drop_event(id))
		continue;
	while (!list_is_empty(&id->groups))
		cm_identifier_leave(
			id, &list_first_entry(&id->groups, struct cm_joined_group, node)->address);
	id->channel->references--;
	handle_table_remove(&client->cm_ids, id->handle);
	quota_discharge(&client->peer.account, RESOURCE_CM_ID, 1);
	free(id);
}

bool cm_identifier_any_to(const struct client *client, const struct rnic_gid *dest)
{
	const struct client_cm_id *id;

	for (uint32_t slot = 0; (id = handle_table_next(&client->cm_ids, &slot)) != NULL;)
		if (id->has_peer && rnic_gid_equal(&id->peer.gid, dest))
			return true;
	return false;
}

/* --- multicast ------------------------------------------------------------------------------- */

static struct cm_joined_group *cm_identifier_find_group(struct client_cm_id *id,
							const struct cm_address *group)
{
	struct list *node;

	list_for_each (node, &id->groups) {
		struct cm_joined_group *joined = list_entry(node, struct cm_joined_group, node);

		if (rnic_gid_equal(&joined->address.gid, &group->gid))
			return joined;
	}
	return NULL;
}

int cm_identifier_join(struct client_cm_id *id, const struct cm_address *group)
{
	struct cm_joined_group *joined;

	if (cm_identifier_find_group(id, group) != NULL)
		return -EADDRINUSE;
	if (id->group_count == GROUPS_OF_ID_MAX)
		return -ENOSPC;
	joined = calloc(1, sizeof(*joined));
	if (joined == NULL)
		return -ENOMEM;
	joined->address = *group;
	list_add_tail(&id->groups, &joined->node);
	id->group_count++;
	return 0;
}

int cm_identifier_leave(struct client_cm_id *id, const struct cm_address *group)
{
	struct cm_joined_group *joined = cm_identifier_find_group(id, group);

	if (joined == NULL)
		return -EINVAL;
	list_remove(&joined->node);
	id->group_count--;
	free(joined);
	return 0;
}
