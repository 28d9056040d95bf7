/* SPDX-License-Identifier: MIT */
#include "rpc/transport/ud_transport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	GRH_BYTES = 40,
	RECEIVE_BYTES = GRH_BYTES + UD_DATAGRAM_BYTES,
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
};

static struct ud_transport *ud_of(struct transport *transport)
{
	return (struct ud_transport *)transport;
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
	int error = rnic_create_cq(transport->device->context,
				   transport->slots.send_count + transport->slots.receive_count,
				   transport->device->channel, 0, NULL, &transport->completions.cq);

	if (error != 0)
		return error;
	options.send_cq = transport->completions.cq;
	options.recv_cq = transport->completions.cq;
	return rnic_create_qp(transport->device->pd, &options, &transport->qp);
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

/* IBTA 1.4, 10.3.1: a UD queue pair needs no peer to become ready. */
static int ud_transport_bring_up(struct ud_transport *transport, uint32_t qkey)
{
	struct rnic_qp_attributes attributes = {
		.state = RNIC_QP_STATE_INIT, .port = 1, .qkey = qkey};
	int error = rnic_modify_qp(transport->qp, &attributes,
				   RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX |
					   RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_QKEY);

	for (uint32_t slot = 0; slot < transport->slots.receive_count && error == 0; slot++)
		error = ud_transport_post_receive(transport, slot);
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
		datagram->source = describe_source(completion, received);
		transport->lent = slot;
		datagram->transport = &transport->base;
		datagram->route = NULL;
		datagram->bytes = received + GRH_BYTES;
		datagram->length = completion->byte_count - GRH_BYTES;
		datagram->source_qpn = completion->source_qpn;
		return 1;
	}
	return error;
}

/* --- routes ----------------------------------------------------------------------------------- */

static void ud_transport_close_route(struct transport_route *base)
{
	struct ud_route *route = (struct ud_route *)base;

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
	route->qpn = event->parameters.qpn;
	route->gid = event->path.dest_gid;
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
	route->base.transport = transport;
	route->qpn = datagram->source_qpn;
	route->gid = datagram->source.dest_gid;
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

static uint8_t *ud_transport_room(struct transport_route *route)
{
	struct ud_transport *transport = ud_of(route->transport);

	if (transport->slots.free_count == 0) {
		transport->base.lacks_room = true;
		return NULL;
	}
	return transport_slots_room(&transport->slots);
}

static int ud_transport_send_datagram(struct transport_route *base, uint32_t bytes)
{
	struct ud_transport *transport = ud_of(base->transport);
	struct ud_route *route = (struct ud_route *)base;
	struct rnic_sge sge = transport_slots_send_sge(&transport->slots, bytes);
	struct rnic_send_wr wr = {
		.wr_id = transport_slots_next(&transport->slots),
		.sge_list = &sge,
		.sge_count = 1,
		.opcode = RNIC_WR_SEND,
		.flags = RNIC_SEND_SOLICITED,
		.datagram = {.ah = route->ah,
			     .remote_qpn = route->qpn,
			     .remote_qkey = transport->qkey},
	};
	const struct rnic_send_wr *bad;
	int error = rnic_post_send(transport->qp, &wr, &bad);

	if (error == 0)
		transport_slots_take(&transport->slots);
	return error;
}

static const struct transport_calls ud_calls = {
	.config = &rpc_session_defaults,
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
	.room = ud_transport_room,
	.send = ud_transport_send_datagram,
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
		error = open_qp(transport);
	if (error != 0)
		ud_transport_close(transport);
	return error;
}
