/* SPDX-License-Identifier: MIT */
#include "rpc/transport/rc_carrier.h"

#include "dial/dial.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)

/* Work requests of writes are their rings' addresses, which are beyond those of the slots. */
#define WRITE_ID (2 * CARRIER_RECEIVE_ID)

struct rc_connection {
	struct carrier_way base;
	struct rnic_cm_id *id;
	struct rnic_qp *qp;
	uint32_t sends;	 /* that have not completed */
	uint32_t writes; /* likewise */
	bool is_owned;
	bool is_lost;
	bool is_told; /* the owner knows that it is lost */
	bool is_ending;
	struct rc_connection *next;
	struct rc_connection **link; /* what points to this one */
};

/* The carrier neither loses nor reorders: what is sent again is what the peer did not take. */
static const struct rpc_session_config rc_config = {
	.datagram_bytes = RC_DATAGRAM_BYTES,
	.window_packets = RPC_WINDOW_PACKETS,
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

static bool is_full(const struct rc_connection *connection)
{
	return connection->sends + connection->writes == RC_SENDS_MAX;
}

/* --- connections ------------------------------------------------------------------------------ */

static struct rc_carrier *rc_of(struct carrier *carrier)
{
	return (struct rc_carrier *)carrier;
}

static int post_receive(struct rc_carrier *carrier, uint32_t slot)
{
	struct rnic_sge sge = carrier_slots_receive_sge(&carrier->slots, slot);
	struct rnic_recv_wr wr = {
		.wr_id = CARRIER_RECEIVE_ID + slot,
		.sge_list = &sge,
		.sge_count = 1,
	};
	const struct rnic_recv_wr *bad;

	return rnic_post_srq_recv(carrier->srq, &wr, &bad);
}

/* Makes one with a queue pair in INIT. It takes `id` over when it succeeds. */
static int make_connection(struct rc_carrier *carrier, struct rnic_cm_id *id,
			   struct rc_connection **made)
{
	struct rc_connection *connection = calloc(1, sizeof(*connection));
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_RC,
		.signal_all = true,
		.send_cq = carrier->completions.cq,
		.recv_cq = carrier->completions.cq,
		.srq = carrier->srq,
		.capacities = {.max_send_wr = RC_SENDS_MAX, .max_send_sge = 1},
		.user = connection,
	};
	int error;

	if (connection == NULL)
		return -ENOMEM;
	error = rnic_create_qp(carrier->device->pd, &options, &connection->qp);
	if (error == 0)
		error = rnic_dial_prepare(connection->qp);
	if (error != 0) {
		if (connection->qp != NULL)
			rnic_destroy_qp(connection->qp);
		free(connection);
		return error;
	}
	connection->base.carrier = &carrier->base;
	connection->id = id;
	rnic_cm_set_user(id, connection);
	connection->next = carrier->connections;
	connection->link = &carrier->connections;
	if (connection->next != NULL)
		connection->next->link = &connection->next;
	carrier->connections = connection;
	carrier->connection_count++;
	*made = connection;
	return 0;
}

static void destroy(struct rc_carrier *carrier, struct rc_connection *connection)
{
	if (connection->id != NULL)
		rnic_cm_destroy_id(connection->id);
	rnic_destroy_qp(connection->qp);
	*connection->link = connection->next;
	if (connection->next != NULL)
		connection->next->link = connection->link;
	carrier->connection_count--;
	free(connection);
}

/* From now on nothing is sent or received; what is under way completes as flushed. */
static void end(struct rc_connection *connection)
{
	struct rc_carrier *carrier = rc_of(connection->base.carrier);

	if (connection->is_ending)
		return;
	connection->is_ending = true;
	carrier->ending_count++;
	rnic_cm_destroy_id(connection->id);
	connection->id = NULL;
	rnic_dial_fail_qp(connection->qp);
}

static void lose(struct rc_connection *connection)
{
	if (connection->is_lost || connection->is_ending)
		return;
	if (!connection->is_owned) {
		end(connection);
		return;
	}
	connection->is_lost = true;
	rc_of(connection->base.carrier)->lost_count++;
}

static void destroy_ended(struct rc_carrier *carrier)
{
	struct rc_connection *connection, *next;

	for (connection = carrier->connections; connection != NULL && carrier->ending_count > 0;
	     connection = next) {
		next = connection->next;
		if (!connection->is_ending || connection->sends + connection->writes > 0)
			continue;
		carrier->ending_count--;
		destroy(carrier, connection);
	}
}

/* Who connects and then opens no session makes room for others. */
static bool make_room(struct rc_carrier *carrier)
{
	struct rc_connection *oldest = NULL;

	if (carrier->connection_count < carrier->connections_max)
		return true;
	for (struct rc_connection *at = carrier->connections; at != NULL; at = at->next)
		if (!at->is_owned && !at->is_ending)
			oldest = at;
	if (oldest != NULL)
		end(oldest);
	return oldest != NULL;
}

int rc_carrier_accept(struct rc_carrier *carrier, const struct rnic_cm_event *event)
{
	struct rnic_cm_parameters parameters;
	struct rc_connection *connection;
	int error = make_room(carrier) ? make_connection(carrier, event->id, &connection) : -ENOSPC;

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
		end(connection);
	return error;
}

/* --- ways ------------------------------------------------------------------------------------- */

static int seek(struct carrier *base, struct rnic_cm_id *id, struct carrier_way **way)
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
		end(connection);
		return error;
	}
	connection->is_owned = true;
	*way = &connection->base;
	return 0;
}

static int found(struct carrier_way *way, const struct rnic_cm_event *event)
{
	struct rc_connection *connection = (struct rc_connection *)way;

	(void)event;
	return rnic_dial_finish(connection->id, connection->qp);
}

static int open_way(struct carrier *carrier, const struct carrier_datagram *datagram,
		    struct carrier_way **way)
{
	struct rc_connection *connection = (struct rc_connection *)datagram->way;

	(void)carrier;
	if (connection->is_owned)
		return -EISCONN;
	connection->is_owned = true;
	*way = datagram->way;
	return 0;
}

static void close_way(struct carrier_way *way)
{
	struct rc_connection *connection = (struct rc_connection *)way;

	if (connection->is_lost && !connection->is_told)
		rc_of(way->carrier)->lost_count--;
	connection->is_owned = false;
	end(connection);
}

static bool is_source(const struct carrier_way *way, const struct carrier_datagram *datagram)
{
	return datagram->way == way;
}

static void note(struct carrier_way *way, const struct rnic_cm_event *event)
{
	if (event->type != RNIC_CM_ESTABLISHED)
		lose((struct rc_connection *)way);
}

static uint8_t *room(struct carrier_way *way)
{
	const struct rc_connection *connection = (const struct rc_connection *)way;
	struct rc_carrier *carrier = rc_of(way->carrier);

	if (is_full(connection) || !has_share(&carrier->sends, connection->sends)) {
		carrier->base.lacks_room = true;
		return NULL;
	}
	return carrier_slots_room(&carrier->slots);
}

static int send_datagram(struct carrier_way *way, uint32_t bytes)
{
	struct rc_connection *connection = (struct rc_connection *)way;
	struct rc_carrier *carrier = rc_of(way->carrier);
	struct rnic_sge sge = carrier_slots_send_sge(&carrier->slots, bytes);
	struct rnic_send_wr wr = {
		.wr_id = carrier_slots_next(&carrier->slots),
		.sge_list = &sge,
		.sge_count = 1,
		.opcode = RNIC_WR_SEND,
		.flags = RNIC_SEND_SOLICITED,
	};
	const struct rnic_send_wr *bad;
	int error = rnic_post_send(connection->qp, &wr, &bad);

	if (error != 0)
		return error;
	carrier_slots_take(&carrier->slots);
	take_share(&carrier->sends, &connection->sends);
	return 0;
}

/* --- rings ------------------------------------------------------------------------------------ */

static int open_ring(struct carrier *base, size_t bytes, bool is_for_peers,
		     struct carrier_ring **opened)
{
	struct rc_carrier *carrier = rc_of(base);
	struct carrier_ring *ring = calloc(1, sizeof(*ring));
	uint32_t access = RNIC_ACCESS_LOCAL_WRITE | (is_for_peers ? RNIC_ACCESS_REMOTE_WRITE : 0);
	int error;

	if (ring == NULL)
		return -ENOMEM;
	error = rnic_alloc(carrier->device->context, bytes, (void **)&ring->memory);
	if (error == 0)
		error = rnic_reg_mr(carrier->device->pd, ring->memory, bytes,
				    (uintptr_t)ring->memory, access, &ring->mr);
	if (error != 0) {
		if (ring->memory != NULL)
			rnic_free(carrier->device->context, ring->memory);
		free(ring);
		return error;
	}
	ring->carrier = base;
	ring->next = carrier->rings;
	ring->link = &carrier->rings;
	if (ring->next != NULL)
		ring->next->link = &ring->next;
	carrier->rings = ring;
	*opened = ring;
	return 0;
}

static void free_ring(struct carrier_ring *ring)
{
	rnic_dereg_mr(ring->mr);
	rnic_free(rc_of(ring->carrier)->device->context, ring->memory);
	*ring->link = ring->next;
	if (ring->next != NULL)
		ring->next->link = ring->link;
	free(ring);
}

static void close_ring(struct carrier_ring *ring)
{
	ring->is_closed = true;
	if (ring->under_way == 0)
		free_ring(ring);
}

static bool can_write(struct carrier_way *way)
{
	const struct rc_connection *connection = (const struct rc_connection *)way;
	bool can =
		!is_full(connection) && has_share(&rc_of(way->carrier)->writes, connection->writes);

	if (!can)
		way->carrier->lacks_room = true;
	return can;
}

static int write_ring(struct carrier_way *way, struct carrier_ring *ring, size_t offset,
		      uint32_t bytes, uint64_t remote_address, uint32_t rkey)
{
	struct rc_connection *connection = (struct rc_connection *)way;
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
	take_share(&rc_of(way->carrier)->writes, &connection->writes);
	ring->under_way++;
	return 0;
}

static void note_written(const struct rnic_completion *completion)
{
	struct carrier_ring *ring = (struct carrier_ring *)(uintptr_t)completion->wr_id;

	ring->under_way--;
	if (ring->is_closed && ring->under_way == 0)
		free_ring(ring);
}

/* --- receiving -------------------------------------------------------------------------------- */

static bool tell_lost(struct rc_carrier *carrier, struct carrier_datagram *datagram)
{
	for (struct rc_connection *at = carrier->connections; at != NULL && carrier->lost_count > 0;
	     at = at->next) {
		if (!at->is_lost || at->is_told || at->is_ending)
			continue;
		at->is_told = true;
		carrier->lost_count--;
		*datagram = (struct carrier_datagram){.carrier = &carrier->base, .way = &at->base};
		return true;
	}
	return false;
}

static void note_sent(struct rc_carrier *carrier, const struct rnic_completion *completion)
{
	struct rc_connection *connection = rnic_qp_user(completion->qp);

	if (completion->wr_id < CARRIER_RECEIVE_ID) {
		carrier_slots_give(&carrier->slots, (uint16_t)completion->wr_id);
		give_share(&carrier->sends, &connection->sends);
	} else {
		note_written(completion);
		give_share(&carrier->writes, &connection->writes);
	}
	if (completion->status != RNIC_WC_SUCCESS)
		lose(connection);
}

/* Whether a receive that completed is for somebody. */
static bool take(struct rc_carrier *carrier, const struct rnic_completion *completion,
		 struct carrier_datagram *datagram)
{
	struct rc_connection *connection = rnic_qp_user(completion->qp);
	uint32_t slot = (uint32_t)completion->wr_id - CARRIER_RECEIVE_ID;
	/* A WRITE with immediate leaves in the slot what somebody else sent before. */
	bool is_sent = completion->status == RNIC_WC_SUCCESS && completion->opcode == RNIC_WC_RECV;

	if (!is_sent)
		lose(connection);
	if (!is_sent || connection->is_ending)
		return false;
	carrier->lent = slot;
	*datagram = (struct carrier_datagram){
		.carrier = &carrier->base,
		.way = &connection->base,
		.bytes = carrier_slots_received(&carrier->slots, slot),
		.length = completion->byte_count,
	};
	return true;
}

static int receive(struct carrier *base, struct carrier_datagram *datagram)
{
	struct rc_carrier *carrier = rc_of(base);
	const struct rnic_completion *completion;
	int error = 0;

	if (carrier->lent >= 0)
		error = post_receive(carrier, (uint32_t)carrier->lent);
	carrier->lent = -1;
	if (error != 0)
		return error;
	while ((completion = carrier_completions_next(&carrier->completions, &error)) != NULL) {
		if (completion->wr_id < CARRIER_RECEIVE_ID || completion->wr_id >= WRITE_ID) {
			note_sent(carrier, completion);
			continue;
		}
		if (take(carrier, completion, datagram))
			return 1;
		error = post_receive(carrier, (uint32_t)completion->wr_id - CARRIER_RECEIVE_ID);
		if (error != 0)
			return error;
	}
	if (error != 0)
		return error;
	/* All completions were taken, so that none names what goes now. */
	if (carrier->ending_count > 0)
		destroy_ended(carrier);
	return tell_lost(carrier, datagram) ? 1 : 0;
}

static int arm(struct carrier *base)
{
	bool solicited_only = !base->lacks_room && rc_of(base)->ending_count == 0;

	base->lacks_room = false;
	return rnic_req_notify_cq(rc_of(base)->completions.cq, solicited_only);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static const struct carrier_calls rc_calls = {
	.config = &rc_config,
	.port_space = RNIC_PORT_SPACE_TCP,
	.qp_type = RNIC_QP_TYPE_RC,
	.found_event = RNIC_CM_CONNECT_RESPONSE,
	.seek = seek,
	.found = found,
	.open_way = open_way,
	.close_way = close_way,
	.is_source = is_source,
	.note = note,
	.receive = receive,
	.arm = arm,
	.room = room,
	.send = send_datagram,
	.open_ring = open_ring,
	.close_ring = close_ring,
	.can_write = can_write,
	.write = write_ring,
};

static int open_queues(struct rc_carrier *carrier)
{
	struct rnic_srq_options options = {.max_wr = carrier->slots.receive_count, .max_sge = 1};
	/* For all that can complete before anybody looks: one that overflows is dead. */
	uint32_t entries = carrier->slots.receive_count + 2 * carrier->slots.send_count;
	int error = rnic_create_cq(carrier->device->context, entries, carrier->device->channel, 0,
				   NULL, &carrier->completions.cq);

	if (error == 0)
		error = rnic_create_srq(carrier->device->pd, &options, &carrier->srq);
	for (uint32_t slot = 0; slot < carrier->slots.receive_count && error == 0; slot++)
		error = post_receive(carrier, slot);
	return error;
}

int rc_carrier_open(struct rc_carrier *carrier, struct carrier_device *device,
		    uint32_t connections_max, uint32_t receive_slots, uint32_t send_slots)
{
	const struct rc_budget budget = {.left = send_slots,
					 .left_to_share = send_slots - connections_max};
	int error;

	assert(connections_max < send_slots);
	*carrier = (struct rc_carrier){
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
	error = carrier_slots_open(&carrier->slots, device);
	if (error == 0)
		error = open_queues(carrier);
	if (error != 0)
		rc_carrier_close(carrier);
	return error;
}

void rc_carrier_close(struct rc_carrier *carrier)
{
	while (carrier->connections != NULL)
		destroy(carrier, carrier->connections);
	while (carrier->rings != NULL)
		free_ring(carrier->rings);
	if (carrier->srq != NULL)
		rnic_destroy_srq(carrier->srq);
	if (carrier->completions.cq != NULL)
		rnic_destroy_cq(carrier->completions.cq);
	carrier_slots_close(&carrier->slots);
	*carrier = (struct rc_carrier){.lent = -1};
}
