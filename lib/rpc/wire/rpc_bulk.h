/* SPDX-License-Identifier: MIT */
/*
 * Bodies that are too large for a message, and streams: what travels in chunks, under grants. The
 * side that receives grants so many chunks that it has room for, and grants more as it takes them;
 * the side that sends numbers chunks from 0 and waits when it has no grant. A machine without I/O;
 * chunks and grants are frames of the session, which puts them into order.
 *
 * A grant may offer memory: chunk n is then written into its slot n % slots by RDMA, before the
 * frame that tells of it, and is there when the frame is. Without memory, chunks are in the frames.
 *
 * Payload of a GRANT: 0 limit, 4 slots, 8 bytes of a slot, 12 rkey, 16 address. Of a CHUNK: 0
 * number, 4 bytes, 8 the chunk, unless it was written. A CHUNK of no bytes says that there will be
 * none any more: the answer to a CANCEL that asks for it.
 */
#ifndef LIB_RPC_WIRE_RPC_BULK_H
#define LIB_RPC_WIRE_RPC_BULK_H

#include "rpc/wire/rpc_frame.h"

#include <stdbool.h>
#include <stdint.h>

#define RPC_GRANT_BYTES	     24u
#define RPC_CHUNK_HEAD_BYTES 8u
#define RPC_SLOTS_MAX	     8u
#define RPC_SLOT_MAX_BYTES   (256u << 10)

/* The bytes that a LARGE frame announces are its payload: 64 bits. */
#define RPC_TOTAL_BYTES 8u

struct rpc_grant {
	uint32_t limit; /* the first chunk that must not be sent yet */
	uint32_t slots;
	uint32_t slot_bytes;
	uint32_t rkey;
	uint64_t address; /* 0: no memory is offered */
};

struct rpc_bulk_sender {
	struct rpc_grant grant;
	uint32_t next;
};

struct rpc_bulk_receiver {
	struct rpc_grant grant; /* as told last */
	uint32_t next;
};

struct rpc_chunk {
	uint32_t number;
	uint32_t bytes;
	const uint8_t *data; /* NULL: in the slot */
};

/* How large the body is that the payload of a LARGE frame announces; 0: it makes no sense. */
uint64_t rpc_bulk_total(const struct rpc_frame *frame);
void rpc_bulk_write_total(uint8_t payload[RPC_TOTAL_BYTES], uint64_t total);

/*
 * Takes a GRANT, the first or a later one. -EPROTO: it makes no sense, takes something back, or
 * offers other memory than before; the session is to be ended.
 */
int rpc_bulk_sender_grant(struct rpc_bulk_sender *sender, const struct rpc_frame *frame);

/*
 * How much memory a GRANT offers, in bytes, for who needs as much to write from; 0: none, or it
 * makes no sense.
 */
uint64_t rpc_bulk_offered_bytes(const struct rpc_frame *frame);

/* Whether the next chunk may be sent. */
bool rpc_bulk_sender_may_send(const struct rpc_bulk_sender *sender);

/* Notes the next chunk as sent and writes the head of its frame's payload; its number. */
uint32_t rpc_bulk_sender_chunk(struct rpc_bulk_sender *sender, uint32_t bytes,
			       uint8_t head[RPC_CHUNK_HEAD_BYTES]);

/* Begins with this memory (limit is ignored), for which the first grant is due. */
void rpc_bulk_receiver_init(struct rpc_bulk_receiver *receiver, const struct rpc_grant *memory);

/* Writes the grant of all that there is room for. */
void rpc_bulk_receiver_grant(struct rpc_bulk_receiver *receiver, uint8_t payload[RPC_GRANT_BYTES]);

/*
 * Whether enough was taken since the last grant that the peer should have another, who has so many
 * bytes left to send; UINT64_MAX: nobody knows. Who needs no more is granted none.
 */
bool rpc_bulk_receiver_owes_grant(const struct rpc_bulk_receiver *receiver, uint64_t left_bytes);

/*
 * Takes a CHUNK, the next one. -EPROTO: it is not the next, was not granted, or is longer than a
 * slot; the session is to be ended.
 */
int rpc_bulk_receiver_take(struct rpc_bulk_receiver *receiver, const struct rpc_frame *frame,
			   struct rpc_chunk *chunk);

#endif
