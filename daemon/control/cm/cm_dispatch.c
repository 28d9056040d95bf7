/* SPDX-License-Identifier: MIT */
/*
 * The owner's calls of the connection manager: creation, release, datagrams in and out, time. This
 * file passes messages and deadlines to connections and requests.
 */
#include "daemon/control/cm/cm.h"

#include "daemon/control/cm/cm_connection.h"
#include "daemon/control/cm/cm_state.h"
#include "daemon/control/cm/request.h"
#include "proto/wire/gid.h"
#include "proto/wire/packet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define COMM_ID_KEY_BITS 24
#define DEFAULT_PKEY	 0xffff
#define PKEY_MEMBER_BITS 0x7fff
#define FIRST_KIND	 RNIC_CM_REQ

struct cm *cm_create(const struct cm_config *config)
{
	struct cm *cm = calloc(1, sizeof(*cm));
	uint64_t seed;

	if (cm == NULL)
		return NULL;
	cm->config = *config;
	timer_heap_init(&cm->timers);
	list_init(&cm->connections);
	list_init(&cm->ready);
	list_init(&cm->idle_shares);
	binding_table_init(&cm->bindings, random_source_next(&cm->config.random));
	seed = random_source_next(&cm->config.random);
	key_table_init(&cm->by_comm_id, COMM_ID_KEY_BITS, 1, seed);
	if (peer_table_init(&cm->by_peer, seed) == 0 &&
	    peer_table_init(&cm->by_peer_qpn, random_source_next(&cm->config.random)) == 0 &&
	    peer_table_init(&cm->shares, random_source_next(&cm->config.random)) == 0 &&
	    reply_ring_init(&cm->replies) == 0 && pending_listens_init(&cm->pending_listens) == 0)
		return cm;
	cm_free(cm);
	return NULL;
}

void cm_free(struct cm *cm)
{
	while (!list_is_empty(&cm->connections)) {
		struct cm_connection *connection =
			list_first_entry(&cm->connections, struct cm_connection, node);

		assert(connection->is_abandoned);
		connection_free(connection);
	}
	assert(list_is_empty(&cm->bindings.all));
	proven_address_fini(cm);
	pending_listens_fini(&cm->pending_listens);
	reply_ring_fini(&cm->replies);
	peer_table_fini(&cm->shares);
	peer_table_fini(&cm->by_peer_qpn);
	peer_table_fini(&cm->by_peer);
	timer_heap_fini(&cm->timers);
	key_table_fini(&cm->by_comm_id);
	free(cm);
}

/* --- received messages ------------------------------------------------------------------------ */

/* The connection identifiers in a message. */
struct address {
	uint32_t sender;   /* the sender's identifier */
	uint32_t receiver; /* our identifier; 0: not stated */
};

static struct address cm_address_of(const struct rnic_cm_message *message)
{
	switch (message->kind) {
	case RNIC_CM_REQ:
		return (struct address){message->req.local_comm_id, 0};
	case RNIC_CM_SIDR_REQ:
		return (struct address){message->sidr_req.request_id, 0};
	case RNIC_CM_SIDR_REP:
		return (struct address){0, message->sidr_rep.request_id};
	case RNIC_CM_MRA:
		return (struct address){message->mra.local_comm_id, message->mra.remote_comm_id};
	case RNIC_CM_REJ:
		return (struct address){message->rej.local_comm_id, message->rej.remote_comm_id};
	case RNIC_CM_REP:
		return (struct address){message->rep.local_comm_id, message->rep.remote_comm_id};
	case RNIC_CM_RTU:
		return (struct address){message->rtu.local_comm_id, message->rtu.remote_comm_id};
	case RNIC_CM_DREQ:
		return (struct address){message->dreq.local_comm_id, message->dreq.remote_comm_id};
	case RNIC_CM_DREP:
		return (struct address){message->drep.local_comm_id, message->drep.remote_comm_id};
	case RNIC_CM_LAP:
		return (struct address){message->lap.local_comm_id, message->lap.remote_comm_id};
	case RNIC_CM_APR:
		return (struct address){message->apr.local_comm_id, message->apr.remote_comm_id};
	}
	return (struct address){0, 0};
}

/*
 * Whether the message may belong to `connection`: its addresses are those of the connection, and
 * its sender's identifier is the one that we know. A REJ may lack the sender's identifier: the peer
 * may have no connection.
 */
static bool cm_is_from_peer(const struct cm_connection *connection,
			    const struct request_origin *origin,
			    const struct rnic_cm_message *message, uint32_t sender)
{
	if (!rnic_gid_equal(&connection->path.dest, &origin->peer) ||
	    !rnic_gid_equal(&connection->path.source, &origin->local) ||
	    connection->is_datagram != (message->kind == RNIC_CM_SIDR_REP))
		return false;
	if (connection->is_datagram || connection->peer_comm_id == 0)
		return true;
	return connection->peer_comm_id == sender || (message->kind == RNIC_CM_REJ && sender == 0);
}

static struct cm_connection *cm_find(const struct request_origin *origin,
				     const struct rnic_cm_message *message)
{
	struct address address = cm_address_of(message);
	bool is_question = message->kind == RNIC_CM_REQ || message->kind == RNIC_CM_SIDR_REQ ||
			   (message->kind == RNIC_CM_REJ && address.receiver == 0);
	struct cm_connection *connection;

	if (is_question)
		return connection_find_by_peer(origin->cm, &origin->peer, address.sender,
					       message->kind == RNIC_CM_SIDR_REQ);
	connection = connection_find(origin->cm, address.receiver);
	if (connection == NULL || !cm_is_from_peer(connection, origin, message, address.sender))
		return NULL;
	return connection;
}

/*
 * Zero stands for a peer's identifier that is not known yet. Such a connection would accept any
 * message.
 */
static bool has_identifier(const struct rnic_cm_message *message)
{
	return message->kind != RNIC_CM_REQ || message->req.local_comm_id != 0;
}

/* A REJ that names our connection. One without that comes of a peer that has not heard of it. */
static bool names_us(const struct rnic_cm_message *message)
{
	return message->kind == RNIC_CM_REJ && message->rej.remote_comm_id != 0;
}

/*
 * Whether the message may be from the connection's peer, as far as its UDP source port tells.
 * Hardware sends answers from another port than requests: what answers a message of the peer's has
 * no flow label and the port of none. An RTU or MRA ends nothing; a DREP follows our own DREQ; and
 * a DREP or REJ names identifiers, of which ours is random and nobody's but the peer's.
 */
static bool cm_is_from_port(struct cm_connection *connection, const struct request_origin *origin,
			    const struct rnic_cm_message *message)
{
	if (message->kind == RNIC_CM_RTU || message->kind == RNIC_CM_MRA ||
	    message->kind == RNIC_CM_DREP || names_us(message))
		return true;
	if (!connection_takes_port(connection, origin->port))
		return false;
	connection->peer_udp_port = origin->port;
	return true;
}

/* A message that names one of our connections, but not as its peer does, ends nothing. */
static bool is_claim_of_end(const struct request_origin *origin,
			    const struct rnic_cm_message *message)
{
	const struct cm_connection *named =
		connection_find(origin->cm, cm_address_of(message).receiver);

	return (message->kind == RNIC_CM_DREQ || message->kind == RNIC_CM_DREP ||
		message->kind == RNIC_CM_REJ) &&
	       named != NULL && !named->is_datagram;
}

/*
 * Tells the owner of a message of a connection, also when the holder has gone. A connection that
 * never had a holder is nobody's.
 */
static void cm_note_message(const struct cm_connection *connection,
			    const struct rnic_cm_message *message, bool is_sent)
{
	const struct cm_config *config = &connection->cm->config;
	struct cm_message_note note = {
		.kind = (uint8_t)message->kind,
		.is_sent = is_sent,
		.port = connection->is_active ? connection->peer_port : connection->local_port,
		.qpn = connection->local.qpn,
		.peer_qpn = connection->peer.qpn,
		.user = connection->user,
		.owner = connection->is_abandoned ? connection->owner : CM_OWNER_NONE,
	};

	if (config->sink->message == NULL || (note.user == NULL && note.owner == CM_OWNER_NONE))
		return;
	if (message->kind == RNIC_CM_REJ)
		note.reason = message->rej.reason;
	else if (message->kind == RNIC_CM_SIDR_REP)
		note.reason = message->sidr_rep.status;
	else if (message->kind == RNIC_CM_REP && !is_sent)
		note.peer_qpn = message->rep.local_qpn;
	config->sink->message(config->sink_context, &note);
}

static void cm_deliver(const struct request_origin *origin, const struct rnic_cm_message *message)
{
	const struct connection_input input = {.message = message};
	struct cm_connection *connection = cm_find(origin, message);

	if (connection != NULL && !cm_is_from_port(connection, origin, message))
		return;
	if (connection != NULL)
		cm_note_message(connection, message, false);
	if (connection != NULL)
		proven_address_heard(origin->cm, &connection->address,
				     cm_address_of(message).receiver != 0);
	if (connection == NULL && is_claim_of_end(origin, message))
		origin->cm->counters[CM_COUNTER_UNPROVEN]++;
	else if (connection != NULL)
		connection_step(connection,
				(enum connection_event)(EVENT_REQ + (message->kind - FIRST_KIND)),
				&input);
	else if (message->kind == RNIC_CM_REQ)
		request_receive(origin, message);
	else if (message->kind == RNIC_CM_SIDR_REQ)
		request_receive_datagram(origin, message);
	else
		request_answer_unknown(origin, message);
}

/* IBTA 1.4, 13.5.1: the general services QP and its Q_Key. */
static bool is_for_us(const struct rnic_packet *packet)
{
	return packet->row->service == RNIC_SERVICE_UD &&
	       (packet->row->headers & RNIC_HEADER_IMMEDIATE) == 0 &&
	       packet->dest_qpn == RNIC_GENERAL_SERVICES_QPN &&
	       packet->source_qpn == RNIC_GENERAL_SERVICES_QPN && packet->qkey == RNIC_MAD_QKEY &&
	       (packet->pkey & PKEY_MEMBER_BITS) == (DEFAULT_PKEY & PKEY_MEMBER_BITS) &&
	       !rnic_gid_is_multicast(&packet->addresses.dest) &&
	       !rnic_gid_is_multicast(&packet->addresses.source) &&
	       !rnic_gid_is_zero(&packet->addresses.source);
}

/* Returns whether --peer-ports takes a message from this port, when no port is pinned yet. */
static bool cm_takes_stranger(const struct request_origin *origin)
{
	const struct cm_config *config = &origin->cm->config;
	const struct cm_strange_port strange = {.peer = origin->peer, .port = origin->port};

	if (rnic_peer_ports_admit(config->peer_ports, 0, origin->port, RNIC_GENERAL_SERVICES_QPN,
				  RNIC_GENERAL_SERVICES_QPN))
		return true;
	origin->cm->counters[CM_COUNTER_BAD_PORT]++;
	if (config->sink->strange_port != NULL)
		config->sink->strange_port(config->sink_context, &strange);
	return false;
}

void cm_receive(struct cm *cm, const struct rnic_packet *packet, uint64_t now_ns)
{
	const struct request_origin origin = {
		.cm = cm,
		.peer = packet->addresses.source,
		.local = packet->addresses.dest,
		.port = packet->addresses.source_port,
	};
	struct rnic_cm_message message;

	cm->now_ns = now_ns;
	cm->counters[CM_COUNTER_RECEIVED]++;
	if (!is_for_us(packet) ||
	    rnic_cm_decode(&message, packet->payload, packet->payload_bytes) != 0 ||
	    !has_identifier(&message))
		cm->counters[CM_COUNTER_MALFORMED]++;
	else if (cm_takes_stranger(&origin))
		cm_deliver(&origin, &message);
}

/* --- messages to send ------------------------------------------------------------------------- */

bool cm_has_ready(const struct cm *cm)
{
	return cm->replies.count > 0 || !list_is_empty(&cm->ready);
}

static void build(struct cm *cm, const struct rnic_cm_message *message,
		  const struct rnic_addresses *addresses, struct rnic_packet *out)
{
	int opcode = rnic_opcode_find(RNIC_SERVICE_UD, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 0);

	assert(opcode >= 0);
	rnic_cm_encode(message, cm->mad);
	*out = (struct rnic_packet){
		.addresses = *addresses,
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.migrated = true,
		.pkey = DEFAULT_PKEY,
		.dest_qpn = RNIC_GENERAL_SERVICES_QPN,
		.psn = rnic_psn(cm->psn++),
		.qkey = RNIC_MAD_QKEY,
		.source_qpn = RNIC_GENERAL_SERVICES_QPN,
		.payload = cm->mad,
		.payload_bytes = RNIC_MAD_BYTES,
	};
	cm->counters[CM_COUNTER_SENT]++;
	if (message->kind == RNIC_CM_REJ)
		cm->counters[CM_COUNTER_REJECTS_SENT]++;
}

static void build_reply(struct cm *cm, struct rnic_packet *out)
{
	const struct reply *reply = reply_take(&cm->replies);
	const struct rnic_addresses addresses = {
		.source = reply->source,
		.dest = reply->dest,
		.source_port = RNIC_UDP_PORT,
		.hop_limit = CONNECTION_HOP_LIMIT,
	};

	build(cm, &reply->message, &addresses, out);
}

/* Takes the connection's first queued kind: a REJ or an RTU goes before the DREQ. */
static void build_owed(struct cm *cm, struct rnic_packet *out)
{
	struct cm_connection *connection =
		list_first_entry(&cm->ready, struct cm_connection, ready_node);
	const struct rnic_addresses addresses = {
		.source = connection->path.source,
		.dest = connection->path.dest,
		.source_port = RNIC_UDP_PORT,
		.traffic_class = connection->path.traffic_class,
		.hop_limit = connection->path.hop_limit,
	};
	struct rnic_cm_message message = {0};
	uint32_t bit = (uint32_t)__builtin_ctz(connection->queued);

	connection_compose(connection, (enum rnic_cm_kind)(FIRST_KIND + bit), &message);
	cm_note_message(connection, &message, true);
	connection->queued &= (uint16_t) ~(1u << bit);
	list_remove(&connection->ready_node);
	if (connection->queued != 0)
		list_add_tail(&cm->ready, &connection->ready_node);
	build(cm, &message, &addresses, out);
}

bool cm_transmit(struct cm *cm, struct rnic_packet *out)
{
	if (cm->replies.count > 0)
		build_reply(cm, out);
	else if (!list_is_empty(&cm->ready))
		build_owed(cm, out);
	else
		return false;
	return true;
}

/* --- time ------------------------------------------------------------------------------------- */

uint64_t cm_next_deadline_ns(const struct cm *cm)
{
	const uint64_t timer_ns = timer_heap_earliest_ns(&cm->timers);
	const uint64_t pending_ns = request_pending_deadline_ns(cm);

	return pending_ns < timer_ns ? pending_ns : timer_ns;
}

void cm_tick(struct cm *cm, uint64_t now_ns)
{
	struct timer *timer;

	cm->now_ns = now_ns;
	while ((timer = timer_heap_pop_expired(&cm->timers, now_ns)) != NULL)
		connection_step(RNIC_CONTAINER_OF(timer, struct cm_connection, timer),
				EVENT_TIMEOUT, &(struct connection_input){0});
	request_pending_tick(cm);
}
