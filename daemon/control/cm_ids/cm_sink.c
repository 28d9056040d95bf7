/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm_ids/cm_sink.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm_ids/cm_address.h"
#include "daemon/control/cm_ids/cm_attributes.h"
#include "daemon/control/cm_ids/cm_identifier.h"
#include "daemon/control/supervisor/device_set.h"
#include "proto/base/causes.h"
#include "proto/wire/gid.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The client's event for each event of a connection. */
static const uint8_t client_events[CM_EVENT_COUNT] = {
	[CM_EVENT_CONNECT_REQUEST] = RNIC_CM_CONNECT_REQUEST,
	[CM_EVENT_CONNECT_RESPONSE] = RNIC_CM_CONNECT_RESPONSE,
	[CM_EVENT_UNREACHABLE] = RNIC_CM_UNREACHABLE,
	[CM_EVENT_REJECTED] = RNIC_CM_REJECTED,
	[CM_EVENT_ESTABLISHED] = RNIC_CM_ESTABLISHED,
	[CM_EVENT_DISCONNECTED] = RNIC_CM_DISCONNECTED,
	[CM_EVENT_TIMEWAIT_EXIT] = RNIC_CM_TIMEWAIT_EXIT,
};

/* Fills the client's event with the content of the message. */
static void fill_event(struct rnic_ctl_cm_event *reply, const struct client_set *set,
		       const struct cm_event *event)
{
	struct rnic_cm_parameters *parameters = &reply->parameters;
	const struct cm_qp_parameters *peer = &event->peer;
	uint32_t private_bytes = event->private_bytes;
	struct cm_connection_info info;

	cm_describe(event->connection, &info);
	reply->local = cm_address_endpoint(&info.local, true);
	reply->peer = cm_address_endpoint(&info.peer, true);
	reply->path = cm_identifier_verbs_path(set, &info.path);
	reply->path_mtu = info.path.mtu;
	reply->port_space = info.port_space;
	if (private_bytes > RNIC_CM_PRIVATE_DATA_BYTES - 1)
		private_bytes = RNIC_CM_PRIVATE_DATA_BYTES - 1;
	*parameters = (struct rnic_cm_parameters){
		.qpn = peer->qpn,
		.qkey = peer->qkey,
		.starting_psn = peer->psn,
		.responder_resources = peer->responder_resources,
		.initiator_depth = peer->initiator_depth,
		.flow_control = peer->has_flow_control,
		.retry_count = peer->retry_count,
		.rnr_retry_count = peer->rnr_retry_count,
		.has_srq = peer->has_srq,
		.qp_type = info.qp_type,
		.ece_vendor_id = peer->ece_vendor_id,
		.ece_options = peer->ece_options,
		.private_data_bytes = (uint8_t)private_bytes,
	};
	if (private_bytes > 0)
		memcpy(parameters->private_data, event->private_data, private_bytes);
}

/* Tells what the client needs to make its queue pair ready, so that the client need not ask. */
static void add_attributes(const struct client_cm_id *id, struct rnic_ctl_cm_event *told)
{
	struct rnic_ctl_cm_qp_attributes_reply known = {.mask = 0};

	if (id->qp_type == RNIC_QP_TYPE_UD ||
	    cm_attributes_tell(id, RNIC_QP_STATE_RTR, RNIC_QP_STATE_RTS, &known) != 0)
		return;
	told->attributes = known.attributes;
	told->mask = known.mask;
}

/* Whose the message is: a program's; its user's, when it has let go; or else the device's. */
static void name_holder(const struct client_cm_id *id, const struct cm_message_note *note,
			struct cm_journal_entry *entry)
{
	if (id != NULL) {
		entry->pid = id->client->peer.pid;
		entry->uid = id->client->peer.uid;
		entry->client_id = id->client->peer.client_id;
		memcpy(entry->program, id->client->peer.program, sizeof(entry->program));
	} else if (note->owner != CM_OWNER_NONE) {
		entry->uid = note->owner;
		entry->is_late = true;
	} else {
		entry->pid = getpid();
		entry->uid = geteuid();
		snprintf(entry->program, sizeof(entry->program), "rnicd");
	}
}

/* Records the message, of the identifier's program when there is one. */
static void note_message(struct client_set *set, const struct client_cm_id *id,
			 const struct cm_message_note *note)
{
	struct cm_journal_entry entry = {
		.at_ns = set->now_ns,
		.kind = (enum rnic_cm_kind)note->kind,
		.is_sent = note->is_sent,
		.reason = note->reason,
		.port = note->port,
		.qpn = note->qpn,
		.peer_qpn = note->peer_qpn,
	};

	name_holder(id, note, &entry);
	cm_journal_note(&set->cm_journal, client_set_account(set, entry.uid),
			id == NULL && !entry.is_late, &entry);
}

static void cm_sink_message(void *context, const struct cm_message_note *note)
{
	note_message(context, note->user, note);
}

/* Takes a connection request. False: the client has no room; the peer tries again later. */
static bool request_arrived(struct client_set *set, const struct cm_event *event)
{
	struct client_cm_id *listener = event->user;
	struct cm_waiting_event *waiting;
	struct cm_connection_info info;
	struct client_cm_id *id;

	if (listener->client->peer.requests.is_broken)
		return false;
	cm_describe(event->connection, &info);
	if (cm_identifier_create(listener->client, listener->channel, listener->port_space,
				 info.qp_type, &id) != 0)
		return false;
	waiting = cm_identifier_new_event(listener, RNIC_CM_CONNECT_REQUEST, 0);
	if (waiting == NULL) {
		cm_identifier_free(id);
		return false;
	}
	id->connection = event->connection;
	id->asked = event->peer;
	id->local = info.local;
	id->peer = info.peer;
	id->has_local = true;
	id->has_peer = true;
	id->traffic_class = info.path.traffic_class;
	id->min_rnr_timer = listener->min_rnr_timer;
	cm_set_user(event->connection, id);
	fill_event(&waiting->event, set, event);
	waiting->requester = id;
	id->request = waiting;
	waiting->event.id = id->handle;
	waiting->event.listener = listener->handle;
	add_attributes(id, &waiting->event);
	cm_identifier_enqueue(listener, waiting);
	note_message(
		set, id,
		&(struct cm_message_note){
			.kind = info.qp_type == RNIC_QP_TYPE_UD ? RNIC_CM_SIDR_REQ : RNIC_CM_REQ,
			.port = info.local.port,
			.peer_qpn = event->peer.qpn,
			.owner = CM_OWNER_NONE,
		});
	return true;
}

static bool cm_sink_event(void *context, const struct cm_event *event)
{
	struct client_cm_id *id = event->user;
	struct cm_waiting_event *waiting;

	if (event->type == CM_EVENT_CONNECT_REQUEST)
		return request_arrived(context, event);
	if (id->client->peer.requests.is_broken)
		return false;
	waiting = cm_identifier_new_event(id, client_events[event->type], event->status);
	if (waiting == NULL)
		return false;
	cm_identifier_note_failure(id, client_events[event->type], event->status);
	fill_event(&waiting->event, context, event);
	if (event->type == CM_EVENT_CONNECT_RESPONSE)
		add_attributes(id, &waiting->event);
	cm_identifier_enqueue(id, waiting);
	return true;
}

/*
 * Notes a message for no connection, or for a connection that no client holds. The trouble is the
 * daemon's own; the log bounds how many of those it keeps.
 */
static void note_stranger(struct client_set *set, const char *peer)
{
	struct trouble trouble = {
		.at_ns = set->now_ns,
		.pid = getpid(),
		.uid = geteuid(),
		.is_of_all = true,
		.cause = RNIC_CAUSE_BAD_PORT,
		.program = "rnicd",
		.reason = "connection messages from a UDP port that is not the peer's were "
			  "dropped: forged, or see --peer-ports",
	};

	snprintf(trouble.subject, sizeof(trouble.subject), "packets from %s", peer);
	if (trouble_log_may_note(&set->trouble_log, &trouble))
		trouble_log_note(&set->trouble_log, &trouble);
}

static void cm_sink_strange_port(void *context, const struct cm_strange_port *strange)
{
	const struct client_cm_id *id = strange->user;
	char subject[RNIC_TROUBLE_SUBJECT_BYTES];
	char reason[RNIC_CTL_TEXT_BYTES];
	char peer[RNIC_GID_TEXT_BYTES];

	rnic_gid_text(&strange->peer, peer);
	if (id == NULL) {
		note_stranger(context, peer);
		return;
	}
	snprintf(subject, sizeof(subject), "connection to %s port %u", peer, id->peer.port);
	snprintf(reason, sizeof(reason),
		 "a message from UDP port %u, not %u as before, was dropped: it is forged, or the "
		 "peer changes ports (rnicd --peer-ports any)",
		 strange->port, strange->wanted);
	client_note_trouble(id->client, RNIC_CAUSE_BAD_PORT, subject, reason);
}

static void cm_sink_ask_peer(void *context, uint32_t qpn, uint32_t comm_id)
{
	const struct client_set *set = context;

	device_set_probe_peer(set->devices, qpn, comm_id);
}

const struct cm_sink cm_identifier_sink = {
	.event = cm_sink_event,
	.strange_port = cm_sink_strange_port,
	.ask_peer = cm_sink_ask_peer,
	.message = cm_sink_message,
};
