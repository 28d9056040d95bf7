/* SPDX-License-Identifier: MIT */
#include "tests/script/script_device.h"

#include "lib/nic/engine/reliability/credits.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/requester/peer_probe.h"
#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "tests/script/script_names.h"
#include "tests/sim/recv_room_copy.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SCRIPT_QPN  0x11
#define PORT	    1
#define HOP_LIMIT   64
#define PACKETS_MAX 10000 /* of one turn: more packets mean a loop */
#define START_NS    UINT64_C(1000000000)
#define SOURCE_PORT 49152

static const uint8_t engine_address[4] = {192, 0, 2, 1};
static const uint8_t script_address[4] = {192, 0, 2, 2};
static const uint8_t other_address[4] = {192, 0, 2, 3};

/* --- what is seen ---------------------------------------------------------------------------- */

static void list_start(struct script_seen_list *list)
{
	list->first = NULL;
	list->last = &list->first;
}

static struct script_seen *append(struct script_device *device, struct script_seen_list *list)
{
	struct script_seen *seen = calloc(1, sizeof(*seen));

	if (seen == NULL)
		abort();
	seen->at_ns = device->now_ns;
	*list->last = seen;
	list->last = &seen->next;
	return seen;
}

static void remove_first(struct script_seen_list *list)
{
	struct script_seen *seen = list->first;

	list->first = seen->next;
	if (list->first == NULL)
		list->last = &list->first;
	free(seen);
}

static void list_clear(struct script_seen_list *list)
{
	while (list->first != NULL)
		remove_first(list);
}

bool script_device_has_seen(const struct script_device *device)
{
	for (uint32_t kind = 0; kind < SEEN_COUNT; kind++) {
		if (device->seen[kind].first != NULL)
			return true;
	}
	return false;
}

const struct script_seen *script_device_peek(const struct script_device *device,
					     enum seen_kind kind)
{
	return device->seen[kind].first;
}

void script_device_drop(struct script_device *device, enum seen_kind kind)
{
	remove_first(&device->seen[kind]);
}

/* Starts a line of the log with the time in milliseconds. */
static void log_time(struct script_device *device)
{
	uint64_t ns = device->now_ns - device->start_ns;

	fprintf(device->log, "%8" PRIu64 ".%06" PRIu64 "  ", ns / 1000000, ns % 1000000);
}

static void log_packet(struct script_device *device, const char *mark,
		       const struct rnic_packet *packet, const char *remark)
{
	log_time(device);
	fprintf(device->log, "%s ", mark);
	script_packet_print(device->log, &device->resolver, packet);
	fprintf(device->log, "%s\n", remark);
}

void script_completion_print(FILE *out, const struct cqe *cqe)
{
	fprintf(out, "complete wr %" PRIu64 " %s", cqe->wr_id, script_wc_status_names[cqe->status]);
	if (cqe->status != RNIC_WC_SUCCESS)
		return;
	fprintf(out, " %s len %u", script_wc_opcode_names[cqe->opcode], cqe->byte_count);
	if (cqe->wc_flags & RNIC_WC_WITH_IMM)
		fprintf(out, " imm %#x", cqe->immediate);
	if (cqe->wc_flags & RNIC_WC_WITH_INVALIDATE)
		fprintf(out, " inv %#x", cqe->immediate);
	fprintf(out, "%s", cqe->is_solicited ? " solicited" : "");
}

/* --- the engine's sink ----------------------------------------------------------------------- */

static bool sink_completion(void *context, struct cq *cq, const struct cqe *cqe)
{
	struct script_device *device = context;
	uint32_t *room = cq == &device->send_cq ? &device->send_cq_room : &device->recv_cq_room;

	if (*room == 0)
		return false;
	(*room)--;
	append(device, &device->seen[SEEN_COMPLETION])->cqe = *cqe;
	log_time(device);
	fprintf(device->log, "  ");
	script_completion_print(device->log, cqe);
	fprintf(device->log, "\n");
	return true;
}

static void sink_async_event(void *context, enum rnic_async_event_type type, void *object)
{
	struct script_device *device = context;

	(void)object;
	append(device, &device->seen[SEEN_EVENT])->event = type;
	log_time(device);
	fprintf(device->log, "  event %s\n", script_event_names[type]);
}

static uint32_t resolve(const struct script_device *device, const struct script_key *key)
{
	return script_key_resolve(key, device->region_keys);
}

static void resolve_sges(const struct script_device *device, const struct script_post *post,
			 struct rnic_sge *sges)
{
	for (uint32_t i = 0; i < post->sge_count; i++)
		sges[i] = (struct rnic_sge){
			.address = post->sges[i].address,
			.length = post->sges[i].length,
			.lkey = resolve(device, &post->sges[i].lkey),
		};
}

static uint32_t sum_of_sges(const struct script_post *post)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < post->sge_count; i++)
		sum += post->sges[i].length;
	return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

static uint32_t sink_refill(void *context, const struct recv_queue *queue,
			    const struct recv_room *room)
{
	struct script_device *device = context;
	uint32_t filled = 0;

	(void)queue;
	while (device->ring_pushed < device->ring_posted && filled < room->count) {
		const struct script_post *post = device->ring[device->ring_pushed++];
		struct rnic_sge sges[SCRIPT_SGES_MAX];
		const struct recv_wqe wqe = {
			.wr_id = post->wr_id,
			.sge_count = post->sge_count,
			.length = sum_of_sges(post),
			.invalid = post->is_malformed,
		};

		resolve_sges(device, post, sges);
		recv_room_copy(room, filled++, &wqe, sges);
	}
	return filled;
}

static uint32_t sink_posted(void *context, const struct recv_queue *queue)
{
	const struct script_device *device = context;

	(void)queue;
	return device->ring_posted - device->ring_pushed;
}

static void sink_watch(void *context, struct recv_queue *queue)
{
	struct script_device *device = context;

	(void)queue;
	device->is_watched = true;
}

static const struct engine_sink sink = {
	.cqe = sink_completion,
	.async_event = sink_async_event,
	.refill = sink_refill,
	.posted = sink_posted,
	.watch = sink_watch,
};

/* --- client memory --------------------------------------------------------------------------- */

static bool alloc_window(struct script_device *device, uint32_t index)
{
	const struct script_region *given = &device->script->regions[index];
	struct script_memory_region *memory = &device->regions[index];

	if (mw_alloc(&device->engine, &memory->mw,
		     given->is_of_other_pd ? &device->other_pd : &device->pd,
		     (enum rnic_mw_type)given->window_type) != 0)
		return false;
	memory->is_registered = true;
	device->region_keys[index] = memory->mw.range.key;
	return true;
}

static bool register_region(struct script_device *device, uint32_t index)
{
	const struct script_region *given = &device->script->regions[index];
	struct script_memory_region *memory = &device->regions[index];

	if (given->window_type != 0)
		return alloc_window(device, index);
	memory->bytes = calloc(1, given->length);
	if (memory->bytes == NULL)
		return false;
	model_memory_init(&memory->model, memory->bytes, given->length, false);
	memory->mr = (struct mr){
		.pd = given->is_of_other_pd ? &device->other_pd : &device->pd,
		.region = &memory->model.region,
		.iova = given->address,
		.length = given->length,
		.access = given->access,
	};
	if (mr_register(&device->engine, &memory->mr) != 0)
		return false;
	memory->is_registered = true;
	device->region_keys[index] = memory->mr.key;
	return true;
}

uint8_t *script_device_bytes(struct script_device *device, uint64_t address)
{
	const struct script_region *region = script_find_region(device->script, address, 1);

	assert(region != NULL);
	return device->regions[region - device->script->regions].bytes +
	       (address - region->address);
}

void script_device_unmap(struct script_device *device, uint32_t region)
{
	device->regions[region].model.error = -EFAULT;
}

void script_device_deregister(struct script_device *device, uint32_t region)
{
	struct script_memory_region *memory = &device->regions[region];

	if (!memory->is_registered)
		return;
	if (device->script->regions[region].window_type != 0) {
		mw_dealloc(&device->engine, &memory->mw);
	} else if (memory->mr.bound_windows == 0) {
		mr_deregister(&device->engine, &memory->mr);
	} else {
		device->fault = "a region is deregistered that a window is bound to";
		return;
	}
	memory->is_registered = false;
}

/* --- the queue pair -------------------------------------------------------------------------- */

static bool to_state(struct script_device *device, struct rnic_qp_attributes *attributes,
		     enum rnic_qp_state state, uint32_t mask)
{
	if (device->script->settings[SETTING_STATE] < state)
		return true;
	attributes->state = state;
	return qp_modify(device->qp, attributes, mask | RNIC_QP_ATTR_STATE) == 0;
}

static struct rnic_path path_to_peer(void)
{
	return (struct rnic_path){
		.dest_gid = rnic_gid_from_ipv4(script_address),
		.hop_limit = HOP_LIMIT,
		.is_global = 1,
		.port = PORT,
	};
}

static bool bring_up_ud(struct script_device *device)
{
	const uint64_t *settings = device->script->settings;
	const struct rnic_path path = path_to_peer();
	struct rnic_qp_attributes attributes = {
		.port = PORT,
		.qkey = (uint32_t)settings[SETTING_QKEY],
		.sq_psn = (uint32_t)settings[SETTING_SEND_PSN],
	};

	return ah_init(&device->engine, &device->ah, &device->pd, &path) == 0 &&
	       to_state(device, &attributes, RNIC_QP_STATE_INIT,
			RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_QKEY) &&
	       to_state(device, &attributes, RNIC_QP_STATE_RTR, 0) &&
	       to_state(device, &attributes, RNIC_QP_STATE_RTS, RNIC_QP_ATTR_SQ_PSN);
}

static bool bring_up_connected(struct script_device *device)
{
	const uint64_t *settings = device->script->settings;
	const uint32_t of_responder =
		qp_has_responder(device->qp)
			? RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER
			: 0;
	const uint32_t of_requester = qp_has_requester(device->qp)
					      ? RNIC_QP_ATTR_RETRY_COUNT | RNIC_QP_ATTR_RNR_RETRY |
							RNIC_QP_ATTR_MAX_RD_ATOMIC
					      : 0;
	struct rnic_qp_attributes attributes = {
		.access_flags = (uint32_t)settings[SETTING_ACCESS],
		.port = PORT,
		.path_mtu = (uint8_t)(__builtin_ctzll(settings[SETTING_MTU]) - 7),
		.dest_qpn = SCRIPT_QPN,
		.rq_psn = (uint32_t)settings[SETTING_RECV_PSN],
		.sq_psn = (uint32_t)settings[SETTING_SEND_PSN],
		.max_rd_atomic = (uint8_t)settings[SETTING_MAX_RD_ATOMIC],
		.max_dest_rd_atomic = (uint8_t)settings[SETTING_MAX_DEST_RD_ATOMIC],
		.min_rnr_timer = (uint8_t)settings[SETTING_MIN_RNR_TIMER],
		.timeout = (uint8_t)settings[SETTING_TIMEOUT],
		.retry_count = (uint8_t)settings[SETTING_RETRY],
		.rnr_retry = (uint8_t)settings[SETTING_RNR_RETRY],
		.path = path_to_peer(),
	};

	return to_state(device, &attributes, RNIC_QP_STATE_INIT,
			RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_ACCESS_FLAGS) &&
	       to_state(device, &attributes, RNIC_QP_STATE_RTR,
			RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU | RNIC_QP_ATTR_DEST_QPN |
				RNIC_QP_ATTR_RQ_PSN | of_responder) &&
	       to_state(device, &attributes, RNIC_QP_STATE_RTS,
			RNIC_QP_ATTR_TIMEOUT | RNIC_QP_ATTR_SQ_PSN | of_requester);
}

/* As of a path that has been in use: no script is about its first steps. */
static void open_path(struct qp *qp)
{
	if (qp->peer_window == NULL)
		return;
	qp->peer_window->queue_bytes = LIMIT_PATH_WINDOW_BYTES;
	qp->peer_window->is_open = true;
}

/* The SRQ that the queue pair needs, if any. */
static bool create_srq(struct script_device *device)
{
	const uint64_t *settings = device->script->settings;
	bool is_xrc = settings[SETTING_QP] == SCRIPT_QP_XRC_TARGET;
	const struct srq_config config = {
		.pd = &device->pd,
		.xrcd = is_xrc ? &device->xrcd : NULL,
		.cq = is_xrc ? &device->recv_cq : NULL,
		.max_wr = SCRIPT_POSTS_MAX,
		.max_sge = SCRIPT_SGES_MAX,
	};

	xrcd_init(&device->xrcd);
	if (!is_xrc && settings[SETTING_QP] != SCRIPT_QP_RC_SRQ)
		return true;
	if (srq_create(&device->engine, &config, &device->srq) != 0)
		return false;
	device->srq->limit = (uint32_t)settings[SETTING_SRQ_LIMIT];
	return true;
}

static uint8_t qp_type_of(const struct script_device *device)
{
	switch ((enum script_qp)device->script->settings[SETTING_QP]) {
	case SCRIPT_QP_XRC_TARGET:
		return RNIC_QP_TYPE_XRC_TARGET;
	case SCRIPT_QP_XRC_INITIATOR:
		return RNIC_QP_TYPE_XRC_INITIATOR;
	case SCRIPT_QP_UD:
		return RNIC_QP_TYPE_UD;
	default:
		return RNIC_QP_TYPE_RC;
	}
}

static bool create_qp(struct script_device *device)
{
	uint8_t type = qp_type_of(device);
	bool is_target = type == RNIC_QP_TYPE_XRC_TARGET;
	bool has_receives = type == RNIC_QP_TYPE_RC || type == RNIC_QP_TYPE_UD;
	const struct qp_config config = {
		.type = type,
		.pd = is_target ? NULL : &device->pd,
		.send_cq = is_target ? NULL : &device->send_cq,
		.recv_cq = has_receives ? &device->recv_cq : NULL,
		.srq = is_target ? NULL : device->srq,
		.xrcd = is_target ? &device->xrcd : NULL,
		.capacities = {.max_send_wr = SCRIPT_POSTS_MAX,
			       .max_recv_wr = SCRIPT_POSTS_MAX,
			       .max_send_sge = SCRIPT_SGES_MAX,
			       .max_recv_sge = SCRIPT_SGES_MAX,
			       .max_inline_bytes = SCRIPT_INLINE_BYTES},
	};

	return qp_create(&device->engine, &config, &device->qp) == 0;
}

bool script_device_init(struct script_device *device, const struct script *script, FILE *log)
{
	const struct engine_config config = {
		.sink = &sink,
		.sink_context = device,
		.random = prng_source(&device->random),
		.max_qps = 1,
		.max_mrs = SCRIPT_REGIONS_MAX,
		.has_ecn = script->settings[SETTING_ECN] != 0,
		.kept_packets = (uint32_t)script->settings[SETTING_KEEP],
	};
	struct rnic_gid gid = rnic_gid_from_ipv4(engine_address);

	*device = (struct script_device){
		.script = script,
		.now_ns = START_NS,
		.start_ns = START_NS,
		.send_cq_room = (uint32_t)script->settings[SETTING_SEND_CQ],
		.recv_cq_room = (uint32_t)script->settings[SETTING_RECV_CQ],
		.log = log,
	};
	for (uint32_t kind = 0; kind < SEEN_COUNT; kind++)
		list_start(&device->seen[kind]);
	list_start(&device->inbound);
	prng_init(&device->random, 1);
	if (engine_init(&device->engine, &config) != 0)
		return false;
	device->engine.now_ns = device->now_ns;
	engine_set_gid(&device->engine, 0, &gid);
	engine_set_pkey(&device->engine, 0, (uint16_t)script->settings[SETTING_PKEY]);
	for (uint32_t i = 0; i < script->region_count; i++) {
		if (!register_region(device, i))
			return false;
	}
	if (!create_srq(device) || !create_qp(device))
		return false;
	if (script->settings[SETTING_QP] == SCRIPT_QP_UD ? !bring_up_ud(device)
							 : !bring_up_connected(device))
		return false;
	open_path(device->qp);
	device->resolver = (struct script_resolver){
		.script = script,
		.region_keys = device->region_keys,
		.script_qpn = SCRIPT_QPN,
		.engine_qpn = device->qp->qpn,
		.engine_srqn = device->srq != NULL ? device->srq->number : 0,
		.engine_qkey = device->qp->attributes.qkey,
	};
	return true;
}

void script_device_fini(struct script_device *device)
{
	if (device->qp != NULL)
		qp_destroy(device->qp);
	if (device->ah.pd != NULL)
		ah_fini(&device->ah);
	if (device->srq != NULL)
		srq_destroy(device->srq);
	for (uint32_t i = 0; i < device->script->region_count; i++) {
		if (device->script->regions[i].window_type != 0)
			script_device_deregister(device, i);
	}
	for (uint32_t i = 0; i < device->script->region_count; i++) {
		script_device_deregister(device, i);
		free(device->regions[i].bytes);
	}
	engine_fini(&device->engine);
	for (uint32_t kind = 0; kind < SEEN_COUNT; kind++)
		list_clear(&device->seen[kind]);
	list_clear(&device->inbound);
}

bool script_device_modify(struct script_device *device, enum rnic_qp_state state)
{
	const struct rnic_qp_attributes attributes = {.state = state};

	return qp_modify(device->qp, &attributes, RNIC_QP_ATTR_STATE) == 0;
}

bool script_device_probe(struct script_device *device)
{
	return peer_probe_ask(device->qp) == 0;
}

/* --- stimuli --------------------------------------------------------------------------------- */

void script_device_receive(struct script_device *device, const struct script_packet *packet)
{
	const struct rnic_addresses addresses = {
		.source =
			rnic_gid_from_ipv4(packet->is_from_other ? other_address : script_address),
		.dest = rnic_gid_from_ipv4(engine_address),
		.source_port = SOURCE_PORT,
		.traffic_class = (uint8_t)packet->values[FIELD_ECN],
		.hop_limit = HOP_LIMIT,
	};
	struct script_seen *inbound = append(device, &device->inbound);
	uint32_t length =
		script_packet_encode(packet, &device->resolver, &addresses, inbound->bytes);

	if (rnic_packet_decode(&inbound->packet, &addresses, inbound->bytes, length) != 0) {
		log_time(device);
		fprintf(device->log, "< a packet that no decoder takes\n");
		return;
	}
	if (rnic_icrc_check(&addresses, inbound->bytes, length, NULL) == RNIC_ICRC_BAD) {
		log_packet(device, "<", &inbound->packet, " (damaged: dropped)");
		return;
	}
	log_packet(device, "<", &inbound->packet, packet->is_from_other ? " from_other" : "");
	engine_receive(&device->engine, &inbound->packet, device->now_ns);
}

static void log_post(struct script_device *device, const char *queue,
		     const struct script_post *post)
{
	log_time(device);
	fprintf(device->log, "  post %s wr %" PRIu64 "\n", queue, post->wr_id);
}

/* Fields that opcodes and services of their own kind have beside, or instead of, the usual. */
static void set_operands(const struct script_device *device, const struct script_post *post,
			 struct send_wqe *wqe, const struct rnic_sge *sges)
{
	if (device->qp->type == RNIC_QP_TYPE_UD) {
		wqe->datagram.ah = &device->ah;
		wqe->datagram.remote_qpn = SCRIPT_QPN;
		wqe->datagram.remote_qkey = post->qkey;
	}
	switch (post->opcode) {
	case RNIC_WR_SEND_WITH_INVALIDATE:
	case RNIC_WR_LOCAL_INVALIDATE:
		wqe->immediate = resolve(device, &post->inv);
		break;
	case RNIC_WR_BIND_MW:
		wqe->remote_address = post->sge_count > 0 ? sges[0].address : 0;
		wqe->immediate = post->sge_count > 0 ? sges[0].lkey : 0;
		wqe->bind.length = wqe->length;
		wqe->bind.access = post->access;
		wqe->length = 0;
		wqe->sge_count = 0;
		break;
	case RNIC_WR_FLUSH:
		wqe->flush.length = post->flush_length;
		wqe->flush.type = post->flush_type;
		break;
	default:
		break;
	}
}

void script_device_post_send(struct script_device *device, const struct script_post *post)
{
	struct rnic_sge sges[SCRIPT_SGES_MAX];
	uint8_t *inline_bytes = NULL;
	struct send_wqe wqe = {
		.wr_id = post->wr_id,
		.remote_address = post->remote_address,
		.atomic = {.compare = post->compare, .swap_or_add = post->swap_or_add},
		.rkey = resolve(device, &post->rkey),
		.immediate = post->immediate,
		.length = sum_of_sges(post),
		.opcode = post->is_malformed ? (uint8_t)RNIC_WR_OPCODE_COUNT : post->opcode,
		.flags = post->flags,
		.sge_count = (uint8_t)post->sge_count,
		.srqn = post->srqn,
	};

	log_post(device, "send", post);
	resolve_sges(device, post, sges);
	set_operands(device, post, &wqe, sges);
	if (post->flags & RNIC_SEND_INLINE) {
		uint32_t copied = 0;

		assert(device->inline_posted < SCRIPT_POSTS_MAX);
		inline_bytes = device->inline_bytes[device->inline_posted++];
		if (wqe.length > SCRIPT_INLINE_BYTES)
			wqe.opcode = RNIC_WR_OPCODE_COUNT;
		for (uint32_t i = 0; wqe.length <= SCRIPT_INLINE_BYTES && i < post->sge_count;
		     i++) {
			memcpy(inline_bytes + copied, script_device_bytes(device, sges[i].address),
			       sges[i].length);
			copied += sges[i].length;
		}
		wqe.sge_count = 0;
	}
	qp_post_send(device->qp, &wqe, sges, inline_bytes);
}

void script_device_post_recv(struct script_device *device, const struct script_post *post)
{
	log_post(device, "recv", post);
	assert(device->ring_posted < SCRIPT_POSTS_MAX);
	device->ring[device->ring_posted++] = post;
	if (device->qp->state == RNIC_QP_STATE_ERR)
		qp_flush_receives(device->qp);
	if (device->is_watched)
		device->is_watched = !credits_posted(&device->engine, device->qp);
}

/* --- turns ----------------------------------------------------------------------------------- */

/* Headers, payload, pad and ICRC; the length, or the error of the client's memory. */
static int encode(const struct packet_builder *builder, uint8_t *bytes)
{
	const struct rnic_packet *packet = &builder->packet;
	size_t length = rnic_packet_encode_headers(packet, bytes);

	for (uint32_t i = 0; i < builder->piece_count; i++) {
		const struct payload_piece *piece = &builder->pieces[i];
		struct memory_transfer transfer = {piece->region, piece->offset, bytes + length,
						   piece->length};
		int error = 0;

		assert(length + piece->length <= RNIC_PACKET_BYTES_MAX - RNIC_ICRC_BYTES);
		if (piece->region == NULL)
			memcpy(bytes + length, piece->inline_bytes, piece->length);
		else if (transfer.region->ops->read(&transfer, 1, &error) != 1)
			return error;
		length += piece->length;
	}
	memset(bytes + length, 0, rnic_pad_bytes(packet->payload_bytes));
	length += rnic_pad_bytes(packet->payload_bytes);
	rnic_icrc_write(bytes + length, rnic_icrc_compute(&packet->addresses, 0, bytes, length));
	return (int)length + RNIC_ICRC_BYTES;
}

/* Decodes the engine's packet again from its bytes. */
static void see_packet(struct script_device *device, const struct packet_builder *builder)
{
	const struct rnic_addresses *addresses = &builder->packet.addresses;
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	struct rnic_gid dest = rnic_gid_from_ipv4(script_address);
	struct script_seen *seen;
	int length = encode(builder, bytes);

	if (length < 0) {
		engine_payload_failed(&device->engine, builder->qp, builder->packet.psn,
				      !builder->packet.row->is_request, length, device->now_ns);
		return;
	}
	seen = append(device, &device->seen[SEEN_PACKET]);
	memcpy(seen->bytes, bytes, (size_t)length);
	if (rnic_packet_decode(&seen->packet, addresses, seen->bytes, (size_t)length) != 0 ||
	    rnic_icrc_check(addresses, seen->bytes, (size_t)length, NULL) != RNIC_ICRC_GOOD) {
		device->fault = "the engine sent a packet that cannot be decoded";
		seen->packet = builder->packet;
		seen->packet.payload_bytes = 0;
	} else if (!rnic_gid_equal(&addresses->dest, &dest)) {
		device->fault = "the engine sent a packet to an address that is not the peer's";
	}
	log_packet(device, ">", &seen->packet, "");
}

void script_device_turn(struct script_device *device)
{
	struct packet_builder builder;
	uint32_t count = 0;

	engine_flush(&device->engine, device->now_ns);
	list_clear(&device->inbound);
	if (engine_next_deadline_ns(&device->engine) <= device->now_ns)
		engine_tick(&device->engine, device->now_ns);
	do {
		while (device->fault == NULL &&
		       engine_transmit(&device->engine, &builder, device->now_ns)) {
			see_packet(device, &builder);
			if (++count == PACKETS_MAX)
				device->fault = "the engine does not stop sending";
		}
		engine_packets_read(&device->engine, device->now_ns);
	} while (device->fault == NULL && engine_has_ready(&device->engine));
}

void script_device_advance(struct script_device *device, uint64_t until_ns)
{
	uint64_t deadline_ns = engine_next_deadline_ns(&device->engine);

	device->now_ns = deadline_ns < until_ns ? deadline_ns : until_ns;
	script_device_turn(device);
}
