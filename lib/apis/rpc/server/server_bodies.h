/* SPDX-License-Identifier: MIT */
/*
 * The chunks that a server sends and receives: requests and answers that are too large for a
 * message, and streams. A frame that breaks the rules of rpc_bulk.h ends its conversation.
 */
#ifndef LIB_APIS_RPC_SERVER_SERVER_BODIES_H
#define LIB_APIS_RPC_SERVER_SERVER_BODIES_H

#include "lib/apis/rpc/server/server_work.h"

/* The sending of one answer in one conversation. */
struct server_transfer {
	struct server_client *client;
	uint32_t connection;
	uint64_t call;
	struct shared_message *message;
	struct bulk_out out;
	uint64_t sent;
	struct server_transfer *next;
	struct server_transfer **link; /* the pointer to this one */
};

/* Whether the server announces the answer and sends it in chunks when the client grants some. */
bool server_body_is_large(const struct shared_message *answer);
void server_body_announce(struct server_calls *calls, struct server_conversation *conversation,
			  uint64_t call, const struct shared_message *answer);

/*
 * Begins to receive the body of a work's request, or begins again in another conversation. -ENOMEM,
 * and errors of registering memory: the server cannot do the work.
 */
int server_body_expect(struct server_work *work, struct server_conversation *conversation,
		       uint64_t total);

void server_body_take_grant(struct server_calls *calls, struct server_conversation *conversation,
			    const struct rpc_frame *frame);

/* Takes a CHUNK of a request. Returns the work whose request is now complete, or NULL. */
struct server_work *server_body_take_chunk(struct server_calls *calls,
					   struct server_conversation *conversation,
					   const struct rpc_frame *frame);

/* Takes the complete body of the request out of the work: the caller frees the bytes. */
uint8_t *server_body_detach(struct server_work *work, uint64_t *total);

/* Stops sending for that call in that conversation; tells the client so if `wants_word`. */
void server_body_cancel(struct server_calls *calls, struct server_conversation *conversation,
			uint64_t call, bool wants_word);

/* Drops the answers that are being sent in that conversation, or with NULL in any. */
void server_body_end_transfers(struct server_calls *calls,
			       const struct server_conversation *conversation);

/*
 * Tells the service that nobody wants more of its stream. In this function and the next two the
 * service may end the call: work->answer is then set.
 */
void server_stream_stop(struct server_work *work);

/*
 * Leaves the conversation that has granted chunks of the stream: the conversation has ended, or the
 * answer goes to another one. A stream that has begun stops; another stream can begin in the next
 * conversation.
 */
void server_stream_leave(struct server_work *work);

/* Asks the service for chunks, and sends them, where there are grants and room for them. */
void server_stream_pump(struct server_work *work);

/* Releases the work's chunks. */
void server_body_end(struct server_work *work);

/* Sends chunks of answers where there are grants and room for them. */
void server_body_pump_transfers(struct server_calls *calls);

#endif
