/* SPDX-License-Identifier: MIT */
/*
 * What a server sends and receives in chunks: requests and answers that are too large for a
 * message, and streams. Frames that break the rules of rpc_bulk.h end their session.
 */
#ifndef LIB_RPC_SERVER_SERVER_BODIES_H
#define LIB_RPC_SERVER_SERVER_BODIES_H

#include "rpc/server/server_work.h"

/* One answer on its way in one session. */
struct server_transfer {
	struct server_client *client;
	uint32_t connection;
	uint64_t call;
	struct shared_message *message;
	struct bulk_out out;
	uint64_t sent;
	struct server_transfer *next;
	struct server_transfer **link; /* what points to this one */
};

/* Whether the answer is to be announced, and sent in chunks when the client grants some. */
bool server_body_is_large(const struct shared_message *answer);
void server_body_announce(struct server_calls *calls, struct server_session *session, uint64_t call,
			  const struct shared_message *answer);

/*
 * Begins to receive the body of a work's request, or begins again in another session. -ENOMEM, and
 * errors of registering memory: the work cannot be done.
 */
int server_body_expect(struct server_work *work, struct server_session *session, uint64_t total);

void server_body_take_grant(struct server_calls *calls, struct server_session *session,
			    const struct rpc_frame *frame);

/* Returns the work whose request is whole with this chunk, or NULL. */
struct server_work *server_body_take_chunk(struct server_calls *calls,
					   struct server_session *session,
					   const struct rpc_frame *frame);

/* Takes the request's body, which is whole, out of the work: the caller frees the bytes. */
uint8_t *server_body_detach(struct server_work *work, uint64_t *total);

/* No more of that call is sent in that session; says so if `wants_word`. */
void server_body_cancel(struct server_calls *calls, struct server_session *session, uint64_t call,
			bool wants_word);

/* Drops the answers on their way in that session, or with NULL in any. */
void server_body_end_transfers(struct server_calls *calls, const struct server_session *session);

/*
 * Tells the service that nobody wants more of its stream. The service may end the call with that:
 * work->answer is then there. So it may in the two functions that follow.
 */
void server_stream_stop(struct server_work *work);

/*
 * The session whose grants the stream has is over, or not the one that is answered any more. A
 * stream that has begun is stopped; another can begin in the next session.
 */
void server_stream_leave(struct server_work *work);

/* Asks the service for chunks, and sends them, where there are grants and room for them. */
void server_stream_pump(struct server_work *work);

/* Forgets what the work has of chunks. */
void server_body_end(struct server_work *work);

/* Sends chunks of answers where there are grants and room for them. */
void server_body_pump_transfers(struct server_calls *calls);

#endif
