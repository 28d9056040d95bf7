/* SPDX-License-Identifier: MIT */
/*
 * A client's link to its server. The link finds the server by address and port, opens a
 * conversation on the transport of the options, and does both again when the conversation is lost.
 * The link searches only while the caller wants a conversation, and reports a search that takes too
 * long.
 */
#ifndef LIB_APIS_RPC_CLIENT_CLIENT_LINK_H
#define LIB_APIS_RPC_CLIENT_CLIENT_LINK_H

#include "lib/apis/rpc/client/client_orphans.h"
#include "lib/apis/rpc/client/client_probe.h"
#include "lib/apis/rpc/transport/rc_transport.h"
#include "lib/apis/rpc/transport/ud_transport.h"
#include "lib/apis/rpc/wire/rpc_frame.h"

#include <rnic/rpc.h>

/* The most addresses of a host's name that the link tries, one after another. */
#define LINK_ADDRESSES_MAX 8u

enum link_state {
	LINK_IDLE, /* or resting until `begin_ns` */
	LINK_ADDRESS,
	LINK_ROUTE,
	LINK_SERVICE,
	LINK_CONVERSATION,
};

/* A message on the heap, from rpc_conversation_send() until its release. */
struct heap_message {
	struct rpc_outgoing outgoing;
	uint8_t bytes[];
};

struct client_link {
	struct rnic_rpc_options options;
	struct transport_device device;
	struct ud_transport ud; /* one of the two is open: `transport` */
	struct rc_transport rc;
	struct transport *transport;
	struct rnic_endpoint servers[LINK_ADDRESSES_MAX]; /* of the host's name */
	uint32_t server_count;
	uint32_t server_next; /* the next address to try */
	enum link_state state;
	struct rnic_cm_id *id;	       /* in ADDRESS and ROUTE */
	struct transport_route *route; /* in SERVICE and CONVERSATION */
	uint64_t begin_ns;	       /* in IDLE: not before */
	bool is_replaced;	/* another server has taken the place of the conversation's */
	uint32_t refused_count; /* addresses in a row where nobody listens */
	/* Begin of the time without a conversation; RPC_NEVER: there is one, or none is wanted. */
	uint64_t search_ns;
	uint8_t identity[RPC_IDENTITY_BYTES];
	struct rpc_conversation conversation; /* in CONVERSATION */
	void *conversation_memory;
	struct client_probe probe; /* in CONVERSATION */
	struct client_orphans orphans;
};

/* Opens the link to `host`, as rnic_rpc_create_client() has it. On failure nothing is left. */
int client_link_open(struct client_link *link, const struct rnic_rpc_options *options,
		     const char *host, uint16_t port);
void client_link_close(struct client_link *link);

/* Takes events and datagrams and handles the timers. An error is the daemon's end. */
int client_link_receive(struct client_link *link, bool is_wanted, uint64_t now_ns);

/* Whether the conversation is open: calls may be sent. */
bool client_link_is_open(const struct client_link *link);

/* Whether nobody listens at any address of the host; said once for each round of all addresses. */
bool client_link_take_refusal(struct client_link *link);

/* Whether the link has searched for too long; a call starts the count anew. */
bool client_link_gives_up(struct client_link *link, uint64_t now_ns);

/* Forgets the ended conversation, to search again soon. */
void client_link_drop(struct client_link *link, uint64_t now_ns);

/* Sends a frame as a message to the server. -ENOMEM, -ECONNRESET. */
int client_link_send(struct client_link *link, const struct rpc_frame *frame);

/* Gives the conversation's datagrams to the transport, and frees the delivered messages. */
void client_link_transmit(struct client_link *link, uint64_t now_ns);

uint64_t client_link_next_deadline_ns(const struct client_link *link);

#endif
