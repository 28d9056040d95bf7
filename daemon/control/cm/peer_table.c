/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm/peer_table.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_BITS 10
#define CHAINS	   (1u << CHAIN_BITS)

int peer_table_init(struct peer_table *table, uint64_t seed)
{
	table->seed = seed;
	table->chains = malloc(CHAINS * sizeof(*table->chains));
	if (table->chains == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < CHAINS; i++)
		list_init(&table->chains[i]);
	return 0;
}

void peer_table_fini(struct peer_table *table)
{
	free(table->chains);
	table->chains = NULL;
}

static struct list *peer_table_chain_of(const struct peer_table *table, const struct rnic_gid *gid,
					uint32_t number)
{
	uint64_t words[2];
	uint64_t hash;

	memcpy(words, gid->bytes, sizeof(words));
	hash = rnic_mix64(table->seed ^ words[0]);
	hash = rnic_mix64(rnic_mix64(hash ^ words[1]) ^ number);
	return &table->chains[hash >> (64 - CHAIN_BITS)];
}

void peer_table_insert(struct peer_table *table, struct peer_node *node, const struct rnic_gid *gid,
		       uint32_t number)
{
	node->gid = *gid;
	node->number = number;
	list_add_tail(peer_table_chain_of(table, gid, number), &node->node);
}

void peer_table_remove(struct peer_node *node)
{
	list_remove(&node->node);
}

struct peer_node *peer_table_next(const struct peer_table *table, const struct rnic_gid *gid,
				  uint32_t number, const struct peer_node *after)
{
	const struct list *chain = peer_table_chain_of(table, gid, number);
	struct list *at = after == NULL ? chain->next : after->node.next;

	for (; at != chain; at = at->next) {
		struct peer_node *node = list_entry(at, struct peer_node, node);

		if (node->number == number && rnic_gid_equal(&node->gid, gid))
			return node;
	}
	return NULL;
}
