/* SPDX-License-Identifier: MIT */
/*
 * The conversations of a server, on both transports. The low bits of a conversation's connection
 * identifier are its place, so that a datagram finds it at once; the high bits are random.
 *
 * The cost of a turn depends on the conversations with events, not on the number of conversations:
 * a queue holds the conversations with work, and a heap the deadlines of all.
 */
#ifndef LIB_APIS_RPC_SERVER_SERVER_CONVERSATIONS_H
#define LIB_APIS_RPC_SERVER_SERVER_CONVERSATIONS_H

#include "lib/apis/rpc/server/server_clients.h"
#include "lib/apis/rpc/transport/transport.h"
#include "lib/apis/rpc/wire/rpc_conversation.h"
#include "lib/apis/rpc/wire/rpc_deadlines.h"

#include <rnic/rpc.h>

#define SERVER_CONVERSATIONS_MAX 4096u

/*
 * The most conversations whose client has not shown yet that it got the answer to its OPEN. Anybody
 * can send an OPEN in the name of another host; a further one takes the place of the oldest of
 * these, so that such OPENs leave nearly all places to clients that exist.
 */
#define SERVER_UNCONFIRMED_MAX 1024u

struct server_conversation {
	struct rpc_conversation conversation;
	void *memory;
	struct transport_route *route;
	struct server_client *client;
	uint32_t place;
	bool is_confirmed;		  /* the client knows the conversation's number */
	bool is_queued;			  /* or being served */
	bool is_gone;			  /* ended while queued: serving only frees it */
	struct server_conversation *next; /* in the queue */
};

/* Reports that a conversation has ended: nothing can be sent in it any more. */
typedef void server_conversation_ended(void *user, const struct server_conversation *conversation);

struct server_conversations {
	const struct rnic_rpc_options *options;
	server_conversation_ended *ended; /* the owner's */
	void *ended_user;
	struct server_clients clients;
	struct server_conversation *places[SERVER_CONVERSATIONS_MAX];
	uint32_t place_count;		/* all places in use are below */
	uint32_t place_next;		/* begin of the search for a free place */
	struct rpc_deadlines deadlines; /* by place */
	void *deadlines_memory;
	struct server_conversation *first; /* of the queue */
	struct server_conversation *last;
	uint32_t queue_length;
	/* Connections of the latest, some confirmed. */
	uint32_t unconfirmed[SERVER_UNCONFIRMED_MAX];
	uint32_t unconfirmed_next;
	/* A conversation found no room to send in this turn: completions will make some. */
	bool is_starved;
};

/* `options` are the owner's. -ENOMEM. */
int server_conversations_open(struct server_conversations *conversations,
			      const struct rnic_rpc_options *options);
void server_conversations_close(struct server_conversations *conversations, uint64_t now_ns);

/* Takes a datagram for a conversation, or for a new one; or the loss of a route. */
void server_conversations_receive(struct server_conversations *conversations,
				  const struct transport_datagram *datagram, uint64_t now_ns);

/* The conversation with this identifier; NULL: it has ended. */
struct server_conversation *server_conversations_find(struct server_conversations *conversations,
						      uint32_t connection);

/* Queues the conversations whose deadline has come. */
void server_conversations_tick(struct server_conversations *conversations, uint64_t now_ns);

/*
 * Serves each queued conversation once: sends a bounded number of its datagrams, then queues it
 * again behind the others if it has more; and forgets an ended conversation. Before that, the
 * caller takes the messages of the queued conversations.
 */
void server_conversations_serve(struct server_conversations *conversations, uint64_t now_ns);

/* The next deadline; RPC_NEVER: none; 0: now. */
uint64_t server_conversations_next_deadline_ns(const struct server_conversations *conversations);

/*
 * Sends the message in that conversation, with a reference of its own. Without memory for that the
 * conversation ends, and the client asks again in another one, as after any end of a conversation.
 * The conversation also ends when the client takes so little of its answers that its quota has no
 * room for more.
 */
void server_conversations_send(struct server_conversations *conversations,
			       struct server_conversation *conversation,
			       struct shared_message *message);

/* Sends a copy of the frame, as above. */
void server_conversations_send_frame(struct server_conversations *conversations,
				     struct server_conversation *conversation,
				     const struct rpc_frame *frame);

#endif
