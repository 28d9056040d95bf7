/* SPDX-License-Identifier: MIT */
/*
 * The calls of a server: requests become works of the services, answers go into the history and
 * back. Bodies that are too large for a message travel in chunks (server_bodies.h).
 */
#ifndef LIB_APIS_RPC_SERVER_SERVER_CALLS_H
#define LIB_APIS_RPC_SERVER_SERVER_CALLS_H

#include "lib/apis/rpc/server/server_work.h"

/* Takes the messages of the conversation. */
void server_calls_take(struct server_calls *calls, struct server_conversation *conversation);

/* Drops everything that only that conversation could bring or take. */
void server_calls_conversation_ended(struct server_calls *calls,
				     const struct server_conversation *conversation);

/* Ends the server's side: later answers of the services go nowhere. */
void server_calls_close(struct server_calls *calls);

/* Sends chunks where there are grants and room for them. */
void server_calls_pump(struct server_calls *calls);

/* -EEXIST, -ENOMEM. */
int server_calls_add(struct server_calls *calls, ProtobufCService *service);

#endif
