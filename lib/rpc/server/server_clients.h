/* SPDX-License-Identifier: MIT */
/*
 * What a server knows of its clients. A client outlives its sessions, for the sake of its history;
 * of those without one, the one that was seen longest ago goes when there are too many, or when the
 * answers that are kept take too much memory.
 */
#ifndef LIB_RPC_SERVER_SERVER_CLIENTS_H
#define LIB_RPC_SERVER_SERVER_CLIENTS_H

#include "rpc/wire/rpc_history.h"

#define SERVER_CLIENTS_MAX 8192u

/* What may be held beyond its quota for a client that must be told something. */
#define SERVER_TOLD_BYTES (32u << 10)

struct server_client {
	uint8_t identity[RPC_IDENTITY_BYTES];
	uint8_t incarnation[RPC_IDENTITY_BYTES]; /* of `history` */
	struct rpc_history history;
	uint64_t held_bytes; /* messages, requests, memory to write from */
	uint32_t session_count;
	uint32_t working_count; /* calls that a service executes */
	uint64_t seen_ns;
};

/*
 * A message on the heap; it is shared by the history and by the sessions that it is sent in, and
 * counted for its client from when it is in one of them until it is gone.
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
 * The client of that identity, whose session_count is the caller's to change; made when it is new,
 * with `incarnation`, which nobody can guess. NULL: no room, or no memory.
 */
struct server_client *server_clients_find(struct server_clients *clients,
					  const uint8_t identity[RPC_IDENTITY_BYTES],
					  const uint8_t incarnation[RPC_IDENTITY_BYTES]);

/* Whether so many bytes more may be held for the client; 0: whether anything may. */
bool server_clients_have_room(struct server_clients *clients, const struct server_client *client,
			      uint64_t bytes);

/*
 * Whether so many bytes more may be held to tell the client something that it cannot do without:
 * that a call is refused, or a part of what it waits for.
 */
bool server_clients_may_tell(const struct server_clients *clients,
			     const struct server_client *client, uint64_t bytes);

/* Notes that so many bytes are held for the client, or, negative, no longer. */
void server_clients_hold(struct server_clients *clients, struct server_client *client,
			 int64_t bytes);

/* Counts the message for the client, if it is not counted already. */
void server_clients_count(struct server_clients *clients, struct server_client *client,
			  struct shared_message *message);

/* Keeps an answer, with the caller's reference. False: nobody wants it, and that stays. */
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
