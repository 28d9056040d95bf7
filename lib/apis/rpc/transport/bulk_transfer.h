/* SPDX-License-Identifier: MIT */
/*
 * Chunks on a transport: the machines of rpc_bulk.h with the memory behind them. On a connection
 * the receiving side offers a ring of registered memory and the other side writes into it by RDMA;
 * on datagrams the frames hold the chunks. The owner of a transfer sends the frames that the
 * transfer makes.
 */
#ifndef LIB_APIS_RPC_TRANSPORT_BULK_TRANSFER_H
#define LIB_APIS_RPC_TRANSPORT_BULK_TRANSFER_H

#include "lib/apis/rpc/transport/transport.h"
#include "lib/apis/rpc/wire/rpc_bulk.h"

struct bulk_out {
	struct rpc_bulk_sender sender;
	struct transport_route *route; /* NULL: not begun, no grant came */
	struct transport_ring *stage;  /* the memory to write from; NULL: chunks are in frames */
	uint8_t *frame_payload; /* the head, and without a stage the chunk, of the frame in the
				   making */
};

struct bulk_in {
	struct rpc_bulk_receiver receiver;
	struct transport_ring *ring; /* NULL: chunks are in frames */
	uint8_t grant_payload[RPC_GRANT_BYTES];
};

/*
 * Takes a GRANT for chunks that go by `route`, the same route as before. -EPROTO: see rpc_bulk.h.
 * -ENOMEM: there is no memory for the transfer. Errors of registering memory.
 */
int bulk_out_grant(struct bulk_out *out, struct transport_route *route,
		   const struct rpc_frame *frame);

/* Whether frames hold the chunks, in contrast to RDMA. */
bool bulk_out_is_in_frames(const struct bulk_out *out);

/* The memory for the next chunk, up to *bytes; NULL: not now, or no memory for it now. */
uint8_t *bulk_out_room(struct bulk_out *out, uint32_t *bytes);

/* Releases the memory for a chunk: no chunk is to be made at present. */
void bulk_out_rest(struct bulk_out *out);

/*
 * Sends the first `bytes` bytes of that memory; 0 bytes: no more chunks come. Fills in the frame,
 * which refers to the memory.
 */
int bulk_out_send(struct bulk_out *out, uint64_t call, uint32_t bytes, struct rpc_frame *frame);

/* The registered memory of the transfer, for the quota: nothing else stays between chunks. */
uint64_t bulk_out_stage_bytes(const struct bulk_out *out);

void bulk_out_end(struct bulk_out *out);

/*
 * Makes room on the conversation's transport for chunks of `total` bytes (0: of unknown number).
 * The first grant is due. Errors of registering memory; -ENOMEM.
 */
int bulk_in_begin(struct bulk_in *in, struct transport *transport,
		  const struct rpc_conversation *conversation, uint64_t total);

/* Fills in the frame of the due grant. */
void bulk_in_grant(struct bulk_in *in, uint64_t call, struct rpc_frame *frame);

/*
 * Takes a CHUNK, whose data stays until the next grant. The peer can change a ring at any time:
 * copy, then use. -EPROTO: see rpc_bulk.h.
 */
int bulk_in_take(struct bulk_in *in, const struct rpc_frame *frame, struct rpc_chunk *chunk);

/* Ends the transfer. The peer must not write any more: it has said so, or the route is closed. */
void bulk_in_end(struct bulk_in *in);

#endif
