/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/client_ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLIENT_LEDGER_ROOM 16 /* at first */

static struct ledger_entry *client_ledger_find(const struct client_ledger *held, uint32_t client_id)
{
	for (uint32_t i = 0; i < held->count; i++)
		if (held->entries[i].client_id == client_id)
			return &held->entries[i];
	return NULL;
}

static int client_ledger_grow(struct client_ledger *held)
{
	const uint32_t room = held->room == 0 ? CLIENT_LEDGER_ROOM : 2 * held->room;
	struct ledger_entry *entries = realloc(held->entries, room * sizeof(*entries));

	if (entries == NULL)
		return -ENOMEM;
	held->entries = entries;
	held->room = room;
	return 0;
}

int client_ledger_add(struct client_ledger *held, uint32_t client_id)
{
	int result = 0;

	if (held->count == CLIENT_LEDGER_MAX)
		return -EAGAIN;
	if (held->count == held->room)
		result = client_ledger_grow(held);
	if (result == 0)
		held->entries[held->count++] = (struct ledger_entry){.client_id = client_id};
	return result;
}

bool client_ledger_remove(struct client_ledger *held, uint32_t client_id)
{
	struct ledger_entry *client = client_ledger_find(held, client_id);

	if (client == NULL)
		return false;
	held->ended_count -= client->state == HELD_CLIENT_ENDED;
	*client = held->entries[--held->count];
	return true;
}

void client_ledger_end(struct client_ledger *held, uint32_t client_id)
{
	struct ledger_entry *client = client_ledger_find(held, client_id);

	if (client == NULL || client->state != HELD_CLIENT_LIVES)
		return;
	client->state = HELD_CLIENT_ENDED;
	held->ended_count++;
}

struct ledger_entry *client_ledger_next_ended(const struct client_ledger *held)
{
	if (held->ended_count == 0)
		return NULL;
	for (uint32_t i = 0; i < held->count; i++)
		if (held->entries[i].state == HELD_CLIENT_ENDED)
			return &held->entries[i];
	return NULL;
}

void client_ledger_note_told(struct client_ledger *held, struct ledger_entry *client)
{
	client->state = HELD_CLIENT_TOLD;
	held->ended_count--;
}

bool client_ledger_has(const struct client_ledger *held, uint32_t client_id)
{
	return client_ledger_find(held, client_id) != NULL;
}

void client_ledger_clear(struct client_ledger *held)
{
	free(held->entries);
	memset(held, 0, sizeof(*held));
}
