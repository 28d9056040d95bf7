/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/ctl_dispatch.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm_ids/cm_identifier.h"
#include "daemon/control/server/control_counters.h"
#include "daemon/control/server/show_record.h"
#include "daemon/control/server/troubles.h"
#include "daemon/control/supervisor/device_link.h"
#include "daemon/control/supervisor/device_rows.h"
#include "daemon/control/supervisor/device_set.h"
#include "daemon/shared/base/process_state.h"
#include "daemon/shared/quota/client_limits.h"
#include "daemon/shared/reports/show_rows.h"
#include "daemon/shared/served_peer/ctl_call.h"
#include "proto/base/bits.h"
#include "proto/base/lane.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct show_walk {
	struct client_set *set;
	uid_t viewer;
	uint32_t kind;
	struct show_rows rows;
	struct device_listing listing; /* of rows that device processes have */
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
	const struct device_settings *settings = set->settings;
	const struct stats_objects objects = device_set_objects(set->devices);
	struct rnic_show_device *row = show_rows_add(&walk->rows);

	if (row == NULL)
		return;
	row->device = facts->device;
	row->port = facts->port;
	memcpy(row->udp_port, settings->udp_port, sizeof(row->udp_port));
	memcpy(row->poll, settings->poll, sizeof(row->poll));
	memcpy(row->segmentation, settings->segmentation, sizeof(row->segmentation));
	row->pid = (uint32_t)getpid();
	row->client_count = (uint32_t)objects.sessions;
	row->qp_count = (uint32_t)objects.qps;
	row->mr_count = (uint32_t)objects.mrs;
	row->mw_count = (uint32_t)objects.mws;
	row->cq_count = (uint32_t)objects.cqs;
	row->pd_count = (uint32_t)objects.pds;
	row->srq_count = (uint32_t)objects.srqs;
	row->gids = facts->gids;
	memcpy(row->ecn, settings->ecn, sizeof(row->ecn));
	memcpy(row->lanes, settings->lanes, sizeof(row->lanes));
	row->lane_count = settings->lane_count;
	memcpy(row->source_ports, settings->source_ports, sizeof(row->source_ports));
	row->unused_addresses = settings->unused_addresses;
	show_pkeys(&facts->pkeys, row->pkeys);
}

/* While the link is down no message comes or goes: a wait for a message is one for the link. */
static void show_link(const struct device_facts *facts, struct rnic_show_cm *row)
{
	const size_t length = strnlen(row->waiting_for, sizeof(row->waiting_for));

	if (length == 0 || (!facts->is_cut && facts->port.state == RNIC_PORT_ACTIVE))
		return;
	snprintf(row->waiting_for + length, sizeof(row->waiting_for) - length,
		 "; the link is down%s",
		 facts->is_cut ? ": rnicctl link up brings it up"
			       : ", because the network interface is");
}

static void show_cm_id(struct show_walk *walk, struct client *client, struct client_cm_id *id)
{
	struct rnic_show_cm *row = show_rows_add(&walk->rows);
	struct cm_connection_info info = {.state = ""};

	if (row == NULL)
		return;
	if (id->connection != NULL)
		cm_describe(id->connection, &info);
	row->client_id = client->peer.client_id;
	row->slot = id->handle.slot;
	row->number = client_object_number(client, id->handle.slot);
	row->port_space = id->port_space;
	row->qp_type = id->qp_type;
	row->local = id->local.gid;
	row->local_port = id->local.port;
	row->peer = id->peer.gid;
	row->peer_port = id->peer.port;
	cm_identifier_look(client, id->channel);
	row->waiting_events = id->event_count;
	snprintf(row->state, sizeof(row->state), "%s", cm_identifier_state_name(id));
	snprintf(row->message_state, sizeof(row->message_state), "%s", info.state);
	cm_identifier_last_error(id, row->last_error, sizeof(row->last_error));
	cm_identifier_waiting_for(id, row->waiting_for, sizeof(row->waiting_for));
	show_link(walk->set->facts, row);
}

static bool show_is_permitted(const struct show_walk *walk, uid_t owner)
{
	return show_is_permitted_to(walk->viewer, owner);
}

/*
 * Shows connections without a client: the peer is still being told of the end, or the connection is
 * in timewait.
 */
static void show_abandoned(struct show_walk *walk, const struct cm_connection *connection)
{
	struct cm_connection_info info;
	struct rnic_show_cm *row;

	cm_describe(connection, &info);
	row = info.is_abandoned && show_is_permitted(walk, info.owner) ? show_rows_add(&walk->rows)
								       : NULL;
	if (row == NULL)
		return;
	/* No client's: the bit that client_object_number() leaves. */
	row->number = UINT32_C(1) << 31 | info.comm_id >> 1;
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
		row->cause = trouble->cause;
		memcpy(row->program, trouble->program, sizeof(row->program));
		memcpy(row->subject, trouble->subject, sizeof(row->subject));
		memcpy(row->reason, trouble->reason, sizeof(row->reason));
	}
}

static void show_faults(struct show_walk *walk)
{
	const struct rule_table *table = &walk->set->devices->common.rules;

	device_set_totals(walk->set->devices);
	for (uint32_t i = 0; i < RNIC_RULES_MAX; i++) {
		const struct rule_entry *entry = &table->entries[i];
		struct rnic_show_fault *row;

		if (entry->id == 0 ||
		    (!entry->owner.is_of_all && !show_is_permitted(walk, entry->owner.uid)))
			continue;
		row = show_rows_add(&walk->rows);
		if (row == NULL)
			continue;
		row->id = entry->id;
		row->uid = entry->owner.uid;
		row->is_of_all = entry->owner.is_of_all;
		row->hits = entry->hits;
		row->actor = entry->actor;
		row->seed = entry->seed;
		memcpy(row->text, entry->text, sizeof(row->text));
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

/* Numbers an object: the device process knows only the clients of its user. */
static void show_number(const struct show_walk *walk, const struct client *client, void *row)
{
	if (walk->kind == RNIC_SHOW_CQS) {
		struct rnic_show_cq *cq = row;

		cq->number = client_object_number(client, cq->slot);
	} else if (walk->kind == RNIC_SHOW_PDS) {
		struct rnic_show_pd *pd = row;

		pd->number = client_object_number(client, pd->slot);
	}
}

/* enum rnic_program_stop. Only users who may see the program's objects hear that it is stopped. */
static uint32_t show_stop(const struct show_walk *walk, const struct client *client)
{
	if (!show_is_permitted(walk, client->peer.uid))
		return RNIC_PROGRAM_RUNS;
	switch (process_state(client->peer.pid)) {
	case PROCESS_STATE_STOPPED:
		return RNIC_PROGRAM_STOPPED;
	case PROCESS_STATE_TRACED:
		return RNIC_PROGRAM_TRACED;
	default:
		return RNIC_PROGRAM_RUNS;
	}
}

/* Fills in what the control plane knows of the client of a row. */
static void show_complete_client(const struct show_walk *walk, const struct client *client,
				 struct rnic_show_client *row)
{
	row->stop = show_stop(walk, client);
	row->open_ms = (client->set->now_ns - client->greeted_ns) / RNIC_NS_PER_MS;
	row->client_id = client->peer.client_id;
	row->pid = (uint32_t)client->peer.pid;
	row->uid = client->peer.uid;
	memcpy(row->program, client->peer.program, sizeof(row->program));
}

/* Whether the process may have rows that the viewer may see: if not, the viewer need not wait. */
static bool show_may_have_rows(void *context, const struct device_child *process)
{
	const struct show_walk *walk = context;
	const struct list *node;

	if (walk->kind == RNIC_SHOW_CLIENTS || show_is_permitted(walk, process->uid))
		return true;
	if (geteuid() == 0)
		return false;
	/* The owner's process may serve other users. */
	list_for_each (node, &walk->set->peers.all) {
		const struct client *client = list_entry(node, struct client, peer.node);

		if (client->device == process && client->peer.uid == walk->viewer)
			return true;
	}
	return false;
}

/* The same for a client that has gone, whose objects the process still holds. */
static bool show_accept_held(const struct show_walk *walk, const struct device_child *process,
			     uint32_t client_id, void *row)
{
	const struct gone_client *gone = gone_clients_find(&walk->set->gone, client_id);
	struct rnic_show_client *shown = row;

	if (gone == NULL || gone->device_pid != process->pid ||
	    !client_ledger_has(&process->held, client_id))
		return false;
	if (walk->kind != RNIC_SHOW_CLIENTS)
		return show_is_permitted(walk, gone->uid);
	shown->stop = RNIC_PROGRAM_RUNS;
	shown->pid = (uint32_t)gone->pid;
	shown->uid = gone->uid;
	memcpy(shown->program, gone->program, sizeof(shown->program));
	return true;
}

/* Whether the queue pair can be one of the process. Its texts are printed on terminals. */
static bool show_check_qp(const struct device_child *process, void *row)
{
	struct rnic_show_qp qp;

	memcpy(&qp, row, sizeof(qp));
	device_link_clean_text(qp.last_error, sizeof(qp.last_error));
	device_link_clean_text(qp.waiting_for, sizeof(qp.waiting_for));
	device_link_clean_text(qp.timeout, sizeof(qp.timeout));
	memcpy(row, &qp, sizeof(qp));
	return qp.qpn >> RNIC_LANE_BITS == process->lane;
}

/*
 * Whether the viewer may see a row of a device process, which could claim anything: a row counts
 * only when its client is one of the process. Everybody may see the clients themselves.
 */
static bool show_accept(void *context, const struct device_child *process, void *row)
{
	const struct show_walk *walk = context;
	uint32_t client_id;
	const struct client *client;

	memcpy(&client_id, row, sizeof(client_id));
	client = client_find(walk->set, client_id);
	if (walk->kind == RNIC_SHOW_QPS && !show_check_qp(process, row))
		return false;
	if (client == NULL)
		return show_accept_held(walk, process, client_id, row);
	if (client->device != process)
		return false;
	if (walk->kind != RNIC_SHOW_CLIENTS) {
		show_number(walk, client, row);
		return show_is_permitted(walk, client->peer.uid);
	}
	show_complete_client(walk, client, row);
	return true;
}

/* Notes that a process does not answer, and shows its clients at least. */
static void show_skip(void *context, const struct device_child *process)
{
	struct show_walk *walk = context;
	struct device_listing *listing = &walk->listing;
	const struct list *node;

	trouble_of_silence(walk->set, process);
	if (walk->kind != RNIC_SHOW_CLIENTS)
		return;
	list_for_each (node, &walk->set->peers.all) {
		const struct client *client = list_entry(node, struct client, peer.node);
		struct rnic_show_client row = {0};

		if (client->device != process || !client->has_greeted ||
		    listing->count == listing->max)
			continue;
		show_complete_client(walk, client, &row);
		memcpy(listing->rows + (size_t)listing->count++ * sizeof(row), &row, sizeof(row));
	}
}

/*
 * Shows rows of the device processes, in the order of their lanes. -EINPROGRESS: a process is still
 * to answer.
 */
static int show_rows_of_devices(struct ctl_call *call, struct show_walk *walk,
				struct rnic_ctl_show_reply *reply)
{
	struct device_listing *listing = &walk->listing;
	const bool is_resumed = call->progress[1] != 0;
	int result;

	if (!is_resumed && client_begin_pages(call->client) != 0) {
		call->waits_in = &call->client->peer.account.user->listings.waiting;
		return -EINPROGRESS;
	}
	*listing = (struct device_listing){
		.asker = call->client->peer.client_id,
		.kind = walk->kind,
		.row_bytes = walk->rows.row_bytes,
		.cursor = is_resumed ? call->progress[0] : walk->rows.skip,
		.rows = walk->rows.rows,
		.max = walk->rows.max,
		.ahead = call->client->peer.account.user->may_have_all ? DEVICE_ROWS_AHEAD : 0,
		.patience = &call->client->patience,
		.may_have_rows = show_may_have_rows,
		.accept = show_accept,
		.skip = show_skip,
		.context = walk,
	};
	result = device_rows_list(walk->set->devices, listing);
	call->progress[0] = listing->cursor;
	call->progress[1] = 1;
	if (result != 0) {
		call->awaits_news = true;
		return result;
	}
	walk->rows.count = listing->count;
	reply->next = listing->cursor;
	return 0;
}

/*
 * The cursor of the identifiers: the client's slot above the identifier's. Then those of the
 * connections, which are told apart by the uppermost bit.
 */
#define SHOW_CM_ID_BITS	   14
#define SHOW_CM_CONNECTION (UINT32_C(1) << 31)

_Static_assert(LIMIT_SESSION_CM_IDS <= 1 << SHOW_CM_ID_BITS, "a cursor has any identifier");
_Static_assert((uint64_t)LIMIT_SESSIONS << SHOW_CM_ID_BITS < SHOW_CM_CONNECTION, "of any client");

#define SHOW_STEPS_MAX 4096 /* in a reply: slots of connections, or of clients */
#define SHOW_ID_SLOTS  64   /* slots of identifiers that cost as much as a step */

static void show_spend(uint32_t *steps, uint32_t cost)
{
	*steps = cost < *steps ? *steps - cost : 0;
}

/* Shows the next identifiers from the cursor on. Returns the cursor after them. */
static uint32_t show_cm_ids(struct show_walk *walk, uint32_t cursor, uint32_t *steps)
{
	const struct client_set *set = walk->set;
	uint32_t id_slot = cursor & ((1u << SHOW_CM_ID_BITS) - 1);
	uint32_t client_slot = cursor >> SHOW_CM_ID_BITS;
	struct client *client;

	while ((client = handle_table_next(&set->numbers, &client_slot)) != NULL) {
		struct client_cm_id *id;

		/* handle_table_next() has gone on to the next slot. */
		if (client_slot - 1 != cursor >> SHOW_CM_ID_BITS)
			id_slot = 0;
		cursor = (client_slot - 1) << SHOW_CM_ID_BITS | id_slot;
		if (walk->rows.count == walk->rows.max || *steps == 0)
			return cursor;
		show_spend(steps, 1);
		if (client->cm_ids.count == 0 || !show_is_permitted(walk, client->peer.uid))
			continue;
		show_spend(steps, client->cm_ids.capacity / SHOW_ID_SLOTS);
		while ((id = handle_table_next(&client->cm_ids, &id_slot)) != NULL) {
			cursor = (client_slot - 1) << SHOW_CM_ID_BITS | (id_slot - 1);
			if (walk->rows.count == walk->rows.max)
				return cursor;
			show_cm_id(walk, client, id);
		}
	}
	return SHOW_CM_CONNECTION;
}

/* Shows the next connections without a client. Returns the cursor after them; 0: at the end. */
static uint32_t show_cm_connections(struct show_walk *walk, uint32_t cursor, uint32_t *steps)
{
	const struct cm *cm = walk->set->cm;
	uint32_t slot = cursor & ~SHOW_CM_CONNECTION;

	for (; slot < cm_slot_count(cm); slot++) {
		const struct cm_connection *connection = cm_slot_connection(cm, slot);

		if (walk->rows.count == walk->rows.max || *steps == 0)
			return SHOW_CM_CONNECTION | slot;
		show_spend(steps, 1);
		if (connection != NULL)
			show_abandoned(walk, connection);
	}
	return 0;
}

/*
 * Shows some of the identifiers and connections. A reply costs a bounded time, however many there
 * are, also when the viewer may see none of them. Returns the cursor of the next reply; 0: the end.
 */
static uint32_t show_cm(struct show_walk *walk, uint32_t cursor)
{
	uint32_t steps = SHOW_STEPS_MAX;

	walk->rows.skip = 0;
	if ((cursor & SHOW_CM_CONNECTION) == 0)
		cursor = show_cm_ids(walk, cursor, &steps);
	if ((cursor & SHOW_CM_CONNECTION) != 0)
		cursor = show_cm_connections(walk, cursor, &steps);
	return cursor;
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
	[RNIC_SHOW_PDS] = sizeof(struct rnic_show_pd),
	[RNIC_SHOW_PATHS] = sizeof(struct rnic_show_path),
	[RNIC_SHOW_FAULTS] = sizeof(struct rnic_show_fault),
	[RNIC_SHOW_RECORD] = sizeof(struct rnic_show_record),
};

/* Shows rows that the control plane has. */
static void show_own_rows(struct show_walk *walk)
{
	switch ((enum rnic_show_kind)walk->kind) {
	case RNIC_SHOW_DEVICE:
		show_device(walk);
		break;
	case RNIC_SHOW_COUNTERS:
		show_counters(walk);
		break;
	case RNIC_SHOW_TROUBLES:
		show_troubles(walk);
		break;
	case RNIC_SHOW_FAULTS:
		show_faults(walk);
		break;
	default:
		break;
	}
}

static bool show_is_of_devices(uint32_t kind)
{
	return kind == RNIC_SHOW_CLIENTS || kind == RNIC_SHOW_QPS || kind == RNIC_SHOW_MRS ||
	       kind == RNIC_SHOW_CQS || kind == RNIC_SHOW_MWS || kind == RNIC_SHOW_SRQS ||
	       kind == RNIC_SHOW_PDS || kind == RNIC_SHOW_PATHS;
}

int ctl_show(struct ctl_call *call)
{
	const struct rnic_ctl_show *request = (const void *)call->request.payload;
	struct rnic_ctl_show_reply *reply = (void *)call->reply.payload;
	struct show_walk walk = {
		.set = call->client->set,
		.viewer = call->client->peer.uid,
		.kind = request->kind,
	};
	int result = 0;

	if (request->kind < RNIC_SHOW_DEVICE || request->kind >= RNIC_COUNT_OF(show_row_bytes))
		return ctl_refuse(call, -EINVAL, "there is no listing %u", request->kind);
	walk.rows.skip = request->cursor;
	walk.rows.row_bytes = show_row_bytes[request->kind];
	walk.rows.rows = call->reply.payload + sizeof(*reply);
	walk.rows.max =
		(uint32_t)((sizeof(call->reply.payload) - sizeof(*reply)) / walk.rows.row_bytes);
	if (show_is_of_devices(request->kind)) {
		result = show_rows_of_devices(call, &walk, reply);
	} else if (request->kind == RNIC_SHOW_CM) {
		reply->next = show_cm(&walk, request->cursor);
	} else if (request->kind == RNIC_SHOW_RECORD) {
		reply->next = show_record(walk.set, walk.viewer, &walk.rows, request->cursor);
	} else {
		show_own_rows(&walk);
		reply->next = walk.rows.has_more ? request->cursor + walk.rows.count : 0;
	}
	reply->kind = request->kind;
	reply->row_count = walk.rows.count;
	reply->row_bytes = walk.rows.row_bytes;
	call->reply_bytes = (uint32_t)sizeof(*reply) + walk.rows.count * walk.rows.row_bytes;
	return result;
}
