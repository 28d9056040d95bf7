/* SPDX-License-Identifier: MIT */
/*
 * The chunks that a call of a client sends and receives: a request or an answer that is too large
 * for a message, or a stream. A body lasts as long as the conversation; in the next conversation
 * the call begins again.
 *
 * The client copies memory that a server can write to once, then uses the copy.
 */
#ifndef LIB_APIS_RPC_CLIENT_CLIENT_BODIES_H
#define LIB_APIS_RPC_CLIENT_CLIENT_BODIES_H

#include "lib/apis/rpc/client/client_link.h"
#include "lib/apis/rpc/transport/bulk_transfer.h"

struct client_body {
	struct bulk_out out; /* of the request */
	uint64_t sent;
	bool is_receiving;
	struct bulk_in in;
	uint8_t *bytes; /* of the answer; NULL: a stream's chunks go to the caller */
	uint8_t *chunk; /* of a stream, as the caller gets it; NULL: the conversation has it */
	uint64_t total;
	uint64_t received;
};

/*
 * Offers room for `total` bytes of the answer, or with 0 for a stream. -ENOMEM, and errors of
 * registering memory.
 */
int client_body_expect(struct client_body *body, struct client_link *link, uint64_t call,
		       uint64_t total);

/*
 * Takes a GRANT for the request. -EPROTO: end the conversation. Other errors: the call cannot go
 * on.
 */
int client_body_take_grant(struct client_body *body, struct client_link *link,
			   const struct rpc_frame *frame);

/* Sends the granted chunks of the request. */
void client_body_pump(struct client_body *body, struct client_link *link, uint64_t call,
		      const uint8_t *input, uint64_t input_bytes);

/* Takes a CHUNK of the answer or the stream. -EPROTO: end the conversation. */
int client_body_take_chunk(struct client_body *body, const struct rpc_frame *frame,
			   struct rpc_chunk *chunk);

/* Releases a used chunk, and grants more when a grant is due. */
void client_body_release_chunk(struct client_body *body, struct client_link *link, uint64_t call);

/*
 * Forgets everything. With `is_cut_off` the server may still write. Returns true when the client
 * must ask the server to say when it writes no more (RPC_FRAME_LARGE of a CANCEL).
 */
bool client_body_end(struct client_body *body, struct client_link *link, uint64_t call,
		     bool is_cut_off);

#endif
