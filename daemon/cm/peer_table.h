/* SPDX-License-Identifier: MIT */
/*
 * Connections by what their peer chose: its address, and a number that it says is its own. The peer
 * may be hostile, so the hash is seeded. Chains of nodes that are embedded in what is listed; the
 * table owns none of it.
 */
#ifndef DAEMON_CM_PEER_TABLE_H
#define DAEMON_CM_PEER_TABLE_H

#include "base/list.h"
#include "base/verbs_types.h"

#include <stdint.h>

struct peer_node {
	struct list node;
	struct rnic_gid gid;
	uint32_t number;
};

struct peer_table {
	struct list *chains;
	uint64_t seed;
};

/* -ENOMEM. */
int peer_table_init(struct peer_table *table, uint64_t seed);
void peer_table_fini(struct peer_table *table);

/* Lists `node`, which is on no table, under `gid` and `number`; several may have the same. */
void peer_table_insert(struct peer_table *table, struct peer_node *node, const struct rnic_gid *gid,
		       uint32_t number);

/* Does nothing when it is on no table. */
void peer_table_remove(struct peer_node *node);

/* The next node of that address and number behind `after`; NULL begins, NULL is the end. */
struct peer_node *peer_table_next(const struct peer_table *table, const struct rnic_gid *gid,
				  uint32_t number, const struct peer_node *after);

#endif
