/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/client_ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HELD_CLIENTS_ROOM 16 /* at first */

static struct held_client *held_clients_find(const struct held_clients *held, uint32_t client_id)
{
	for (uint32_t i = 0; i < held->count; i++)
		if (held->entries[i].client_id == client_id)
			return &held->entries[i];
	return NULL;
}

static int held_clients_grow(struct held_clients *held)
{
	const uint32_t room = held->room == 0 ? HELD_CLIENTS_ROOM : 2 * held->room;
	struct held_client *entries = realloc(held->entries, room * sizeof(*entries));

	if (entries == NULL)
		return -ENOMEM;
	held->entries = entries;
	held->room = room;
	return 0;
}

int held_clients_add(struct held_clients *held, uint32_t client_id)
{
	int result = 0;

	if (held->count == HELD_CLIENTS_MAX)
		return -EAGAIN;
	if (held->count == held->room)
		result = held_clients_grow(held);
	if (result == 0)
		held->entries[held->count++] = (struct held_client){.client_id = client_id};
	return result;
}

bool held_clients_remove(struct held_clients *held, uint32_t client_id)
{
	struct held_client *client = held_clients_find(held, client_id);

	if (client == NULL)
		return false;
	held->ended_count -= client->state == HELD_CLIENT_ENDED;
	*client = held->entries[--held->count];
	return true;
}

void held_clients_end(struct held_clients *held, uint32_t client_id)
{
	struct held_client *client = held_clients_find(held, client_id);

	if (client == NULL || client->state != HELD_CLIENT_LIVES)
		return;
	client->state = HELD_CLIENT_ENDED;
	held->ended_count++;
}

struct held_client *held_clients_next_ended(const struct held_clients *held)
{
	if (held->ended_count == 0)
		return NULL;
	for (uint32_t i = 0; i < held->count; i++)
		if (held->entries[i].state == HELD_CLIENT_ENDED)
			return &held->entries[i];
	return NULL;
}

void held_clients_note_told(struct held_clients *held, struct held_client *client)
{
	client->state = HELD_CLIENT_TOLD;
	held->ended_count--;
}

bool held_clients_has(const struct held_clients *held, uint32_t client_id)
{
	return held_clients_find(held, client_id) != NULL;
}

void held_clients_clear(struct held_clients *held)
{
	free(held->entries);
	memset(held, 0, sizeof(*held));
}
