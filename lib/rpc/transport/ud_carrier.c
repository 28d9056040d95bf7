/* SPDX-License-Identifier: MIT */
#include "rpc/transport/ud_carrier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	GRH_BYTES = 40,
	RECEIVE_BYTES = GRH_BYTES + UD_DATAGRAM_BYTES,
	/* Where a received packet's network header is within those 40 bytes (IBTA A17.4.5.1). */
	IPV4_SOURCE = 20 + 12,
	IPV6_SOURCE = 8,
	HOP_LIMIT = 64,
};

struct ud_way {
	struct carrier_way base;
	struct rnic_cm_id *id; /* while it is sought */
	struct rnic_ah *ah;
	uint32_t qpn;
	struct rnic_gid gid;
};

static struct ud_carrier *ud_of(struct carrier *carrier)
{
	return (struct ud_carrier *)carrier;
}

/* --- the queue pair --------------------------------------------------------------------------- */

static int open_qp(struct ud_carrier *carrier)
{
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_UD,
		.signal_all = true,
		.capacities = {.max_send_wr = carrier->slots.send_count,
			       .max_recv_wr = carrier->slots.receive_count,
			       .max_send_sge = 1,
			       .max_recv_sge = 1},
	};
	int error = rnic_create_cq(carrier->device->context,
				   carrier->slots.send_count + carrier->slots.receive_count,
				   carrier->device->channel, 0, NULL, &carrier->completions.cq);

	if (error != 0)
		return error;
	options.send_cq = carrier->completions.cq;
	options.recv_cq = carrier->completions.cq;
	return rnic_create_qp(carrier->device->pd, &options, &carrier->qp);
}

void ud_carrier_close(struct ud_carrier *carrier)
{
	if (carrier->qp != NULL)
		rnic_destroy_qp(carrier->qp);
	if (carrier->completions.cq != NULL)
		rnic_destroy_cq(carrier->completions.cq);
	carrier_slots_close(&carrier->slots);
	*carrier = (struct ud_carrier){.lent = -1};
}

static int post_receive(struct ud_carrier *carrier, uint32_t slot)
{
	struct rnic_sge sge = carrier_slots_receive_sge(&carrier->slots, slot);
	struct rnic_recv_wr wr = {
		.wr_id = CARRIER_RECEIVE_ID + slot,
		.sge_list = &sge,
		.sge_count = 1,
	};
	const struct rnic_recv_wr *bad;

	return rnic_post_recv(carrier->qp, &wr, &bad);
}

/* IBTA 1.4, 10.3.1: a UD queue pair needs no peer to become ready. */
static int bring_up(struct ud_carrier *carrier, uint32_t qkey)
{
	struct rnic_qp_attributes attributes = {
		.state = RNIC_QP_STATE_INIT, .port = 1, .qkey = qkey};
	int error = rnic_modify_qp(carrier->qp, &attributes,
				   RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX |
					   RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_QKEY);

	for (uint32_t slot = 0; slot < carrier->slots.receive_count && error == 0; slot++)
		error = post_receive(carrier, slot);
	attributes.state = RNIC_QP_STATE_RTR;
	if (error == 0)
		error = rnic_modify_qp(carrier->qp, &attributes, RNIC_QP_ATTR_STATE);
	attributes.state = RNIC_QP_STATE_RTS;
	carrier_random(&attributes.sq_psn, sizeof(attributes.sq_psn));
	attributes.sq_psn &= 0xffffff;
	if (error == 0)
		error = rnic_modify_qp(carrier->qp, &attributes,
				       RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_SQ_PSN);
	return error;
}

int ud_carrier_use_qkey(struct ud_carrier *carrier, uint32_t qkey)
{
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_RTS, .qkey = qkey};
	int error;

	if (carrier->qkey == qkey)
		return 0;
	error = carrier->qkey == 0 ? bring_up(carrier, qkey)
				   : rnic_modify_qp(carrier->qp, &attributes,
						    RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_QKEY);
	if (error == 0)
		carrier->qkey = qkey;
	return error;
}

/* --- receiving -------------------------------------------------------------------------------- */

/* The sender's, which stands in the header before the payload. */
static void read_gid(struct rnic_gid *gid, const uint8_t *grh, bool is_ipv4)
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

static bool is_same(const struct rnic_gid *a, const struct rnic_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* The answer leaves from the address that was asked. */
static struct rnic_path describe_source(const struct rnic_completion *completion,
					const uint8_t *grh)
{
	struct rnic_path source = {
		.source_gid_index = (uint8_t)completion->source_gid_index,
		.hop_limit = HOP_LIMIT,
		.port = 1,
		.is_global = 1,
	};

	read_gid(&source.dest_gid, grh, completion->service_level == RNIC_WC_SL_IPV4);
	return source;
}

/* A datagram that could not be sent counts as lost; the queue goes on (IBTA 1.4, 10.3.1.6). */
static void note_sent(struct ud_carrier *carrier, const struct rnic_completion *completion)
{
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_RTS};

	carrier_slots_give(&carrier->slots, (uint16_t)completion->wr_id);
	if (completion->status != RNIC_WC_SUCCESS &&
	    carrier->slots.free_count == carrier->slots.send_count)
		rnic_modify_qp(carrier->qp, &attributes, RNIC_QP_ATTR_STATE);
}

static int receive(struct carrier *base, struct carrier_datagram *datagram)
{
	struct ud_carrier *carrier = ud_of(base);
	const struct rnic_completion *completion;
	const uint8_t *received;
	int error;

	if (carrier->lent >= 0) {
		error = post_receive(carrier, (uint32_t)carrier->lent);
		carrier->lent = -1;
		if (error != 0)
			return error;
	}
	while ((completion = carrier_completions_next(&carrier->completions, &error)) != NULL) {
		uint32_t slot = (uint32_t)completion->wr_id - CARRIER_RECEIVE_ID;

		if (completion->wr_id < CARRIER_RECEIVE_ID) {
			note_sent(carrier, completion);
			continue;
		}
		if (completion->status != RNIC_WC_SUCCESS)
			return -EIO;
		received = carrier_slots_received(&carrier->slots, slot);
		datagram->source = describe_source(completion, received);
		carrier->lent = slot;
		datagram->carrier = &carrier->base;
		datagram->way = NULL;
		datagram->bytes = received + GRH_BYTES;
		datagram->length = completion->byte_count - GRH_BYTES;
		datagram->source_qpn = completion->source_qpn;
		return 1;
	}
	return error;
}

/* --- ways ------------------------------------------------------------------------------------- */

static void close_way(struct carrier_way *base)
{
	struct ud_way *way = (struct ud_way *)base;

	if (way->id != NULL)
		rnic_cm_destroy_id(way->id);
	if (way->ah != NULL)
		rnic_destroy_ah(way->ah); /* what is posted keeps its path */
	free(way);
}

/* Who serves the port answers with its queue pair (SIDR, IBTA 1.4, 12.11). */
static int seek(struct carrier *carrier, struct rnic_cm_id *id, struct carrier_way **sought)
{
	static const struct rnic_cm_parameters nothing;
	struct ud_way *way = calloc(1, sizeof(*way));
	int error = way == NULL ? -ENOMEM : rnic_cm_connect(id, &nothing);

	if (error != 0) {
		rnic_cm_destroy_id(id);
		free(way);
		return error;
	}
	way->base.carrier = carrier;
	way->id = id;
	rnic_cm_set_user(id, way);
	*sought = &way->base;
	return 0;
}

static int found(struct carrier_way *base, const struct rnic_cm_event *event)
{
	struct ud_carrier *carrier = ud_of(base->carrier);
	struct ud_way *way = (struct ud_way *)base;
	int error = ud_carrier_use_qkey(carrier, event->parameters.qkey);

	if (error == 0)
		error = rnic_create_ah(carrier->device->pd, &event->path, &way->ah);
	way->qpn = event->parameters.qpn;
	way->gid = event->path.dest_gid;
	return error;
}

static int open_way(struct carrier *carrier, const struct carrier_datagram *datagram,
		    struct carrier_way **opened)
{
	struct ud_way *way = calloc(1, sizeof(*way));
	int error;

	if (way == NULL)
		return -ENOMEM;
	error = rnic_create_ah(ud_of(carrier)->device->pd, &datagram->source, &way->ah);
	if (error != 0) {
		free(way);
		return error;
	}
	way->base.carrier = carrier;
	way->qpn = datagram->source_qpn;
	way->gid = datagram->source.dest_gid;
	*opened = &way->base;
	return 0;
}

static bool is_source(const struct carrier_way *base, const struct carrier_datagram *datagram)
{
	const struct ud_way *way = (const struct ud_way *)base;

	return datagram->carrier == base->carrier && way->qpn == datagram->source_qpn &&
	       is_same(&way->gid, &datagram->source.dest_gid);
}

/* Who found the queue pair has nothing more to hear. */
static void note(struct carrier_way *way, const struct rnic_cm_event *event)
{
	(void)way;
	(void)event;
}

static int arm(struct carrier *base)
{
	bool solicited_only = !base->lacks_room;

	base->lacks_room = false;
	return rnic_req_notify_cq(ud_of(base)->completions.cq, solicited_only);
}

static uint8_t *room(struct carrier_way *way)
{
	struct ud_carrier *carrier = ud_of(way->carrier);

	if (carrier->slots.free_count == 0) {
		carrier->base.lacks_room = true;
		return NULL;
	}
	return carrier_slots_room(&carrier->slots);
}

static int send_datagram(struct carrier_way *base, uint32_t bytes)
{
	struct ud_carrier *carrier = ud_of(base->carrier);
	struct ud_way *way = (struct ud_way *)base;
	struct rnic_sge sge = carrier_slots_send_sge(&carrier->slots, bytes);
	struct rnic_send_wr wr = {
		.wr_id = carrier_slots_next(&carrier->slots),
		.sge_list = &sge,
		.sge_count = 1,
		.opcode = RNIC_WR_SEND,
		.flags = RNIC_SEND_SOLICITED,
		.datagram = {.ah = way->ah, .remote_qpn = way->qpn, .remote_qkey = carrier->qkey},
	};
	const struct rnic_send_wr *bad;
	int error = rnic_post_send(carrier->qp, &wr, &bad);

	if (error == 0)
		carrier_slots_take(&carrier->slots);
	return error;
}

static const struct carrier_calls ud_calls = {
	.config = &rpc_session_defaults,
	.port_space = RNIC_PORT_SPACE_UDP,
	.qp_type = RNIC_QP_TYPE_UD,
	.found_event = RNIC_CM_ESTABLISHED,
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
};

int ud_carrier_open(struct ud_carrier *carrier, struct carrier_device *device,
		    uint32_t receive_slots, uint32_t send_slots)
{
	int error;

	*carrier = (struct ud_carrier){
		.base.calls = &ud_calls,
		.device = device,
		.slots = {.receive_count = receive_slots,
			  .receive_bytes = RECEIVE_BYTES,
			  .send_count = send_slots,
			  .send_bytes = UD_DATAGRAM_BYTES},
		.lent = -1,
	};
	error = carrier_slots_open(&carrier->slots, device);
	if (error == 0)
		error = open_qp(carrier);
	if (error != 0)
		ud_carrier_close(carrier);
	return error;
}
