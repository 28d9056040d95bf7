/* SPDX-License-Identifier: MIT */
/*
 * The clients that a server knows. A client outlives its conversations because of its history. When
 * there are too many clients, or the kept answers take too much memory, the server forgets the
 * client without a conversation that was seen longest ago.
 */
#ifndef LIB_APIS_RPC_SERVER_SERVER_CLIENTS_H
#define LIB_APIS_RPC_SERVER_SERVER_CLIENTS_H

#include "lib/apis/rpc/wire/rpc_history.h"

#define SERVER_CLIENTS_MAX 8192u

/* The bytes beyond its quota that the server may hold for a client that must be told something. */
#define SERVER_TOLD_BYTES (32u << 10)

struct server_client {
	uint8_t identity[RPC_IDENTITY_BYTES];
	uint8_t incarnation[RPC_IDENTITY_BYTES]; /* of `history` */
	struct rpc_history history;
	uint64_t held_bytes; /* messages, requests, memory to write from */
	bool is_confirmed;   /* it exists: it has answered in a conversation */
	uint32_t conversation_count;
	uint32_t working_count; /* calls that a service executes */
	uint64_t seen_ns;
};

/*
 * A message on the heap. The history and the conversations that send it share it. It counts for its
 * client from the first of these until it is freed.
 */
struct shared_message {
	uint32_t references;
	uint32_t bytes;
	struct server_clients *counted_by; /* NULL: it is not counted yet */
	struct server_client *counted_for;
	uint8_t data[];
};

struct server_clients {
	struct server_client *all[SERVER_CLIENTS_MAX];
	uint32_t count;
	uint64_t held_bytes; /* of all */
	uint64_t client_quota_bytes;
	uint64_t quota_bytes;
};

void server_clients_close(struct server_clients *clients);

/*
 * Returns the client of that identity, and makes a new one with `incarnation`, which nobody can
 * guess. The caller changes conversation_count. NULL: no room, or no memory.
 */
struct server_client *server_clients_find(struct server_clients *clients,
					  const uint8_t identity[RPC_IDENTITY_BYTES],
					  const uint8_t incarnation[RPC_IDENTITY_BYTES]);

/* Forgets a client without a conversation that has never answered. */
void server_clients_forget_unconfirmed(struct server_clients *clients,
				       const struct server_client *client);

/* Whether the server may hold so many more bytes for the client; 0: whether it may hold any. */
bool server_clients_have_room(struct server_clients *clients, const struct server_client *client,
			      uint64_t bytes);

/*
 * Whether the server may hold so many more bytes for an indispensable message to the client: a
 * refusal of a call, or a part of the answer that the client waits for.
 */
bool server_clients_may_tell(const struct server_clients *clients,
			     const struct server_client *client, uint64_t bytes);

/* Adds to the bytes that the server holds for the client; a negative number subtracts. */
void server_clients_hold(struct server_clients *clients, struct server_client *client,
			 int64_t bytes);

/* Counts the message for the client, unless it is counted already. */
void server_clients_count(struct server_clients *clients, struct server_client *client,
			  struct shared_message *message);

/*
 * Keeps an answer, taking over the caller's reference. False: nobody wants the answer; the
 * reference stays the caller's.
 */
bool server_clients_keep(struct server_clients *clients, struct server_client *client,
			 uint64_t call, struct shared_message *message);

/* Forgets the answers to calls before `settled`. */
void server_clients_settle(struct server_client *client, uint64_t settled);

/* A message with one reference: room for `bytes`, a frame, a refusal. NULL: no memory. */
struct shared_message *shared_message_allocate(size_t bytes);
struct shared_message *shared_message_encode(const struct rpc_frame *frame);
struct shared_message *shared_message_refuse(uint64_t call, uint32_t status);
void shared_message_release(struct shared_message *message);

#endif
