/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/gone_clients.h"

#include <stddef.h>
#include <string.h>

/* How many entries the user has. */
static uint32_t gone_clients_share(const struct gone_clients *all, uid_t account)
{
	uint32_t share = 0;

	for (uint32_t i = 0; i < GONE_CLIENTS_MAX; i++)
		share += all->entries[i].client_id != 0 && all->entries[i].account == account;
	return share;
}

/* The entry that gives way: a free one, or the oldest of the user who has most with `gone`. */
static uint32_t gone_clients_choose(const struct gone_clients *all, const struct gone_client *gone)
{
	uint32_t chosen = 0, most = 0;

	for (uint32_t i = 0; i < GONE_CLIENTS_MAX; i++) {
		const uid_t account = all->entries[i].account;
		const uint32_t share =
			gone_clients_share(all, account) + (account == gone->account);

		if (all->entries[i].client_id == 0)
			return i;
		if (share <= most)
			continue;
		most = share;
		chosen = i;
	}
	return chosen;
}

void gone_clients_note(struct gone_clients *all, const struct gone_client *gone)
{
	const uint32_t chosen = gone_clients_choose(all, gone);

	memmove(&all->entries[chosen], &all->entries[chosen + 1],
		(GONE_CLIENTS_MAX - 1 - chosen) * sizeof(all->entries[0]));
	all->entries[GONE_CLIENTS_MAX - 1] = *gone;
}

const struct gone_client *gone_clients_find(const struct gone_clients *all, uint32_t client_id)
{
	for (uint32_t i = 0; client_id != 0 && i < GONE_CLIENTS_MAX; i++)
		if (all->entries[i].client_id == client_id)
			return &all->entries[i];
	return NULL;
}
