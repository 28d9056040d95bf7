/* SPDX-License-Identifier: MIT */
/*
 * Chunks on a transport: the state machines of rpc_bulk.h with the memory behind them. On a
 * connection the receiving side offers a ring of registered memory and the other side writes into
 * the ring by RDMA; on datagrams chunks are in the frames. The owner of a transfer sends the frames
 * that the transfer makes.
 */
#ifndef LIB_RPC_TRANSPORT_BULK_TRANSFER_H
#define LIB_RPC_TRANSPORT_BULK_TRANSFER_H

#include "rpc/transport/transport.h"
#include "rpc/wire/rpc_bulk.h"

struct bulk_out {
	struct rpc_bulk_sender sender;
	struct transport_route *route; /* NULL: not begun, no grant came */
	struct transport_ring *stage;  /* what is written from; NULL: chunks are in frames */
	uint8_t *frame_payload; /* the head, and the chunk without a stage, while it is made */
};

struct bulk_in {
	struct rpc_bulk_receiver receiver;
	struct transport_ring *ring; /* NULL: chunks are in frames */
	uint8_t grant_payload[RPC_GRANT_BYTES];
};

/*
 * Takes a GRANT for chunks that go by `route`, which is the same as before. -EPROTO: see
 * rpc_bulk.h. -ENOMEM: the transfer cannot be made. Errors of registering memory.
 */
int bulk_out_grant(struct bulk_out *out, struct transport_route *route,
		   const struct rpc_frame *frame);

/* Whether chunks are in frames, and not written by RDMA. */
bool bulk_out_is_in_frames(const struct bulk_out *out);

/* Where the next chunk is to be written, up to *bytes; NULL: not now, or no memory for it now. */
uint8_t *bulk_out_room(struct bulk_out *out, uint32_t *bytes);

/* No more room is needed at present: gives back what there was for a chunk. */
void bulk_out_rest(struct bulk_out *out);

/*
 * Sends the first `bytes` bytes of that room, 0 of none: no more come. Fills in the frame, which
 * refers to the room.
 */
int bulk_out_send(struct bulk_out *out, uint64_t call, uint32_t bytes, struct rpc_frame *frame);

/* The memory that it has registered, for those who count: nothing else stays between chunks. */
uint64_t bulk_out_stage_bytes(const struct bulk_out *out);

void bulk_out_end(struct bulk_out *out);

/*
 * Makes room on the transport for chunks of `total` bytes (0: of no known number). The first grant
 * is due. Errors of registering memory; -ENOMEM.
 */
int bulk_in_begin(struct bulk_in *in, struct transport *transport, uint64_t total);

/* Fills in the frame of the grant that is due. */
void bulk_in_grant(struct bulk_in *in, uint64_t call, struct rpc_frame *frame);

/*
 * Takes a CHUNK, whose data stays until the next grant. In a ring the peer can change it at any
 * time: copy, then use. -EPROTO: see rpc_bulk.h.
 */
int bulk_in_take(struct bulk_in *in, const struct rpc_frame *frame, struct rpc_chunk *chunk);

/* The peer must not write any more: the peer said so, or the route is closed. */
void bulk_in_end(struct bulk_in *in);

#endif
