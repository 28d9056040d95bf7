/* SPDX-License-Identifier: MIT */
#include "lib/nic/path/transmit.h"

#include "lib/nic/engine/verbs/qp.h"
#include "lib/nic/path/path_limits.h"
#include "proto/base/bits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * A slot begins at a cache line, and has room for the ICRC that the port appends. The headers begin
 * where the payload then lies at a multiple of PAYLOAD_ALIGNMENT, as the program's buffers mostly
 * do: the processor copies several times as fast between places that are equal modulo 16.
 */
#define PAYLOAD_ALIGNMENT   16
#define TRANSMIT_SLOT_BYTES ((RNIC_PACKET_BYTES_MAX + PAYLOAD_ALIGNMENT + 63) & ~63)
#define TRANSMIT_SLAB_BYTES ((size_t)LIMIT_TURN_TRANSMITS * TRANSMIT_SLOT_BYTES)

static void transmit_read_failed(void *context, void *owner, uint64_t tag, int error)
{
	struct transmit *transmit = context;

	(void)owner;
	if (transmit->origins[tag].error == 0)
		transmit->origins[tag].error = error;
}

int transmit_init(struct transmit *transmit, struct engine *engine, struct port *port,
		  struct packet_notes *notes)
{
	/* Mapped, so that slots that are never used cost nothing. */
	void *slab = mmap(NULL, TRANSMIT_SLAB_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (slab == MAP_FAILED)
		return -ENOMEM;
	transmit->engine = engine;
	transmit->port = port;
	transmit->slab = slab;
	transmit->notes = notes;
	transmit->texts = NULL;
	transmit->first = 0;
	transmit->count = 0;
	memory_batch_init(&transmit->reads, MEMORY_READ, transmit_read_failed, transmit);
	return 0;
}

void transmit_fini(struct transmit *transmit)
{
	munmap(transmit->slab, TRANSMIT_SLAB_BYTES);
	free(transmit->texts);
}

/* What a rule holds back is a copy outside the slab: without words. */
static const char *transmit_describe(void *context, const uint8_t *bytes)
{
	const struct transmit *transmit = context;
	const uintptr_t place = (uintptr_t)bytes - (uintptr_t)transmit->slab;

	return place < TRANSMIT_SLAB_BYTES ? transmit->texts[place / TRANSMIT_SLOT_BYTES] : NULL;
}

int transmit_set_capture(struct transmit *transmit)
{
	transmit->texts = calloc(LIMIT_TURN_TRANSMITS, sizeof(*transmit->texts));
	if (transmit->texts == NULL)
		return -ENOMEM;
	capture_expect_notes(transmit->notes->capture, transmit_describe, transmit);
	return 0;
}

/* The owner of a packet's reads: once one read of an owner failed, the batch skips the owner's
 * later reads, whose packets will be dropped. */
static void *transmit_owner(const struct packet_builder *built)
{
	struct qp *qp = built->qp;

	return built->packet.row->is_request ? (void *)&qp->requester : (void *)&qp->responder;
}

/* Gathers the payload of the packet in slot `index` to `bytes`. */
static void transmit_read_payload(struct transmit *transmit, const struct packet_builder *built,
				  uint32_t index, uint8_t *bytes)
{
	for (uint32_t i = 0; i < built->piece_count; i++) {
		const struct payload_piece *piece = &built->pieces[i];
		const struct memory_transfer transfer = {
			.region = piece->region,
			.offset = piece->offset,
			.bytes = bytes,
			.length = piece->length,
		};
		int error;

		if (piece->region == NULL) {
			memcpy(bytes, piece->inline_bytes, piece->length);
		} else {
			error = memory_batch_add(&transmit->reads, &transfer, transmit_owner(built),
						 index);
			if (error != 0)
				transmit_read_failed(transmit, NULL, index, error);
		}
		bytes += piece->length;
	}
}

static void transmit_build(struct transmit *transmit, const struct packet_builder *built,
			   uint32_t index)
{
	uint8_t *slot = transmit->slab + (size_t)index * TRANSMIT_SLOT_BYTES;
	const struct rnic_packet *packet = &built->packet;
	const uint32_t header_bytes = packet->row->header_bytes;
	uint8_t *bytes = slot + -header_bytes % PAYLOAD_ALIGNMENT;

	rnic_packet_encode_headers(packet, bytes);

	transmit->origins[index] = (struct transmit_origin){
		.qp = built->qp,
		.psn = packet->psn,
		.is_response = !packet->row->is_request,
	};
	if (transmit->texts != NULL)
		packet_notes_sent(transmit->notes, transmit->engine, built, transmit->texts[index]);
	transmit_read_payload(transmit, built, index, bytes + header_bytes);
	memset(bytes + header_bytes + packet->payload_bytes, 0,
	       rnic_pad_bytes(packet->payload_bytes));
	transmit->datagrams[index] = (struct datagram){
		.addresses = packet->addresses,
		.bytes = bytes,
		.length = rnic_packet_bytes(packet),
	};
}

/*
 * Reports packets whose payload could not be read, the first of each role of each QP, and drops
 * them and what was built after them for the same role: the engine goes back to the failed packet.
 * The QP's other role goes on: the peer must get its acknowledgements.
 */
static void transmit_drop_failed(struct transmit *transmit, uint32_t count, uint64_t now_ns)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct transmit_origin *failed = &transmit->origins[i];

		if (failed->error == 0 || failed->is_dropped)
			continue;
		for (uint32_t j = i; j < count; j++)
			if (transmit->origins[j].qp == failed->qp &&
			    transmit->origins[j].is_response == failed->is_response)
				transmit->origins[j].is_dropped = true;
		engine_payload_failed(transmit->engine, failed->qp, failed->psn,
				      failed->is_response, failed->error, now_ns);
	}
}

static uint32_t transmit_compact(struct transmit *transmit, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!transmit->origins[i].is_dropped)
			transmit->datagrams[kept++] = transmit->datagrams[i];
	return kept;
}

static void transmit_fill(struct transmit *transmit, uint64_t now_ns)
{
	struct packet_builder built;
	bool has_failed = false;
	uint32_t count = 0;

	while (count < LIMIT_TURN_TRANSMITS && engine_transmit(transmit->engine, &built, now_ns))
		transmit_build(transmit, &built, count++);
	memory_batch_flush(&transmit->reads);
	for (uint32_t i = 0; i < count; i++)
		has_failed |= transmit->origins[i].error != 0;
	if (has_failed) {
		transmit_drop_failed(transmit, count, now_ns);
		count = transmit_compact(transmit, count);
	}
	engine_packets_read(transmit->engine, now_ns);
	transmit->first = 0;
	transmit->count = count;
}

static uint32_t transmit_offer(struct transmit *transmit, uint64_t now_ns)
{
	uint32_t taken =
		transmit->port->ops->transmit(transmit->port, transmit->datagrams + transmit->first,
					      transmit->count - transmit->first, now_ns);

	assert(taken <= transmit->count - transmit->first);
	transmit->first += taken;
	return taken;
}

uint32_t transmit_run(struct transmit *transmit, uint64_t now_ns)
{
	struct port *port = transmit->port;
	uint32_t taken = 0;

	if (transmit_is_blocked(transmit)) {
		taken = transmit_offer(transmit, now_ns);
		if (transmit_is_blocked(transmit))
			return taken;
	} else if (port->ops->next_deadline_ns(port) <= now_ns) {
		/* A port that holds datagrams back sends those that are due. */
		port->ops->transmit(port, transmit->datagrams, 0, now_ns);
	}
	if (engine_has_ready(transmit->engine)) {
		transmit_fill(transmit, now_ns);
		if (transmit_is_blocked(transmit))
			taken += transmit_offer(transmit, now_ns);
	}
	return taken;
}
