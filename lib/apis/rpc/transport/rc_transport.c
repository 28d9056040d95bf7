/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/transport/rc_transport.h"

#include "lib/apis/dial/dial.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)

/* The wr_id of a write is its ring's address, which is beyond the wr_ids of the slots. */
#define WRITE_ID (2 * TRANSPORT_RECEIVE_ID)

/*
 * Codes of ACK timeouts, 4.096 us * 2^code. The connection manager's own is longer than all of
 * them. The retries take 27 times the timeout, so that a peer may stand still for 0.9 s at least.
 */
enum {
	LEAST_TIMEOUT = 13,    /* 34 ms */
	GREATEST_TIMEOUT = 14, /* 67 ms */
	ROUND_TRIPS = 4,       /* that fit in a timeout: a path that is in use has queues */
};

#define NOTHING_IS_TIMED UINT64_MAX

struct rc_connection {
	struct transport_route base;
	struct rnic_cm_id *id;
	struct rnic_qp *qp;
	uint64_t timed_id; /* the wr_id of a send under way, or NOTHING_IS_TIMED */
	uint64_t timed_ns; /* when it was posted */
	uint8_t timeout;   /* the code */
	uint8_t wanted_timeout;
	uint32_t sends;	 /* not completed */
	uint32_t writes; /* not completed */
	bool is_owned;
	bool is_lost;
	bool is_told; /* the owner knows that it is lost */
	bool is_ending;
	struct rc_connection *next;
	struct rc_connection **link; /* the pointer to this one */
};

enum { RC_NOBODY_LISTENS = 8 }; /* REJ: invalid service ID */

/*
 * The transport neither loses nor reorders datagrams: the peer has not taken the ones that are sent
 * again. The offer is the size that every conversation has, for what comes with an agreement:
 * datagrams of several packets, acknowledgements on demand, and a window four times as large.
 */
static const struct rpc_conversation_config rc_config = {
	.datagram_bytes = RC_DATAGRAM_BYTES,
	.offer_bytes = RC_DATAGRAM_BYTES,
	.window_packets = RPC_WINDOW_PACKETS / 4,
	.max_message_bytes = RPC_BODY_INLINE_BYTES + 1024,
	.rto_initial_ns = 2000 * MS,
	.rto_min_ns = 2000 * MS,
	.rto_max_ns = 4000 * MS,
	.keepalive_ns = 1000 * MS,
	.dead_ns = 10000 * MS,
};

/* --- budgets ---------------------------------------------------------------------------------- */

static bool has_share(const struct rc_budget *budget, uint32_t own)
{
	return budget->left > 0 && (own == 0 || own - 1 < budget->left_to_share);
}

static void take_share(struct rc_budget *budget, uint32_t *own)
{
	budget->left--;
	if ((*own)++ > 0)
		budget->left_to_share--;
}

static void give_share(struct rc_budget *budget, uint32_t *own)
{
	budget->left++;
	if (--*own > 0)
		budget->left_to_share++;
}

static bool rc_transport_is_full(const struct rc_connection *connection)
{
	return connection->sends + connection->writes == RC_SENDS_MAX;
}

/* --- connections ------------------------------------------------------------------------------ */

static struct rc_transport *rc_of(struct transport *transport)
{
	return (struct rc_transport *)transport;
}

static int rc_transport_post_receive(struct rc_transport *transport, uint32_t slot)
{
	struct rnic_sge sge = transport_slots_receive_sge(&transport->slots, slot);
	struct rnic_recv_wr wr = {
		.wr_id = TRANSPORT_RECEIVE_ID + slot,
		.sge_list = &sge,
		.sge_count = 1,
	};
	const struct rnic_recv_wr *bad;

	return rnic_post_srq_recv(transport->srq, &wr, &bad);
}

/* Makes a connection with a queue pair in INIT. A successful call takes over `id`. */
static int make_connection(struct rc_transport *transport, struct rnic_cm_id *id,
			   struct rc_connection **made)
{
	struct rc_connection *connection = calloc(1, sizeof(*connection));
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_RC,
		.signal_all = true,
		.send_cq = transport->completions.cq,
		.recv_cq = transport->completions.cq,
		.srq = transport->srq,
		.capacities = {.max_send_wr = RC_SENDS_MAX, .max_send_sge = 1},
		.user = connection,
	};
	int error;

	if (connection == NULL)
		return -ENOMEM;
	error = rnic_create_qp(transport->device->pd, &options, &connection->qp);
	if (error == 0)
		error = rnic_dial_prepare(connection->qp);
	if (error != 0) {
		if (connection->qp != NULL)
			rnic_destroy_qp(connection->qp);
		free(connection);
		return error;
	}
	connection->base.transport = &transport->base;
	connection->id = id;
	connection->timed_id = NOTHING_IS_TIMED;
	connection->timeout = connection->wanted_timeout = GREATEST_TIMEOUT + 1;
	rnic_cm_set_user(id, connection);
	connection->next = transport->connections;
	connection->link = &transport->connections;
	if (connection->next != NULL)
		connection->next->link = &connection->next;
	transport->connections = connection;
	transport->connection_count++;
	*made = connection;
	return 0;
}

static void rc_transport_destroy(struct rc_transport *transport, struct rc_connection *connection)
{
	if (connection->id != NULL)
		rnic_cm_destroy_id(connection->id);
	rnic_destroy_qp(connection->qp);
	*connection->link = connection->next;
	if (connection->next != NULL)
		connection->next->link = connection->link;
	transport->connection_count--;
	free(connection);
}

/* Stops sending and receiving; posted requests complete as flushed. */
static void rc_transport_end(struct rc_connection *connection)
{
	struct rc_transport *transport = rc_of(connection->base.transport);

	if (connection->is_ending)
		return;
	connection->is_ending = true;
	transport->ending_count++;
	rnic_cm_destroy_id(connection->id);
	connection->id = NULL;
	rnic_dial_fail_qp(connection->qp);
}

static void lose(struct rc_connection *connection)
{
	if (connection->is_lost || connection->is_ending)
		return;
	if (!connection->is_owned) {
		rc_transport_end(connection);
		return;
	}
	connection->is_lost = true;
	rc_of(connection->base.transport)->lost_count++;
}

static void destroy_ended(struct rc_transport *transport)
{
	struct rc_connection *connection, *next;

	for (connection = transport->connections; connection != NULL && transport->ending_count > 0;
	     connection = next) {
		next = connection->next;
		if (!connection->is_ending || connection->sends + connection->writes > 0)
			continue;
		transport->ending_count--;
		rc_transport_destroy(transport, connection);
	}
}

/* Ends a connection without a conversation to make room for others. */
static bool rc_transport_make_room(struct rc_transport *transport)
{
	struct rc_connection *oldest = NULL;

	if (transport->connection_count < transport->connections_max)
		return true;
	for (struct rc_connection *at = transport->connections; at != NULL; at = at->next)
		if (!at->is_owned && !at->is_ending)
			oldest = at;
	if (oldest != NULL)
		rc_transport_end(oldest);
	return oldest != NULL;
}

int rc_transport_accept(struct rc_transport *transport, const struct rnic_cm_event *event)
{
	struct rnic_cm_parameters parameters;
	struct rc_connection *connection;
	int error = rc_transport_make_room(transport)
			    ? make_connection(transport, event->id, &connection)
			    : -ENOSPC;

	if (error != 0) {
		rnic_cm_destroy_id(event->id);
		return error;
	}
	error = rnic_dial_parameters(connection->qp, NULL, 0, &parameters);
	parameters.has_srq = 1;
	if (error == 0)
		error = rnic_dial_begin_accept(connection->id, connection->qp, &parameters,
					       &event->parameters);
	if (error != 0)
		rc_transport_end(connection);
	return error;
}

/* --- the ACK timeout -------------------------------------------------------------------------- */

static bool rc_transport_wants_timing(const struct rc_connection *connection)
{
	return connection->timed_id == NOTHING_IS_TIMED &&
	       connection->wanted_timeout > LEAST_TIMEOUT;
}

/* A send that was lost and repeated has taken longer than a round trip; the least time counts. */
static void end_timing(struct rc_connection *connection, const struct rnic_completion *completion)
{
	uint64_t took_ns = completion->timestamp_ns - connection->timed_ns;
	uint8_t code = LEAST_TIMEOUT;

	if (completion->wr_id != connection->timed_id)
		return;
	connection->timed_id = NOTHING_IS_TIMED;
	while (code <= GREATEST_TIMEOUT && (UINT64_C(4096) << code) / ROUND_TRIPS < took_ns)
		code++;
	if (code < connection->wanted_timeout)
		connection->wanted_timeout = code;
}

static void lower_timeout(struct rc_connection *connection)
{
	if (connection->wanted_timeout == connection->timeout || connection->is_lost ||
	    connection->is_ending || connection->sends + connection->writes > 0)
		return;
	connection->timeout = connection->wanted_timeout;
	if (rnic_dial_set_ack_timeout(connection->qp, connection->timeout) != 0)
		lose(connection);
}

/* --- routes ----------------------------------------------------------------------------------- */

static int rc_transport_seek(struct transport *base, struct rnic_cm_id *id,
			     struct transport_route **route)
{
	struct rnic_cm_parameters parameters;
	struct rc_connection *connection;
	int error = make_connection(rc_of(base), id, &connection);

	if (error != 0) {
		rnic_cm_destroy_id(id);
		return error;
	}
	error = rnic_dial_parameters(connection->qp, NULL, 0, &parameters);
	parameters.has_srq = 1;
	if (error == 0)
		error = rnic_cm_connect(id, &parameters);
	if (error != 0) {
		rc_transport_end(connection);
		return error;
	}
	connection->is_owned = true;
	*route = &connection->base;
	return 0;
}

static int rc_transport_found(struct transport_route *route, const struct rnic_cm_event *event)
{
	struct rc_connection *connection = (struct rc_connection *)route;

	(void)event;
	return rnic_dial_finish(connection->id, connection->qp);
}

static int rc_transport_open_route(struct transport *transport,
				   const struct transport_datagram *datagram,
				   struct transport_route **route)
{
	struct rc_connection *connection = (struct rc_connection *)datagram->route;

	(void)transport;
	if (connection->is_owned)
		return -EISCONN;
	connection->is_owned = true;
	*route = datagram->route;
	return 0;
}

static void rc_transport_close_route(struct transport_route *route)
{
	struct rc_connection *connection = (struct rc_connection *)route;

	if (connection->is_lost && !connection->is_told)
		rc_of(route->transport)->lost_count--;
	connection->is_owned = false;
	rc_transport_end(connection);
}

static bool rc_transport_is_source(const struct transport_route *route,
				   const struct transport_datagram *datagram)
{
	return datagram->route == route;
}

static void rc_transport_note(struct transport_route *route, const struct rnic_cm_event *event)
{
	if (event->type != RNIC_CM_ESTABLISHED)
		lose((struct rc_connection *)route);
}

static uint8_t *rc_transport_room(struct transport_route *route)
{
	const struct rc_connection *connection = (const struct rc_connection *)route;
	struct rc_transport *transport = rc_of(route->transport);

	if (rc_transport_is_full(connection) || !has_share(&transport->sends, connection->sends)) {
		transport->base.lacks_room = true;
		return NULL;
	}
	return transport_slots_room(&transport->slots);
}

static int rc_transport_send_datagram(struct transport_route *route, uint32_t bytes, bool is_urgent)
{
	struct rc_connection *connection = (struct rc_connection *)route;
	struct rc_transport *transport = rc_of(route->transport);
	struct rnic_sge sge = transport_slots_send_sge(&transport->slots, bytes);
	struct rnic_send_wr wr = {
		.wr_id = transport_slots_next(&transport->slots),
		.sge_list = &sge,
		.sge_count = 1,
		.opcode = RNIC_WR_SEND,
		.flags = is_urgent ? RNIC_SEND_SOLICITED : 0,
	};
	const struct rnic_send_wr *bad;
	bool is_timed = rc_transport_wants_timing(connection);
	uint64_t begin_ns = is_timed ? rnic_dial_now_ns() : 0;
	int error = rnic_post_send(connection->qp, &wr, &bad);

	if (error != 0)
		return error;
	if (is_timed) {
		connection->timed_id = wr.wr_id;
		connection->timed_ns = begin_ns;
	}
	transport_slots_take(&transport->slots);
	take_share(&transport->sends, &connection->sends);
	return 0;
}

/* --- rings ------------------------------------------------------------------------------------ */

static int open_ring(struct transport *base, size_t bytes, bool is_for_peers,
		     struct transport_ring **opened)
{
	struct rc_transport *transport = rc_of(base);
	struct transport_ring *ring = calloc(1, sizeof(*ring));
	uint32_t access = RNIC_ACCESS_LOCAL_WRITE | (is_for_peers ? RNIC_ACCESS_REMOTE_WRITE : 0);
	int error;

	if (ring == NULL)
		return -ENOMEM;
	error = rnic_alloc(transport->device->context, bytes, (void **)&ring->memory);
	if (error == 0)
		error = rnic_reg_mr(transport->device->pd, ring->memory, bytes,
				    (uintptr_t)ring->memory, access, &ring->mr);
	if (error != 0) {
		if (ring->memory != NULL)
			rnic_free(transport->device->context, ring->memory);
		free(ring);
		return error;
	}
	ring->transport = base;
	ring->next = transport->rings;
	ring->link = &transport->rings;
	if (ring->next != NULL)
		ring->next->link = &ring->next;
	transport->rings = ring;
	*opened = ring;
	return 0;
}

static void free_ring(struct transport_ring *ring)
{
	rnic_dereg_mr(ring->mr);
	rnic_free(rc_of(ring->transport)->device->context, ring->memory);
	*ring->link = ring->next;
	if (ring->next != NULL)
		ring->next->link = ring->link;
	free(ring);
}

static void close_ring(struct transport_ring *ring)
{
	ring->is_closed = true;
	if (ring->in_flight == 0)
		free_ring(ring);
}

static bool rc_transport_can_write(struct transport_route *route)
{
	const struct rc_connection *connection = (const struct rc_connection *)route;
	bool can = !rc_transport_is_full(connection) &&
		   has_share(&rc_of(route->transport)->writes, connection->writes);

	if (!can)
		route->transport->lacks_room = true;
	return can;
}

static int write_ring(struct transport_route *route, struct transport_ring *ring, size_t offset,
		      uint32_t bytes, uint64_t remote_address, uint32_t rkey)
{
	struct rc_connection *connection = (struct rc_connection *)route;
	struct rnic_sge sge = {
		.address = (uintptr_t)ring->memory + offset,
		.length = bytes,
		.lkey = rnic_mr_lkey(ring->mr),
	};
	struct rnic_send_wr wr = {
		.wr_id = (uintptr_t)ring,
		.sge_list = &sge,
		.sge_count = 1,
		.opcode = RNIC_WR_RDMA_WRITE,
		.remote_address = remote_address,
		.rkey = rkey,
	};
	const struct rnic_send_wr *bad;
	int error = rnic_post_send(connection->qp, &wr, &bad);

	if (error != 0)
		return error;
	take_share(&rc_of(route->transport)->writes, &connection->writes);
	ring->in_flight++;
	return 0;
}

static void note_written(const struct rnic_completion *completion)
{
	struct transport_ring *ring = (struct transport_ring *)(uintptr_t)completion->wr_id;

	ring->in_flight--;
	if (ring->is_closed && ring->in_flight == 0)
		free_ring(ring);
}

/* --- receiving -------------------------------------------------------------------------------- */

static bool tell_lost(struct rc_transport *transport, struct transport_datagram *datagram)
{
	for (struct rc_connection *at = transport->connections;
	     at != NULL && transport->lost_count > 0; at = at->next) {
		if (!at->is_lost || at->is_told || at->is_ending)
			continue;
		at->is_told = true;
		transport->lost_count--;
		*datagram = (struct transport_datagram){.transport = &transport->base,
							.route = &at->base};
		return true;
	}
	return false;
}

static void rc_transport_note_sent(struct rc_transport *transport,
				   const struct rnic_completion *completion)
{
	struct rc_connection *connection = rnic_qp_user(completion->qp);

	if (completion->wr_id < TRANSPORT_RECEIVE_ID) {
		transport_slots_give(&transport->slots, (uint16_t)completion->wr_id);
		give_share(&transport->sends, &connection->sends);
	} else {
		note_written(completion);
		give_share(&transport->writes, &connection->writes);
	}
	if (completion->status != RNIC_WC_SUCCESS) {
		lose(connection);
		return;
	}
	end_timing(connection, completion);
	lower_timeout(connection);
}

/* Whether a completed receive has a recipient. */
static bool rc_transport_take(struct rc_transport *transport,
			      const struct rnic_completion *completion,
			      struct transport_datagram *datagram)
{
	struct rc_connection *connection = rnic_qp_user(completion->qp);
	uint32_t slot = (uint32_t)completion->wr_id - TRANSPORT_RECEIVE_ID;
	/* A WRITE with immediate leaves an earlier datagram of another peer in the slot. */
	bool is_sent = completion->status == RNIC_WC_SUCCESS && completion->opcode == RNIC_WC_RECV;

	if (!is_sent)
		lose(connection);
	if (!is_sent || connection->is_ending)
		return false;
	transport->lent = slot;
	*datagram = (struct transport_datagram){
		.transport = &transport->base,
		.route = &connection->base,
		.bytes = transport_slots_received(&transport->slots, slot),
		.length = completion->byte_count,
	};
	return true;
}

static int rc_transport_receive(struct transport *base, struct transport_datagram *datagram)
{
	struct rc_transport *transport = rc_of(base);
	const struct rnic_completion *completion;
	int error = 0;

	if (transport->lent >= 0)
		error = rc_transport_post_receive(transport, (uint32_t)transport->lent);
	transport->lent = -1;
	if (error != 0)
		return error;
	while ((completion = transport_completions_next(&transport->completions, &error)) != NULL) {
		if (completion->wr_id < TRANSPORT_RECEIVE_ID || completion->wr_id >= WRITE_ID) {
			rc_transport_note_sent(transport, completion);
			continue;
		}
		if (rc_transport_take(transport, completion, datagram))
			return 1;
		error = rc_transport_post_receive(transport, (uint32_t)completion->wr_id -
								     TRANSPORT_RECEIVE_ID);
		if (error != 0)
			return error;
	}
	if (error != 0)
		return error;
	/* All completions were taken, so that none refers to the objects freed below. */
	if (transport->ending_count > 0)
		destroy_ended(transport);
	return tell_lost(transport, datagram) ? 1 : 0;
}

static int rc_transport_arm(struct transport *base)
{
	bool solicited_only = !base->lacks_room && rc_of(base)->ending_count == 0;

	base->lacks_room = false;
	return rnic_req_notify_cq(rc_of(base)->completions.cq, solicited_only);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static uint32_t rc_transport_offer(const struct transport_route *route)
{
	(void)route;
	return RC_DATAGRAM_BYTES;
}

static const struct transport_calls rc_calls = {
	.config = &rc_config,
	.port_space = RNIC_PORT_SPACE_TCP,
	.qp_type = RNIC_QP_TYPE_RC,
	.found_event = RNIC_CM_CONNECT_RESPONSE,
	.nobody_listens = RC_NOBODY_LISTENS,
	.seek = rc_transport_seek,
	.found = rc_transport_found,
	.open_route = rc_transport_open_route,
	.close_route = rc_transport_close_route,
	.is_source = rc_transport_is_source,
	.note = rc_transport_note,
	.receive = rc_transport_receive,
	.arm = rc_transport_arm,
	.offer = rc_transport_offer,
	.room = rc_transport_room,
	.send = rc_transport_send_datagram,
	.open_ring = open_ring,
	.close_ring = close_ring,
	.can_write = rc_transport_can_write,
	.write = write_ring,
};

static int open_queues(struct rc_transport *transport)
{
	struct rnic_srq_options options = {.max_wr = transport->slots.receive_count, .max_sge = 1};
	/*
	 * Room for all completions that can come before the next poll: a CQ that overflows is dead.
	 */
	uint32_t entries = transport->slots.receive_count + 2 * transport->slots.send_count;
	int error = rnic_create_cq(transport->device->context, entries, transport->device->channel,
				   0, RNIC_CQ_TIMESTAMPS, NULL, &transport->completions.cq);

	if (error == 0)
		error = rnic_create_srq(transport->device->pd, &options, &transport->srq);
	for (uint32_t slot = 0; slot < transport->slots.receive_count && error == 0; slot++)
		error = rc_transport_post_receive(transport, slot);
	return error;
}

int rc_transport_open(struct rc_transport *transport, struct transport_device *device,
		      uint32_t connections_max, uint32_t receive_slots, uint32_t send_slots)
{
	const struct rc_budget budget = {.left = send_slots,
					 .left_to_share = send_slots - connections_max};
	int error;

	assert(connections_max < send_slots);
	*transport = (struct rc_transport){
		.base.calls = &rc_calls,
		.device = device,
		.slots = {.receive_count = receive_slots,
			  .receive_bytes = RC_DATAGRAM_BYTES,
			  .send_count = send_slots,
			  .send_bytes = RC_DATAGRAM_BYTES},
		.sends = budget,
		.writes = budget,
		.connections_max = connections_max,
		.lent = -1,
	};
	error = transport_slots_open(&transport->slots, device);
	if (error == 0)
		error = open_queues(transport);
	if (error != 0)
		rc_transport_close(transport);
	return error;
}

void rc_transport_close(struct rc_transport *transport)
{
	while (transport->connections != NULL)
		rc_transport_destroy(transport, transport->connections);
	while (transport->rings != NULL)
		free_ring(transport->rings);
	if (transport->srq != NULL)
		rnic_destroy_srq(transport->srq);
	if (transport->completions.cq != NULL)
		rnic_destroy_cq(transport->completions.cq);
	transport_slots_close(&transport->slots);
	*transport = (struct rc_transport){.lent = -1};
}
