/* SPDX-License-Identifier: MIT */
#include "rpc/server_clients.h"

#include <stdlib.h>
#include <string.h>

void shared_message_release(struct shared_message *message)
{
	if (--message->references == 0)
		free(message);
}

void server_clients_hold(struct server_clients *clients, struct server_client *client,
			 int64_t bytes)
{
	client->held_bytes += (uint64_t)bytes;
	clients->held_bytes += (uint64_t)bytes;
}

static void drop_answers(struct server_clients *clients, struct server_client *client, bool is_over)
{
	struct shared_message *answer;

	while ((answer = rpc_history_take_dropped(&client->history, is_over)) != NULL) {
		server_clients_hold(clients, client, -(int64_t)answer->bytes);
		shared_message_release(answer);
	}
}

static void forget(struct server_clients *clients, uint32_t index)
{
	struct server_client *client = clients->all[index];

	drop_answers(clients, client, true);
	free(client);
	clients->all[index] = clients->all[--clients->count];
}

void server_clients_close(struct server_clients *clients)
{
	while (clients->count > 0)
		forget(clients, clients->count - 1);
}

/* Forgets the client without a session that was seen longest ago; false: all are in use. */
static bool forget_oldest(struct server_clients *clients)
{
	uint32_t oldest = SERVER_CLIENTS_MAX;

	for (uint32_t i = 0; i < clients->count; i++) {
		const struct server_client *client = clients->all[i];

		if (client->session_count > 0 || client->working_count > 0)
			continue;
		if (oldest == SERVER_CLIENTS_MAX || client->seen_ns < clients->all[oldest]->seen_ns)
			oldest = i;
	}
	if (oldest == SERVER_CLIENTS_MAX)
		return false;
	forget(clients, oldest);
	return true;
}

struct server_client *server_clients_find(struct server_clients *clients,
					  const uint8_t identity[RPC_IDENTITY_BYTES],
					  const uint8_t incarnation[RPC_IDENTITY_BYTES])
{
	struct server_client *client;

	for (uint32_t i = 0; i < clients->count; i++)
		if (memcmp(clients->all[i]->identity, identity, RPC_IDENTITY_BYTES) == 0)
			return clients->all[i];
	if (clients->count == SERVER_CLIENTS_MAX && !forget_oldest(clients))
		return NULL;
	client = calloc(1, sizeof(*client));
	if (client == NULL)
		return NULL;
	memcpy(client->identity, identity, RPC_IDENTITY_BYTES);
	memcpy(client->incarnation, incarnation, RPC_IDENTITY_BYTES);
	rpc_history_init(&client->history);
	clients->all[clients->count++] = client;
	return client;
}

bool server_clients_have_room(struct server_clients *clients, const struct server_client *client,
			      uint64_t bytes)
{
	uint64_t wanted = bytes == 0 ? 1 : bytes;

	if (wanted > clients->quota_bytes ||
	    client->held_bytes + wanted > clients->client_quota_bytes)
		return false;
	while (clients->held_bytes + wanted > clients->quota_bytes)
		if (!forget_oldest(clients))
			return false;
	return true;
}

bool server_clients_keep(struct server_clients *clients, struct server_client *client,
			 uint64_t call, struct shared_message *message)
{
	if (!rpc_history_answer(&client->history, call, message))
		return false;
	server_clients_hold(clients, client, message->bytes);
	return true;
}

void server_clients_settle(struct server_clients *clients, struct server_client *client,
			   uint64_t settled)
{
	rpc_history_settle(&client->history, settled);
	drop_answers(clients, client, false);
}
