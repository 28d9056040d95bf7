/* SPDX-License-Identifier: MIT */
/*
 * Bodies that are too large for a message, and streams: both travel in chunks, under grants. The
 * receiving side grants as many chunks as it has room for, and grants more as it takes them. The
 * sending side numbers chunks from 0 and waits when it has no grant. A machine without I/O; chunks
 * and grants are frames of the conversation, which puts them into order.
 *
 * A grant may offer memory. The sender then writes chunk n into the slot n % slots by RDMA before
 * the frame for it, so that the chunk is there when the frame arrives. Without memory the frames
 * hold the chunks.
 *
 * Payload of a GRANT: 0 limit, 4 slots, 8 bytes of a slot, 12 rkey, 16 address. Of a CHUNK: 0
 * number, 4 bytes, 8 the chunk, unless RDMA wrote it. A CHUNK of no bytes says that no more chunks
 * come: the answer to a CANCEL that asks for it.
 */
#ifndef LIB_APIS_RPC_WIRE_RPC_BULK_H
#define LIB_APIS_RPC_WIRE_RPC_BULK_H

#include "lib/apis/rpc/wire/rpc_frame.h"

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
	uint64_t address; /* 0: the grant offers no memory */
};

struct rpc_bulk_sender {
	struct rpc_grant grant;
	uint32_t next;
};

struct rpc_bulk_receiver {
	struct rpc_grant grant; /* the last one sent */
	uint32_t next;
};

struct rpc_chunk {
	uint32_t number;
	uint32_t bytes;
	const uint8_t *data; /* NULL: in the slot */
};

/* The size of the body that the payload of a LARGE frame announces; 0: the payload is invalid. */
uint64_t rpc_bulk_total(const struct rpc_frame *frame);
void rpc_bulk_write_total(uint8_t payload[RPC_TOTAL_BYTES], uint64_t total);

/*
 * Takes a GRANT, the first or a later one. -EPROTO: the grant is invalid, takes something back, or
 * offers other memory than before; the caller must end the conversation.
 */
int rpc_bulk_sender_grant(struct rpc_bulk_sender *sender, const struct rpc_frame *frame);

/*
 * The bytes of memory that a GRANT offers, for a sender that needs as much to write from; 0: none,
 * or the grant is invalid.
 */
uint64_t rpc_bulk_offered_bytes(const struct rpc_frame *frame);

/* Whether the next chunk may be sent. */
bool rpc_bulk_sender_may_send(const struct rpc_bulk_sender *sender);

/* Notes the next chunk as sent and writes the head of its frame's payload; returns its number. */
uint32_t rpc_bulk_sender_chunk(struct rpc_bulk_sender *sender, uint32_t bytes,
			       uint8_t head[RPC_CHUNK_HEAD_BYTES]);

/* Begins with this memory (limit is ignored); the first grant is due. */
void rpc_bulk_receiver_init(struct rpc_bulk_receiver *receiver, const struct rpc_grant *memory);

/* Writes the grant of all free room. */
void rpc_bulk_receiver_grant(struct rpc_bulk_receiver *receiver, uint8_t payload[RPC_GRANT_BYTES]);

/*
 * Whether enough was taken since the last grant to give the peer another. The peer has `left_bytes`
 * left to send; UINT64_MAX: unknown. A peer that needs no more gets none.
 */
bool rpc_bulk_receiver_owes_grant(const struct rpc_bulk_receiver *receiver, uint64_t left_bytes);

/*
 * Takes the next CHUNK. -EPROTO: the chunk is not the next one, was not granted, or is longer than
 * a slot; the caller must end the conversation.
 */
int rpc_bulk_receiver_take(struct rpc_bulk_receiver *receiver, const struct rpc_frame *frame,
			   struct rpc_chunk *chunk);

#endif
