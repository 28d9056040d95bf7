/* SPDX-License-Identifier: MIT */
/*
 * The sessions of a server and what it knows of its clients, over one UD queue pair.
 *
 * A client outlives its sessions, for the sake of its history; of those without one, the one that
 * was seen longest ago goes when there are too many. A session's connection identifier holds its
 * place in the low bits, so that a datagram finds it at once, and chance in the high ones.
 */
#ifndef LIB_RPC_SERVER_SESSIONS_H
#define LIB_RPC_SERVER_SESSIONS_H

#include "rpc/rpc_history.h"
#include "rpc/rpc_session.h"
#include "rpc/ud_carrier.h"

#include <rnic/rpc.h>

#define SERVER_SESSIONS_MAX 2048u
#define SERVER_CLIENTS_MAX  4096u

struct server_client {
	uint8_t identity[RPC_IDENTITY_BYTES];
	uint8_t incarnation[RPC_IDENTITY_BYTES]; /* of `history` */
	struct rpc_history history;
	uint32_t session_count;
	uint32_t working_count; /* calls that a service executes */
	uint64_t seen_ns;
};

struct server_session {
	struct rpc_session session;
	void *memory;
	struct rnic_ah *ah;
	uint32_t qpn;
	struct rnic_gid gid;
	struct server_client *client;
};

/* A message on the heap; it is shared by the history and by the sessions that it is sent in. */
struct shared_message {
	uint32_t references;
	uint32_t bytes;
	uint8_t data[];
};

struct server_sessions {
	struct ud_carrier *carrier;
	const struct rnic_rpc_options *options;
	struct server_session *places[SERVER_SESSIONS_MAX];
	uint32_t place_count; /* all in use lie before it */
	struct server_client *clients[SERVER_CLIENTS_MAX];
	uint32_t client_count;
};

void server_sessions_close(struct server_sessions *sessions);

/* A datagram for one of them, or that begins one. */
void server_sessions_receive(struct server_sessions *sessions, const struct ud_datagram *datagram,
			     uint64_t now_ns);

/* The session with this identifier, or NULL: it has ended. */
struct server_session *server_sessions_find(struct server_sessions *sessions, uint32_t connection);

/* Lets time pass in all of them and forgets those that have ended. */
void server_sessions_tick(struct server_sessions *sessions, uint64_t now_ns);
void server_sessions_transmit(struct server_sessions *sessions, uint64_t now_ns);
uint64_t server_sessions_next_deadline_ns(const struct server_sessions *sessions);

/*
 * Sends it in that session, with a reference of its own. Without memory for that the session ends,
 * and the client asks again in another one, as it does when the session has ended.
 */
void server_session_send(struct server_session *session, struct shared_message *message);

void shared_message_release(struct shared_message *message);

#endif
