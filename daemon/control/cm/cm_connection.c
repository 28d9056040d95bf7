/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm/cm_connection.h"

#include "daemon/control/cm/cm_state.h"
#include "proto/base/be.h"
#include "proto/base/bits.h"
#include "proto/wire/timeout.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An identifier is 24 bits of key and 8 bits of tag, both random: a stranger cannot guess it. */
#define TAG_BITS 8

/* 1 ms and 69 s: the bounds of a time that a peer's code asks for. */
#define LEAST_TIMEOUT_CODE 8
#define MOST_TIMEOUT_CODE  24

/* A SIDR_REQ names no time between tries; Linux tries again after 4.1 s. */
#define SIDR_LINGER_CODE 20

#define RTU_REPEATS 2

#define QUEUED(kind) (1u << (RNIC_CM_##kind - RNIC_CM_REQ))

/* The kinds of messages that a state may queue. */
static const uint16_t may_queue[STATE_COUNT] = {
	[STATE_REQ_SENT] = QUEUED(REQ),
	[STATE_REP_RECEIVED] = QUEUED(MRA),
	[STATE_REQ_RECEIVED] = QUEUED(MRA),
	[STATE_REP_SENT] = QUEUED(REP),
	[STATE_ESTABLISHED] = QUEUED(RTU) | QUEUED(APR) | QUEUED(REP),
	[STATE_DREQ_SENT] = QUEUED(RTU) | QUEUED(REJ) | QUEUED(DREQ),
	[STATE_TIMEWAIT] = QUEUED(DREP),
	[STATE_REJECTED] = QUEUED(REJ),
	[STATE_SIDR_SENT] = QUEUED(SIDR_REQ),
	[STATE_SIDR_ANSWERED] = QUEUED(SIDR_REP),
};

const char *connection_state_text(enum connection_state state)
{
	static const char *const texts[STATE_COUNT] = {
		[STATE_REQ_SENT] = "req-sent",
		[STATE_REP_RECEIVED] = "rep-received",
		[STATE_REQ_RECEIVED] = "req-received",
		[STATE_REP_SENT] = "rep-sent",
		[STATE_ESTABLISHED] = "established",
		[STATE_DREQ_SENT] = "dreq-sent",
		[STATE_DREQ_RECEIVED] = "dreq-received",
		[STATE_TIMEWAIT] = "timewait",
		[STATE_REJECTED] = "rejected",
		[STATE_SIDR_SENT] = "sidr-sent",
		[STATE_SIDR_RECEIVED] = "sidr-received",
		[STATE_SIDR_ANSWERED] = "sidr-answered",
		[STATE_ENDED] = "ended",
	};

	assert(state < STATE_COUNT);
	return texts[state];
}

uint64_t connection_timeout_ns(uint8_t code)
{
	if (code < LEAST_TIMEOUT_CODE)
		code = LEAST_TIMEOUT_CODE;
	if (code > MOST_TIMEOUT_CODE)
		code = MOST_TIMEOUT_CODE;
	return rnic_ack_timeout_ns(code);
}

/* --- life ------------------------------------------------------------------------------------- */

int connection_create(struct cm *cm, struct cm_connection **out)
{
	struct cm_connection *connection;
	uint32_t key;
	int result;

	if (cm->connection_count >= cm->config.max_connections)
		return -ENOSPC;
	result = timer_heap_reserve(&cm->timers, cm->connection_count + 1);
	if (result != 0)
		return result;
	connection = calloc(1, sizeof(*connection));
	if (connection == NULL)
		return -ENOMEM;
	result = key_table_insert_random(&cm->by_comm_id, &cm->config.random, connection, &key);
	if (result != 0) {
		free(connection);
		return result;
	}
	connection->cm = cm;
	connection->owner = CM_OWNER_NONE;
	connection->address.is_proven = true;
	connection->state = STATE_ENDED;
	connection->comm_id =
		key << TAG_BITS | (uint32_t)random_source_below(&cm->config.random, 1u << TAG_BITS);
	list_add_tail(&cm->connections, &connection->node);
	cm->connection_count++;
	*out = connection;
	return 0;
}

/* Removes the connection from every table that the wire or the clock can find it by. */
static void cm_connection_detach(struct cm_connection *connection)
{
	struct cm *cm = connection->cm;
	uint32_t key = connection->comm_id >> TAG_BITS;

	connection->queued = 0;
	list_remove(&connection->ready_node);
	connection_answered(connection);
	proven_address_end(cm, &connection->address);
	connection_disarm(connection);
	peer_table_remove(&connection->by_peer);
	peer_table_remove(&connection->by_peer_qpn);
	if (key_table_find(&cm->by_comm_id, key) == connection)
		key_table_remove(&cm->by_comm_id, key);
}

void connection_free(struct cm_connection *connection)
{
	cm_connection_detach(connection);
	list_remove(&connection->node);
	connection->cm->connection_count--;
	free(connection);
}

void connection_end(struct cm_connection *connection)
{
	cm_connection_detach(connection);
	connection->state = STATE_ENDED;
	if (connection->is_abandoned)
		connection_free(connection);
}

/* --- finding ---------------------------------------------------------------------------------- */

struct cm_connection *connection_find(const struct cm *cm, uint32_t comm_id)
{
	struct cm_connection *connection = key_table_find(&cm->by_comm_id, comm_id >> TAG_BITS);

	return connection != NULL && connection->comm_id == comm_id ? connection : NULL;
}

struct cm_connection *connection_find_by_peer(const struct cm *cm, const struct rnic_gid *gid,
					      uint32_t peer_comm_id, bool is_datagram)
{
	struct peer_node *node = NULL;

	while ((node = peer_table_next(&cm->by_peer, gid, peer_comm_id, node)) != NULL) {
		struct cm_connection *connection =
			RNIC_CONTAINER_OF(node, struct cm_connection, by_peer);

		if (connection->is_datagram == is_datagram && !connection->is_active)
			return connection;
	}
	return NULL;
}

struct cm_connection *connection_find_living(const struct cm *cm, const struct rnic_gid *gid,
					     uint32_t peer_qpn)
{
	struct peer_node *node = NULL;

	while ((node = peer_table_next(&cm->by_peer_qpn, gid, peer_qpn, node)) != NULL) {
		struct cm_connection *connection =
			RNIC_CONTAINER_OF(node, struct cm_connection, by_peer_qpn);

		if (connection->state == STATE_ESTABLISHED || connection->state == STATE_REP_SENT)
			return connection;
	}
	return NULL;
}

bool connection_takes_port(struct cm_connection *connection, uint16_t port)
{
	const struct cm_config *config = &connection->cm->config;
	const struct cm_strange_port strange = {
		.peer = connection->path.dest,
		.port = port,
		.wanted = connection->peer_udp_port,
		.user = connection->is_abandoned ? NULL : connection->user,
	};

	if (connection->is_datagram ||
	    rnic_peer_ports_admit(config->peer_ports, connection->peer_udp_port, port,
				  RNIC_GENERAL_SERVICES_QPN, RNIC_GENERAL_SERVICES_QPN))
		return true;
	connection->cm->counters[CM_COUNTER_BAD_PORT]++;
	if (config->sink->strange_port != NULL && !connection->has_told_port)
		config->sink->strange_port(config->sink_context, &strange);
	connection->has_told_port = true;
	return false;
}

void connection_list_peer(struct cm_connection *connection)
{
	struct cm *cm = connection->cm;
	const struct rnic_gid *gid = &connection->path.dest;

	peer_table_insert(&cm->by_peer, &connection->by_peer, gid, connection->peer_comm_id);
	if (!connection->is_datagram)
		peer_table_insert(&cm->by_peer_qpn, &connection->by_peer_qpn, gid,
				  connection->peer.qpn);
}

/* --- building blocks of the actions ----------------------------------------------------------- */

void connection_enter(struct cm_connection *connection, enum connection_state state)
{
	connection->state = (uint8_t)state;
	connection->queued &= may_queue[state];
	if (connection->queued == 0)
		list_remove(&connection->ready_node);
}

void connection_queue_message(struct cm_connection *connection, enum rnic_cm_kind kind)
{
	uint16_t bit = (uint16_t)(1u << (kind - RNIC_CM_REQ));

	assert((may_queue[connection->state] & bit) != 0);
	if ((connection->queued & bit) != 0 ||
	    !proven_address_spend(connection->cm, &connection->address))
		return;
	connection->queued |= bit;
	if (!list_is_linked(&connection->ready_node))
		list_add_tail(&connection->cm->ready, &connection->ready_node);
}

void connection_send_reliably(struct cm_connection *connection, enum rnic_cm_kind kind)
{
	connection->retries_left = connection->max_retries;
	connection->is_extended = false;
	connection_queue_message(connection, kind);
	connection_arm(connection, connection->retry_timeout_ns);
}

void connection_send_rtu(struct cm_connection *connection)
{
	connection_queue_message(connection, RNIC_CM_RTU);
	if (connection->state != STATE_ESTABLISHED || connection->question.is_open)
		return;
	connection->retries_left = RTU_REPEATS;
	connection_arm(connection, connection->retry_timeout_ns);
}

/* Half of all connections are in use: a connection without a holder must not take more room. */
static bool is_crowded(const struct cm *cm)
{
	return cm->connection_count > cm->config.max_connections / 2;
}

bool connection_retry(struct cm_connection *connection, enum rnic_cm_kind kind)
{
	bool gives_way = connection->is_abandoned && is_crowded(connection->cm);

	if (connection->retries_left == 0 || gives_way) {
		connection->cm->counters[CM_COUNTER_TIMEOUTS]++;
		return false;
	}
	connection->retries_left--;
	connection->is_extended = false;
	connection->cm->counters[CM_COUNTER_RETRIES]++;
	connection_queue_message(connection, kind);
	connection_arm(connection, connection->retry_timeout_ns);
	return true;
}

void connection_arm(struct cm_connection *connection, uint64_t delay_ns)
{
	struct cm *cm = connection->cm;

	timer_heap_arm(&cm->timers, &connection->timer, cm->now_ns + delay_ns);
}

void connection_arm_together(struct cm_connection *connection, uint64_t delay_ns)
{
	const uint64_t now_ns = connection->cm->now_ns;

	connection_arm(connection,
		       rnic_round_up(now_ns + delay_ns, CONNECTION_TOGETHER_NS) - now_ns);
}

void connection_give_way(struct cm_connection *connection)
{
	if (connection->is_abandoned && is_crowded(connection->cm))
		connection_arm(connection, connection_timeout_ns(LEAST_TIMEOUT_CODE));
}

void connection_disarm(struct cm_connection *connection)
{
	timer_heap_disarm(&connection->cm->timers, &connection->timer);
}

static bool cm_connection_tell(struct cm_connection *connection, struct cm_event *event)
{
	const struct cm_config *config = &connection->cm->config;

	event->connection = connection;
	if (event->type != CM_EVENT_CONNECT_REQUEST)
		event->user = connection->user;
	return config->sink->event(config->sink_context, event);
}

bool connection_tell(struct cm_connection *connection, struct cm_event *event)
{
	if (connection->is_abandoned)
		return true;
	if (connection->must_tell_established) {
		struct cm_event established = {.type = CM_EVENT_ESTABLISHED};

		connection->must_tell_established = false;
		cm_connection_tell(connection, &established);
	}
	return cm_connection_tell(connection, event);
}

void connection_tell_simply(struct cm_connection *connection, enum cm_event_type type, int status)
{
	struct cm_event event = {.type = type, .status = status};

	connection_tell(connection, &event);
}

void connection_answered(struct cm_connection *connection)
{
	if (connection->binding == NULL)
		return;
	list_remove(&connection->pending_node);
	connection->binding->pending_count--;
	connection->binding = NULL;
	proven_address_answered(connection->cm, &connection->address);
	/* Nothing proves the address of a datagram service's peer: the answer is the end. */
	if (connection->is_datagram)
		proven_address_waive(connection->cm, &connection->address);
}

int connection_keep_private(struct cm_connection *connection, const uint8_t *data, uint32_t bytes,
			    uint32_t limit)
{
	assert(limit <= sizeof(connection->private_data));
	if (bytes > limit)
		return -EINVAL;
	memset(connection->private_data, 0, sizeof(connection->private_data));
	if (bytes > 0)
		memcpy(connection->private_data, data, bytes);
	connection->private_bytes = bytes;
	return 0;
}

uint64_t connection_linger_ns(const struct cm_connection *connection)
{
	const struct cm *cm = connection->cm;
	uint64_t try_ns = connection_timeout_ns(connection->response_timeout) +
			  connection_timeout_ns(connection->ack_timeout);

	if (is_crowded(cm))
		return connection_timeout_ns(LEAST_TIMEOUT_CODE);
	if (connection->is_datagram)
		return connection_timeout_ns(SIDR_LINGER_CODE);
	/* Two of the peer's tries: one of them may be lost. */
	return 2 * try_ns;
}

void connection_say_timeout(struct cm_connection *connection)
{
	struct cm *cm = connection->cm;
	struct rnic_cm_message *message;

	if (!proven_address_spend(cm, &connection->address))
		return;
	message = cm_add_reply(cm, &connection->path.source, &connection->path.dest);
	if (message == NULL)
		return;
	message->kind = RNIC_CM_REJ;
	message->transaction_id = connection->transaction_id;
	message->rej = (struct rnic_cm_rej){
		.local_comm_id = connection->comm_id,
		.remote_comm_id = connection->peer_comm_id,
		.message = RNIC_CM_ABOUT_OTHER,
		.info_bytes = sizeof(uint64_t),
		.reason = RNIC_CM_REJECT_TIMEOUT,
	};
	/* Linux finds the connection by this GUID (IBTA 1.4, table 109). */
	rnic_be64_write(message->rej.info, cm->config.ca_guid);
}

/* --- description ------------------------------------------------------------------------------ */

void cm_set_user(struct cm_connection *connection, void *user)
{
	connection->user = user;
}

void cm_note_owner(struct cm_connection *connection, uint32_t user)
{
	if (connection != NULL)
		connection->owner = user;
}

uint32_t cm_slot_count(const struct cm *cm)
{
	return cm->by_comm_id.slot_count;
}

const struct cm_connection *cm_slot_connection(const struct cm *cm, uint32_t slot)
{
	return slot < cm_slot_count(cm) ? key_table_slot(&cm->by_comm_id, slot) : NULL;
}

const struct cm_connection *cm_next_connection(const struct cm *cm,
					       const struct cm_connection *connection)
{
	const struct list *next = connection == NULL ? cm->connections.next : connection->node.next;

	return next == &cm->connections ? NULL : list_entry(next, struct cm_connection, node);
}

/* The phase of a datagram service that has ended. */
static enum cm_phase connection_datagram_result(const struct cm_connection *connection)
{
	if (connection->is_active)
		return connection->is_established ? CM_PHASE_CONNECTED : CM_PHASE_CLOSED;
	return connection->reason == RNIC_CM_SIDR_SUCCESS ? CM_PHASE_ACCEPTED : CM_PHASE_CLOSED;
}

/* The holder of a passive connection may not have got ESTABLISHED yet: cm_note_traffic(). */
static enum cm_phase connection_standing_phase(const struct cm_connection *connection)
{
	return connection->must_tell_established ? CM_PHASE_ACCEPTED : CM_PHASE_CONNECTED;
}

enum cm_phase cm_connection_phase(const struct cm_connection *connection)
{
	switch ((enum connection_state)connection->state) {
	case STATE_REQ_SENT:
	case STATE_SIDR_SENT:
		return CM_PHASE_CONNECTING;
	case STATE_REP_RECEIVED:
		return CM_PHASE_ANSWERED;
	case STATE_REQ_RECEIVED:
	case STATE_SIDR_RECEIVED:
		return CM_PHASE_REQUESTED;
	case STATE_REP_SENT:
		return CM_PHASE_ACCEPTED;
	case STATE_ESTABLISHED:
	case STATE_DREQ_SENT:
		return connection_standing_phase(connection);
	case STATE_SIDR_ANSWERED:
		return connection_datagram_result(connection);
	case STATE_ENDED:
		return connection->is_datagram ? connection_datagram_result(connection)
					       : CM_PHASE_CLOSED;
	case STATE_DREQ_RECEIVED:
	case STATE_TIMEWAIT:
	case STATE_REJECTED:
	case STATE_COUNT:
		break;
	}
	return CM_PHASE_CLOSED;
}

void cm_describe(const struct cm_connection *connection, struct cm_connection_info *info)
{
	*info = (struct cm_connection_info){
		.local = {connection->path.source, connection->local_port},
		.peer = {connection->path.dest, connection->peer_port},
		.path = connection->path,
		.port_space = connection->port_space,
		.qp_type = connection->qp_type,
		.is_active = connection->is_active,
		.is_abandoned = connection->is_abandoned,
		.is_established = connection->is_established,
		.qpn = connection->local.qpn,
		.peer_qpn = connection->peer.qpn,
		.comm_id = connection->comm_id,
		.peer_comm_id = connection->peer_comm_id,
		.owner = connection->owner,
		.state = connection_state_text((enum connection_state)connection->state),
	};
}
