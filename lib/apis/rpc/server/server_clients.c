/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/server/server_clients.h"

#include <stdlib.h>
#include <string.h>

void server_clients_hold(struct server_clients *clients, struct server_client *client,
			 int64_t bytes)
{
	client->held_bytes += (uint64_t)bytes;
	clients->held_bytes += (uint64_t)bytes;
}

void server_clients_count(struct server_clients *clients, struct server_client *client,
			  struct shared_message *message)
{
	if (message->counted_by != NULL)
		return;
	message->counted_by = clients;
	message->counted_for = client;
	server_clients_hold(clients, client, message->bytes);
}

struct shared_message *shared_message_allocate(size_t bytes)
{
	struct shared_message *message = malloc(sizeof(*message) + bytes);

	if (message != NULL)
		*message = (struct shared_message){.references = 1, .bytes = (uint32_t)bytes};
	return message;
}

struct shared_message *shared_message_encode(const struct rpc_frame *frame)
{
	struct shared_message *message = shared_message_allocate(rpc_frame_bytes(frame));

	if (message != NULL)
		rpc_frame_encode(frame, message->data);
	return message;
}

struct shared_message *shared_message_refuse(uint64_t call, uint32_t status)
{
	struct rpc_frame frame = {.kind = RPC_FRAME_ANSWER, .call = call, .status = status};

	return shared_message_encode(&frame);
}

void shared_message_release(struct shared_message *message)
{
	if (--message->references > 0)
		return;
	if (message->counted_by != NULL)
		server_clients_hold(message->counted_by, message->counted_for,
				    -(int64_t)message->bytes);
	free(message);
}

static void drop_answers(struct server_client *client, bool is_over)
{
	struct shared_message *answer;

	while ((answer = rpc_history_take_dropped(&client->history, is_over)) != NULL)
		shared_message_release(answer);
}

static void server_clients_forget(struct server_clients *clients, uint32_t index)
{
	struct server_client *client = clients->all[index];

	drop_answers(client, true);
	free(client);
	clients->all[index] = clients->all[--clients->count];
}

void server_clients_close(struct server_clients *clients)
{
	while (clients->count > 0)
		server_clients_forget(clients, clients->count - 1);
}

void server_clients_forget_unconfirmed(struct server_clients *clients,
				       const struct server_client *client)
{
	if (client->is_confirmed || client->conversation_count > 0 || client->working_count > 0)
		return;
	for (uint32_t i = clients->count; i > 0; i--) {
		if (clients->all[i - 1] != client)
			continue;
		server_clients_forget(clients, i - 1);
		return;
	}
}

/*
 * Forgets the client without a conversation that was seen longest ago; false: all have
 * conversations.
 */
static bool server_clients_forget_oldest(struct server_clients *clients)
{
	uint32_t oldest = SERVER_CLIENTS_MAX;

	for (uint32_t i = 0; i < clients->count; i++) {
		const struct server_client *client = clients->all[i];

		if (client->conversation_count > 0 || client->working_count > 0)
			continue;
		if (oldest == SERVER_CLIENTS_MAX || client->seen_ns < clients->all[oldest]->seen_ns)
			oldest = i;
	}
	if (oldest == SERVER_CLIENTS_MAX)
		return false;
	server_clients_forget(clients, oldest);
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
	if (clients->count == SERVER_CLIENTS_MAX && !server_clients_forget_oldest(clients))
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
		if (!server_clients_forget_oldest(clients))
			return false;
	return true;
}

bool server_clients_may_tell(const struct server_clients *clients,
			     const struct server_client *client, uint64_t bytes)
{
	const uint64_t told_bytes = (uint64_t)clients->count * SERVER_TOLD_BYTES;

	return client->held_bytes + bytes <= clients->client_quota_bytes + SERVER_TOLD_BYTES &&
	       clients->held_bytes + bytes <= clients->quota_bytes + told_bytes;
}

bool server_clients_keep(struct server_clients *clients, struct server_client *client,
			 uint64_t call, struct shared_message *message)
{
	if (!rpc_history_answer(&client->history, call, message))
		return false;
	server_clients_count(clients, client, message);
	return true;
}

void server_clients_settle(struct server_client *client, uint64_t settled)
{
	rpc_history_settle(&client->history, settled);
	drop_answers(client, false);
}
