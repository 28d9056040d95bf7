/* SPDX-License-Identifier: MIT */
/*
 * The sessions of a server, on both transports. The low bits of a session's connection identifier
 * are its place, so that a datagram finds it at once; the high bits are random.
 *
 * The cost of a turn depends on the sessions with events, not on the number of sessions: a queue
 * holds the sessions with work, and a heap the deadlines of all.
 */
#ifndef LIB_APIS_RPC_SERVER_SERVER_CONVERSATIONS_H
#define LIB_APIS_RPC_SERVER_SERVER_CONVERSATIONS_H

#include "lib/apis/rpc/server/server_clients.h"
#include "lib/apis/rpc/transport/transport.h"
#include "lib/apis/rpc/wire/rpc_deadlines.h"
#include "lib/apis/rpc/wire/rpc_conversation.h"

#include <rnic/rpc.h>

#define SERVER_SESSIONS_MAX 4096u

/*
 * The most sessions whose client has not shown yet that it got the answer to its OPEN. Anybody can
 * send an OPEN in the name of another host; a further one takes the place of the oldest of these,
 * so that such OPENs leave nearly all places to clients that exist.
 */
#define SERVER_UNCONFIRMED_MAX 1024u

struct server_session {
	struct rpc_session session;
	void *memory;
	struct transport_route *route;
	struct server_client *client;
	uint32_t place;
	bool is_confirmed;	     /* the client knows the session's number */
	bool is_queued;		     /* or being served */
	bool is_gone;		     /* ended while queued: serving only frees it */
	struct server_session *next; /* in the queue */
};

/* Reports that a session has ended: nothing can be sent in it any more. */
typedef void server_session_ended(void *user, const struct server_session *session);

struct server_sessions {
	const struct rnic_rpc_options *options;
	server_session_ended *ended; /* the owner's */
	void *ended_user;
	struct server_clients clients;
	struct server_session *places[SERVER_SESSIONS_MAX];
	uint32_t place_count;		/* all places in use are below */
	uint32_t place_next;		/* begin of the search for a free place */
	struct rpc_deadlines deadlines; /* by place */
	void *deadlines_memory;
	struct server_session *first; /* of the queue */
	struct server_session *last;
	uint32_t queue_length;
	uint32_t
		unconfirmed[SERVER_UNCONFIRMED_MAX]; /* connections of the latest, some confirmed */
	uint32_t unconfirmed_next;
	bool is_starved; /* a session found no room to send in this turn: completions will make some
			  */
};

/* `options` are the owner's. -ENOMEM. */
int server_sessions_open(struct server_sessions *sessions, const struct rnic_rpc_options *options);
void server_sessions_close(struct server_sessions *sessions, uint64_t now_ns);

/* Takes a datagram for a session, or for a new one; or the loss of a route. */
void server_sessions_receive(struct server_sessions *sessions,
			     const struct transport_datagram *datagram, uint64_t now_ns);

/* The session with this identifier; NULL: it has ended. */
struct server_session *server_sessions_find(struct server_sessions *sessions, uint32_t connection);

/* Queues the sessions whose deadline has come. */
void server_sessions_tick(struct server_sessions *sessions, uint64_t now_ns);

/*
 * Serves each queued session once: sends a bounded number of its datagrams, then queues it again
 * behind the others if it has more; and forgets an ended session. Before that, the caller takes the
 * messages of the queued sessions.
 */
void server_sessions_serve(struct server_sessions *sessions, uint64_t now_ns);

/* The next deadline; RPC_NEVER: none; 0: now. */
uint64_t server_sessions_next_deadline_ns(const struct server_sessions *sessions);

/*
 * Sends the message in that session, with a reference of its own. Without memory for that the
 * session ends, and the client asks again in another one, as after any end of a session. The
 * session also ends when the client takes so little of its answers that its quota has no room for
 * more.
 */
void server_sessions_send(struct server_sessions *sessions, struct server_session *session,
			  struct shared_message *message);

/* Sends a copy of the frame, as above. */
void server_sessions_send_frame(struct server_sessions *sessions, struct server_session *session,
				const struct rpc_frame *frame);

#endif
