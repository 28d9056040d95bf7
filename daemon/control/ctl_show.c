/* SPDX-License-Identifier: MIT */
#include "control/ctl_handlers.h"

#include "cm_ids/cm_identifier.h"
#include "base/bits.h"
#include "base/time_units.h"
#include "client/client.h"
#include "client/client_set.h"
#include "common/show_rows.h"
#include "control/control_counters.h"
#include "device/device_half.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct show_walk {
	struct client_set *set;
	uid_t viewer;
	struct show_rows rows;
};

static void show_pkeys(const struct rnic_ctl_pkeys_reply *pkeys,
		       char text[RNIC_CTL_PKEYS_TEXT_BYTES])
{
	int length = 0;

	for (uint32_t i = 0; i < RNIC_PKEYS_MAX && pkeys->pkeys[i] != 0; i++)
		length += snprintf(text + length, RNIC_CTL_PKEYS_TEXT_BYTES - (size_t)length,
				   "%s0x%04x", i == 0 ? "" : ",", pkeys->pkeys[i]);
}

static void show_device(struct show_walk *walk)
{
	const struct client_set *set = walk->set;
	const struct device_facts *facts = set->facts;
	struct rnic_show_device *row = show_rows_add(&walk->rows);

	if (row == NULL)
		return;
	row->device = facts->device;
	row->port = facts->port;
	memcpy(row->udp_port, facts->udp_port, sizeof(row->udp_port));
	memcpy(row->poll, facts->poll, sizeof(row->poll));
	memcpy(row->segmentation, facts->segmentation, sizeof(row->segmentation));
	row->pid = (uint32_t)getpid();
	row->client_count = device_half_session_count(set->device);
	row->qp_count = (uint32_t)set->quotas.usage[RESOURCE_QP];
	row->mr_count = (uint32_t)set->quotas.usage[RESOURCE_MR];
	row->mw_count = (uint32_t)set->quotas.usage[RESOURCE_MW];
	row->cq_count = (uint32_t)set->quotas.usage[RESOURCE_CQ];
	row->pd_count = (uint32_t)set->quotas.usage[RESOURCE_PD];
	row->srq_count = (uint32_t)set->quotas.usage[RESOURCE_SRQ];
	row->gids = facts->gids;
	memcpy(row->ecn, facts->ecn, sizeof(row->ecn));
	show_pkeys(&facts->pkeys, row->pkeys);
}

static void show_client(struct show_walk *walk, const struct client *client)
{
	struct rnic_show_client *row = show_rows_add(&walk->rows);

	if (row == NULL)
		return;
	row->client_id = client->client_id;
	row->pid = (uint32_t)client->pid;
	row->uid = client->uid;
	device_half_show_client(client->session, row);
	memcpy(row->program, client->program, sizeof(row->program));
}

static void show_cm_id(struct show_walk *walk, const struct client *client,
		       const struct session_cm_id *id)
{
	struct rnic_show_cm *row = show_rows_add(&walk->rows);
	struct cm_connection_info info = {.state = ""};

	if (row == NULL)
		return;
	if (id->connection != NULL)
		cm_describe(id->connection, &info);
	row->client_id = client->client_id;
	row->slot = id->handle.slot;
	row->port_space = id->port_space;
	row->qp_type = id->qp_type;
	row->local = id->local.gid;
	row->local_port = id->local.port;
	row->peer = id->peer.gid;
	row->peer_port = id->peer.port;
	row->waiting_events = id->event_count;
	snprintf(row->state, sizeof(row->state), "%s", cm_identifier_state_name(id));
	snprintf(row->message_state, sizeof(row->message_state), "%s", info.state);
	cm_identifier_last_error(id, row->last_error, sizeof(row->last_error));
	cm_identifier_waiting_for(id, row->waiting_for, sizeof(row->waiting_for));
}

/*
 * Shows connections without a client: the peer is still being told of the end, or the connection is
 * in timewait.
 */
static void show_abandoned(struct show_walk *walk)
{
	const struct cm *cm = walk->set->cm;
	const struct cm_connection *connection = NULL;

	while ((connection = cm_next_connection(cm, connection)) != NULL) {
		struct cm_connection_info info;
		struct rnic_show_cm *row;

		cm_describe(connection, &info);
		row = info.is_abandoned ? show_rows_add(&walk->rows) : NULL;
		if (row == NULL)
			continue;
		row->port_space = info.port_space;
		row->qp_type = info.qp_type;
		row->local = info.local.gid;
		row->local_port = info.local.port;
		row->peer = info.peer.gid;
		row->peer_port = info.peer.port;
		snprintf(row->state, sizeof(row->state), "abandoned");
		snprintf(row->message_state, sizeof(row->message_state), "%s", info.state);
		cm_waiting_for(connection, row->waiting_for, sizeof(row->waiting_for));
	}
}

/*
 * Returns whether the viewer may see the owner's objects. Keys and packet numbers are enough to
 * forge a packet, so only the owner, root and the daemon's user see them.
 */
static bool show_is_permitted(const struct show_walk *walk, uid_t owner)
{
	return walk->viewer == owner || walk->viewer == 0 || walk->viewer == geteuid();
}

static void show_troubles(struct show_walk *walk)
{
	const struct client_set *set = walk->set;
	const struct trouble *trouble;

	for (uint32_t i = 0; (trouble = trouble_nth(&set->trouble_log, i)) != NULL; i++) {
		struct rnic_show_trouble *row =
			trouble->is_of_all || show_is_permitted(walk, trouble->uid)
				? show_rows_add(&walk->rows)
				: NULL;

		if (row == NULL)
			continue;
		row->age_ms = (set->now_ns - trouble->at_ns) / RNIC_NS_PER_MS;
		row->pid = (uint32_t)trouble->pid;
		row->uid = trouble->uid;
		memcpy(row->program, trouble->program, sizeof(row->program));
		memcpy(row->subject, trouble->subject, sizeof(row->subject));
		memcpy(row->reason, trouble->reason, sizeof(row->reason));
	}
}

static void show_counters(struct show_walk *walk)
{
	struct rnic_show_counter counter;

	for (uint32_t i = 0; control_counters_show(walk->set, i, &counter); i++) {
		struct rnic_show_counter *row = show_rows_add(&walk->rows);

		if (row != NULL)
			*row = counter;
	}
}

/* Shows the objects of each client that the viewer may see. */
static void show_objects(struct show_walk *walk, uint32_t kind)
{
	const struct list *node;

	list_for_each (node, &walk->set->clients) {
		const struct client *client = list_entry(node, struct client, node);

		if (client->session != NULL && show_is_permitted(walk, client->uid))
			device_half_show(client->session, kind, &walk->rows);
	}
}

static void show_cm_ids(struct show_walk *walk)
{
	const struct list *node;

	list_for_each (node, &walk->set->clients) {
		const struct client *client = list_entry(node, struct client, node);
		const struct session_cm_id *id;
		uint32_t slot = 0;

		if (!show_is_permitted(walk, client->uid))
			continue;
		while (!walk->rows.has_more &&
		       (id = handle_table_next(&client->cm_ids, &slot)) != NULL)
			show_cm_id(walk, client, id);
	}
}

static void show_clients(struct show_walk *walk)
{
	const struct list *node;

	list_for_each (node, &walk->set->clients) {
		const struct client *client = list_entry(node, struct client, node);

		if (client->has_greeted && client->session != NULL)
			show_client(walk, client);
	}
}

static const uint32_t show_row_bytes[] = {
	[RNIC_SHOW_DEVICE] = sizeof(struct rnic_show_device),
	[RNIC_SHOW_CLIENTS] = sizeof(struct rnic_show_client),
	[RNIC_SHOW_QPS] = sizeof(struct rnic_show_qp),
	[RNIC_SHOW_MRS] = sizeof(struct rnic_show_mr),
	[RNIC_SHOW_CQS] = sizeof(struct rnic_show_cq),
	[RNIC_SHOW_COUNTERS] = sizeof(struct rnic_show_counter),
	[RNIC_SHOW_MWS] = sizeof(struct rnic_show_mw),
	[RNIC_SHOW_SRQS] = sizeof(struct rnic_show_srq),
	[RNIC_SHOW_CM] = sizeof(struct rnic_show_cm),
	[RNIC_SHOW_TROUBLES] = sizeof(struct rnic_show_trouble),
};

static void show_walk(struct show_walk *walk, uint32_t kind)
{
	switch ((enum rnic_show_kind)kind) {
	case RNIC_SHOW_DEVICE:
		show_device(walk);
		break;
	case RNIC_SHOW_CLIENTS:
		show_clients(walk);
		break;
	case RNIC_SHOW_QPS:
	case RNIC_SHOW_MRS:
	case RNIC_SHOW_CQS:
	case RNIC_SHOW_MWS:
	case RNIC_SHOW_SRQS:
		show_objects(walk, kind);
		break;
	case RNIC_SHOW_COUNTERS:
		show_counters(walk);
		break;
	case RNIC_SHOW_CM:
		show_cm_ids(walk);
		show_abandoned(walk);
		break;
	case RNIC_SHOW_TROUBLES:
		show_troubles(walk);
		break;
	}
}

int ctl_show(struct ctl_call *call)
{
	const struct rnic_ctl_show *request = (const void *)call->request.payload;
	struct rnic_ctl_show_reply *reply = (void *)call->reply.payload;
	struct show_walk walk = {.set = call->client->set, .viewer = call->client->uid};

	if (request->kind < RNIC_SHOW_DEVICE || request->kind >= RNIC_COUNT_OF(show_row_bytes))
		return ctl_refuse(call, -EINVAL, "there is no listing %u", request->kind);
	walk.rows.skip = request->cursor;
	walk.rows.row_bytes = show_row_bytes[request->kind];
	walk.rows.rows = call->reply.payload + sizeof(*reply);
	walk.rows.max =
		(uint32_t)((sizeof(call->reply.payload) - sizeof(*reply)) / walk.rows.row_bytes);
	show_walk(&walk, request->kind);
	reply->kind = request->kind;
	reply->row_count = walk.rows.count;
	reply->row_bytes = walk.rows.row_bytes;
	reply->next = walk.rows.has_more ? request->cursor + walk.rows.count : 0;
	call->reply_bytes = (uint32_t)sizeof(*reply) + walk.rows.count * walk.rows.row_bytes;
	return 0;
}
