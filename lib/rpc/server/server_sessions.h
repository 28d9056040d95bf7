/* SPDX-License-Identifier: MIT */
/*
 * The sessions of a server, on whatever transports. A session's connection identifier holds its
 * place in the low bits, so that a datagram finds it at once, and chance in the high ones.
 *
 * What a turn costs depends on the sessions that something happens to, not on those that are there:
 * those with something to do stand in a queue, and the times of all in a heap.
 */
#ifndef LIB_RPC_SERVER_SERVER_SESSIONS_H
#define LIB_RPC_SERVER_SERVER_SESSIONS_H

#include "rpc/transport/transport.h"
#include "rpc/wire/rpc_deadlines.h"
#include "rpc/wire/rpc_session.h"
#include "rpc/server/server_clients.h"

#include <rnic/rpc.h>

#define SERVER_SESSIONS_MAX 4096u

struct server_session {
	struct rpc_session session;
	void *memory;
	struct transport_route *route;
	struct server_client *client;
	uint32_t place;
	bool is_queued;		     /* or being served */
	struct server_session *next; /* in the queue */
};

/* A session ends: nothing can be sent in it any more. */
typedef void server_session_ended(void *user, const struct server_session *session);

struct server_sessions {
	const struct rnic_rpc_options *options;
	server_session_ended *ended; /* the owner's */
	void *ended_user;
	struct server_clients clients;
	struct server_session *places[SERVER_SESSIONS_MAX];
	uint32_t place_count;		/* all in use lie before it */
	uint32_t place_next;		/* where to look for a free one */
	struct rpc_deadlines deadlines; /* by place */
	void *deadlines_memory;
	struct server_session *first; /* of the queue */
	struct server_session *last;
	uint32_t queue_length;
	bool is_starved; /* in this turn one found no room to send: completions will make some */
};

/* `options` are the owner's. -ENOMEM. */
int server_sessions_open(struct server_sessions *sessions, const struct rnic_rpc_options *options);
void server_sessions_close(struct server_sessions *sessions, uint64_t now_ns);

/* A datagram for one of them, or that begins one; or the loss of a route. */
void server_sessions_receive(struct server_sessions *sessions,
			     const struct transport_datagram *datagram, uint64_t now_ns);

/* The session with this identifier, or NULL: it has ended. */
struct server_session *server_sessions_find(struct server_sessions *sessions, uint32_t connection);

/* Puts those in the queue whose time has come. */
void server_sessions_tick(struct server_sessions *sessions, uint64_t now_ns);

/*
 * Serves each that is in the queue once: sends what it has to send, a bounded number of datagrams,
 * after which it queues again behind the others; and forgets it if it has ended. The caller takes
 * the messages of those in the queue before.
 */
void server_sessions_serve(struct server_sessions *sessions, uint64_t now_ns);

/* RPC_NEVER, or when there is something to do; 0: now. */
uint64_t server_sessions_next_deadline_ns(const struct server_sessions *sessions);

/*
 * Sends it in that session, with a reference of its own. Without memory for that the session ends,
 * and the client asks again in another one, as it does when the session has ended. So it does when
 * the client takes so little of what it asks for that no more may be held for it.
 */
void server_sessions_send(struct server_sessions *sessions, struct server_session *session,
			  struct shared_message *message);

/* Sends a copy of the frame, as above. */
void server_sessions_send_frame(struct server_sessions *sessions, struct server_session *session,
				const struct rpc_frame *frame);

#endif
