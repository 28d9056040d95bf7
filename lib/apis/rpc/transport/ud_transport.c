/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/transport/ud_transport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	GRH_BYTES = 40,
	RECEIVE_BYTES = GRH_BYTES + UD_DATAGRAM_BYTES,
	FIRST_POSTED = 512,
	/* A peer sends up to half as many datagrams without waking this side (ASK_PACKETS). */
	POSTED_FOR_ROUTE = 128,
	/*
	 * The offsets of a received packet's network header within those 40 bytes (IBTA A17.4.5.1).
	 */
	IPV4_SOURCE = 20 + 12,
	IPV6_SOURCE = 8,
	HOP_LIMIT = 64,
	UD_NOBODY_LISTENS = 1, /* SIDR: the service ID is not supported */
};

struct ud_route {
	struct transport_route base;
	struct rnic_cm_id *id; /* during the search */
	struct rnic_ah *ah;
	uint32_t qpn;
	struct rnic_gid gid;
	uint32_t mtu_bytes; /* of the path, as far as this side knows it */
};

static struct ud_transport *ud_of(struct transport *transport)
{
	return (struct ud_transport *)transport;
}

/* From the code of IBTA 1.4, 9.4.2: 1 is 256 bytes, 5 is 4096. */
static uint32_t mtu_bytes_of(uint32_t code)
{
	return 128u << (code < 5 ? code : 5);
}

/* --- the queue pair --------------------------------------------------------------------------- */

static int open_qp(struct ud_transport *transport)
{
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_UD,
		.signal_all = true,
		.capacities = {.max_send_wr = transport->slots.send_count,
			       .max_recv_wr = transport->slots.receive_count,
			       .max_send_sge = 1,
			       .max_recv_sge = 1},
	};
	int error =
		rnic_create_cq(transport->device->context,
			       transport->slots.send_count + transport->slots.receive_count,
			       transport->device->channel, 0, 0, NULL, &transport->completions.cq);

	if (error != 0)
		return error;
	options.send_cq = transport->completions.cq;
	options.recv_cq = transport->completions.cq;
	return rnic_create_qp(transport->device->pd, &options, &transport->qp);
}

static int ask_mtu(struct ud_transport *transport)
{
	struct rnic_port_attributes port;
	int error = rnic_query_port(transport->device->context, &port);

	if (error == 0)
		transport->mtu_bytes = mtu_bytes_of(port.active_mtu);
	return error;
}

void ud_transport_close(struct ud_transport *transport)
{
	if (transport->qp != NULL)
		rnic_destroy_qp(transport->qp);
	if (transport->completions.cq != NULL)
		rnic_destroy_cq(transport->completions.cq);
	transport_slots_close(&transport->slots);
	*transport = (struct ud_transport){.lent = -1};
}

static int ud_transport_post_receive(struct ud_transport *transport, uint32_t slot)
{
	struct rnic_sge sge = transport_slots_receive_sge(&transport->slots, slot);
	struct rnic_recv_wr wr = {
		.wr_id = TRANSPORT_RECEIVE_ID + slot,
		.sge_list = &sge,
		.sge_count = 1,
	};
	const struct rnic_recv_wr *bad;

	return rnic_post_recv(transport->qp, &wr, &bad);
}

/* Posts slots that were never posted, until so many are. */
static int post_up_to(struct ud_transport *transport, uint32_t wanted)
{
	int error = 0;

	if (wanted > transport->slots.receive_count)
		wanted = transport->slots.receive_count;
	while (error == 0 && transport->posted < wanted) {
		error = ud_transport_post_receive(transport, transport->posted);
		transport->posted += error == 0;
	}
	return error;
}

/* Each peer may fill some receives before the datagram that wakes this side. */
static int ud_transport_note_route(struct ud_transport *transport)
{
	transport->route_count++;
	return post_up_to(transport, FIRST_POSTED + POSTED_FOR_ROUTE * transport->route_count);
}

/* IBTA 1.4, 10.3.1: a UD queue pair needs no peer to become ready. */
static int ud_transport_bring_up(struct ud_transport *transport, uint32_t qkey)
{
	struct rnic_qp_attributes attributes = {
		.state = RNIC_QP_STATE_INIT, .port = 1, .qkey = qkey};
	int error = rnic_modify_qp(transport->qp, &attributes,
				   RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX |
					   RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_QKEY);

	if (error == 0)
		error = post_up_to(transport, FIRST_POSTED);
	attributes.state = RNIC_QP_STATE_RTR;
	if (error == 0)
		error = rnic_modify_qp(transport->qp, &attributes, RNIC_QP_ATTR_STATE);
	attributes.state = RNIC_QP_STATE_RTS;
	transport_random(&attributes.sq_psn, sizeof(attributes.sq_psn));
	attributes.sq_psn &= 0xffffff;
	if (error == 0)
		error = rnic_modify_qp(transport->qp, &attributes,
				       RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_SQ_PSN);
	return error;
}

int ud_transport_use_qkey(struct ud_transport *transport, uint32_t qkey)
{
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_RTS, .qkey = qkey};
	int error;

	if (transport->qkey == qkey)
		return 0;
	error = transport->qkey == 0 ? ud_transport_bring_up(transport, qkey)
				     : rnic_modify_qp(transport->qp, &attributes,
						      RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_QKEY);
	if (error == 0)
		transport->qkey = qkey;
	return error;
}

/* --- receiving -------------------------------------------------------------------------------- */

/* Reads the sender's GID from the header before the payload. */
static void ud_transport_read_gid(struct rnic_gid *gid, const uint8_t *grh, bool is_ipv4)
{
	*gid = (struct rnic_gid){{0}};
	if (is_ipv4) {
		gid->bytes[10] = 0xff;
		gid->bytes[11] = 0xff;
		memcpy(gid->bytes + 12, grh + IPV4_SOURCE, 4);
	} else {
		memcpy(gid->bytes, grh + IPV6_SOURCE, sizeof(gid->bytes));
	}
}

static bool ud_transport_is_same(const struct rnic_gid *a, const struct rnic_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* The answer leaves from the address that the request came to. */
static struct rnic_path describe_source(const struct rnic_completion *completion,
					const uint8_t *grh)
{
	struct rnic_path source = {
		.source_gid_index = (uint8_t)completion->source_gid_index,
		.hop_limit = HOP_LIMIT,
		.port = 1,
		.is_global = 1,
	};

	ud_transport_read_gid(&source.dest_gid, grh, completion->service_level == RNIC_WC_SL_IPV4);
	return source;
}

/* An unsent datagram counts as lost; the queue goes on (IBTA 1.4, 10.3.1.6). */
static void ud_transport_note_sent(struct ud_transport *transport,
				   const struct rnic_completion *completion)
{
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_RTS};

	transport_slots_give(&transport->slots, (uint16_t)completion->wr_id);
	if (completion->status != RNIC_WC_SUCCESS &&
	    transport->slots.free_count == transport->slots.send_count)
		rnic_modify_qp(transport->qp, &attributes, RNIC_QP_ATTR_STATE);
}

/* All that has come is taken. Peers that have sent so much at once may soon send more. */
static int ud_transport_note_empty(struct ud_transport *transport)
{
	const bool was_tight = transport->taken > transport->posted / 2;

	transport->taken = 0;
	return was_tight ? post_up_to(transport, 2 * transport->posted) : 0;
}

static int ud_transport_receive(struct transport *base, struct transport_datagram *datagram)
{
	struct ud_transport *transport = ud_of(base);
	const struct rnic_completion *completion;
	const uint8_t *received;
	int error;

	if (transport->lent >= 0) {
		error = ud_transport_post_receive(transport, (uint32_t)transport->lent);
		transport->lent = -1;
		if (error != 0)
			return error;
	}
	while ((completion = transport_completions_next(&transport->completions, &error)) != NULL) {
		uint32_t slot = (uint32_t)completion->wr_id - TRANSPORT_RECEIVE_ID;

		if (completion->wr_id < TRANSPORT_RECEIVE_ID) {
			ud_transport_note_sent(transport, completion);
			continue;
		}
		if (completion->status != RNIC_WC_SUCCESS)
			return -EIO;
		received = transport_slots_received(&transport->slots, slot);
		transport->taken++;
		datagram->source = describe_source(completion, received);
		transport->lent = slot;
		datagram->transport = &transport->base;
		datagram->route = NULL;
		datagram->bytes = received + GRH_BYTES;
		datagram->length = completion->byte_count - GRH_BYTES;
		datagram->source_qpn = completion->source_qpn;
		return 1;
	}
	return error == 0 ? ud_transport_note_empty(transport) : error;
}

/* --- sending ---------------------------------------------------------------------------------- */

/* Gives the slots back of datagrams that could not be posted: they count as lost. */
static void take_back(struct ud_transport *transport, const struct rnic_send_wr *bad)
{
	for (; bad != NULL; bad = bad->next)
		transport_slots_give(&transport->slots, (uint16_t)bad->wr_id);
}

static void ud_transport_flush(struct transport *base)
{
	struct ud_transport *transport = ud_of(base);
	const struct rnic_send_wr *bad;

	if (transport->batch_count == 0)
		return;
	transport->batch[transport->batch_count - 1].next = NULL;
	transport->batch_count = 0;
	if (rnic_post_send(transport->qp, transport->batch, &bad) != 0)
		take_back(transport, bad);
}

static uint8_t *ud_transport_room(struct transport_route *route)
{
	struct ud_transport *transport = ud_of(route->transport);

	if (transport->slots.free_count == 0) {
		transport->base.lacks_room = true;
		return NULL;
	}
	return transport_slots_room(&transport->slots);
}

/* A solicited datagram wakes the peer that waits for completions (IBTA 1.4, 11.4.2.2). */
static int ud_transport_send_datagram(struct transport_route *base, uint32_t bytes, bool is_urgent)
{
	struct ud_transport *transport = ud_of(base->transport);
	const struct ud_route *route = (const struct ud_route *)base;
	struct rnic_send_wr *wr = &transport->batch[transport->batch_count];
	struct rnic_sge *sge = &transport->batch_sges[transport->batch_count];

	*sge = transport_slots_send_sge(&transport->slots, bytes);
	*wr = (struct rnic_send_wr){
		.wr_id = transport_slots_next(&transport->slots),
		.next = wr + 1,
		.sge_list = sge,
		.sge_count = 1,
		.opcode = RNIC_WR_SEND,
		.flags = is_urgent ? RNIC_SEND_SOLICITED : 0,
		.datagram = {.ah = route->ah,
			     .remote_qpn = route->qpn,
			     .remote_qkey = transport->qkey},
	};
	transport_slots_take(&transport->slots);
	if (++transport->batch_count == UD_BATCH)
		ud_transport_flush(base->transport);
	return 0;
}

/* --- routes ----------------------------------------------------------------------------------- */

static void ud_transport_close_route(struct transport_route *base)
{
	struct ud_route *route = (struct ud_route *)base;

	ud_transport_flush(base->transport);
	if (route->ah != NULL)
		ud_of(base->transport)->route_count--;
	if (route->id != NULL)
		rnic_cm_destroy_id(route->id);
	if (route->ah != NULL)
		rnic_destroy_ah(route->ah); /* posted sends keep their path */
	free(route);
}

/* The server of the port answers with its queue pair (SIDR, IBTA 1.4, 12.11). */
static int ud_transport_seek(struct transport *transport, struct rnic_cm_id *id,
			     struct transport_route **sought)
{
	static const struct rnic_cm_parameters nothing;
	struct ud_route *route = calloc(1, sizeof(*route));
	int error = route == NULL ? -ENOMEM : rnic_cm_connect(id, &nothing);

	if (error != 0) {
		rnic_cm_destroy_id(id);
		free(route);
		return error;
	}
	route->base.transport = transport;
	route->id = id;
	rnic_cm_set_user(id, route);
	*sought = &route->base;
	return 0;
}

static int ud_transport_found(struct transport_route *base, const struct rnic_cm_event *event)
{
	struct ud_transport *transport = ud_of(base->transport);
	struct ud_route *route = (struct ud_route *)base;
	int error = ud_transport_use_qkey(transport, event->parameters.qkey);

	if (error == 0)
		error = rnic_create_ah(transport->device->pd, &event->path, &route->ah);
	if (error == 0)
		error = ud_transport_note_route(transport);
	route->qpn = event->parameters.qpn;
	route->gid = event->path.dest_gid;
	route->mtu_bytes = mtu_bytes_of(event->path_mtu);
	return error;
}

static int ud_transport_open_route(struct transport *transport,
				   const struct transport_datagram *datagram,
				   struct transport_route **opened)
{
	struct ud_route *route = calloc(1, sizeof(*route));
	int error;

	if (route == NULL)
		return -ENOMEM;
	error = rnic_create_ah(ud_of(transport)->device->pd, &datagram->source, &route->ah);
	if (error != 0) {
		free(route);
		return error;
	}
	error = ud_transport_note_route(ud_of(transport));
	if (error != 0) {
		ud_of(transport)->route_count--;
		rnic_destroy_ah(route->ah);
		free(route);
		return error;
	}
	route->base.transport = transport;
	route->qpn = datagram->source_qpn;
	route->gid = datagram->source.dest_gid;
	route->mtu_bytes = ud_of(transport)->mtu_bytes;
	*opened = &route->base;
	return 0;
}

static bool ud_transport_is_source(const struct transport_route *base,
				   const struct transport_datagram *datagram)
{
	const struct ud_route *route = (const struct ud_route *)base;

	return datagram->transport == base->transport && route->qpn == datagram->source_qpn &&
	       ud_transport_is_same(&route->gid, &datagram->source.dest_gid);
}

/* A server that was started again has another queue pair, and another key. */
static bool ud_transport_is_same_peer(const struct transport_route *base,
				      const struct rnic_cm_event *event)
{
	const struct ud_route *route = (const struct ud_route *)base;

	return route->qpn == event->parameters.qpn &&
	       ud_of(base->transport)->qkey == event->parameters.qkey &&
	       ud_transport_is_same(&route->gid, &event->path.dest_gid);
}

/* Once the queue pair is found, no more events follow. */
static void ud_transport_note(struct transport_route *route, const struct rnic_cm_event *event)
{
	(void)route;
	(void)event;
}

static int ud_transport_arm(struct transport *base)
{
	bool solicited_only = !base->lacks_room;

	base->lacks_room = false;
	return rnic_req_notify_cq(ud_of(base)->completions.cq, solicited_only);
}

/* The smaller MTU, that of the path or of the port, as far as a slot holds it. */
static uint32_t ud_transport_offer(const struct transport_route *base)
{
	const uint32_t port_bytes = ud_of(base->transport)->mtu_bytes;
	uint32_t bytes = ((const struct ud_route *)base)->mtu_bytes;

	if (bytes > port_bytes)
		bytes = port_bytes;
	if (bytes > UD_DATAGRAM_BYTES)
		bytes = UD_DATAGRAM_BYTES;
	return bytes >= rpc_conversation_defaults.datagram_bytes ? bytes : 0;
}

static const struct transport_calls ud_calls = {
	.config = &rpc_conversation_defaults,
	.port_space = RNIC_PORT_SPACE_UDP,
	.qp_type = RNIC_QP_TYPE_UD,
	.found_event = RNIC_CM_ESTABLISHED,
	.nobody_listens = UD_NOBODY_LISTENS,
	.is_same_peer = ud_transport_is_same_peer,
	.seek = ud_transport_seek,
	.found = ud_transport_found,
	.open_route = ud_transport_open_route,
	.close_route = ud_transport_close_route,
	.is_source = ud_transport_is_source,
	.note = ud_transport_note,
	.receive = ud_transport_receive,
	.arm = ud_transport_arm,
	.offer = ud_transport_offer,
	.room = ud_transport_room,
	.send = ud_transport_send_datagram,
	.flush = ud_transport_flush,
};

int ud_transport_open(struct ud_transport *transport, struct transport_device *device,
		      uint32_t receive_slots, uint32_t send_slots)
{
	int error;

	*transport = (struct ud_transport){
		.base.calls = &ud_calls,
		.device = device,
		.slots = {.receive_count = receive_slots,
			  .receive_bytes = RECEIVE_BYTES,
			  .send_count = send_slots,
			  .send_bytes = UD_DATAGRAM_BYTES},
		.lent = -1,
	};
	error = transport_slots_open(&transport->slots, device);
	if (error == 0)
		error = ask_mtu(transport);
	if (error == 0)
		error = open_qp(transport);
	if (error != 0)
		ud_transport_close(transport);
	return error;
}
