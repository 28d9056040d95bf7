/* SPDX-License-Identifier: MIT */
/*
 * What a call of a client sends and receives in chunks: a request or an answer that is too large
 * for a message, or a stream. It lasts as long as the session; in the next one the call begins
 * again.
 *
 * What a server can write to is copied once, then used.
 */
#ifndef LIB_RPC_CLIENT_CLIENT_BODIES_H
#define LIB_RPC_CLIENT_CLIENT_BODIES_H

#include "rpc/transport/bulk_transfer.h"
#include "rpc/client/client_link.h"

struct client_body {
	struct bulk_out out; /* of the request */
	uint64_t sent;
	bool is_receiving;
	struct bulk_in in;
	uint8_t *bytes; /* of the answer; NULL: a stream's chunks go to the caller */
	uint8_t *chunk; /* of a stream, as the caller gets it; NULL: the session has it already */
	uint64_t total;
	uint64_t received;
};

/*
 * Offers room for `total` bytes of the answer, or with 0 for a stream. -ENOMEM, and errors of
 * registering memory.
 */
int client_body_expect(struct client_body *body, struct client_link *link, uint64_t call,
		       uint64_t total);

/* A GRANT for the request. -EPROTO: end the session. Other errors: the call cannot go on. */
int client_body_take_grant(struct client_body *body, struct client_link *link,
			   const struct rpc_frame *frame);

/* Sends what was granted of the request. */
void client_body_pump(struct client_body *body, struct client_link *link, uint64_t call,
		      const uint8_t *input, uint64_t input_bytes);

/* A CHUNK of the answer or the stream. -EPROTO: end the session. */
int client_body_take_chunk(struct client_body *body, const struct rpc_frame *frame,
			   struct rpc_chunk *chunk);

/* The chunk was used: grants more when it is time. */
void client_body_release_chunk(struct client_body *body, struct client_link *link, uint64_t call);

/*
 * Forgets all. With `is_cut_off` the server may still write: true when it has to be asked to say
 * when it does no more (RPC_FRAME_LARGE of a CANCEL).
 */
bool client_body_end(struct client_body *body, struct client_link *link, uint64_t call,
		     bool is_cut_off);

#endif
