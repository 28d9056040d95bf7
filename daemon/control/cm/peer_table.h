/* SPDX-License-Identifier: MIT */
/*
 * Connections by their peer's address and a number that the peer chose. The peer may be hostile, so
 * the hash is seeded. The table links nodes that the connections embed, and owns no connection.
 */
#ifndef DAEMON_CONTROL_CM_PEER_TABLE_H
#define DAEMON_CONTROL_CM_PEER_TABLE_H

#include "lib/nic/base/list.h"
#include "proto/base/verbs_types.h"

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

/*
 * Adds `node`, which is on no table, under `gid` and `number`. Several nodes may have the same key.
 */
void peer_table_insert(struct peer_table *table, struct peer_node *node, const struct rnic_gid *gid,
		       uint32_t number);

/* Does nothing when the node is on no table. */
void peer_table_remove(struct peer_node *node);

/* The next node of that address and number after `after`; NULL begins, NULL is the end. */
struct peer_node *peer_table_next(const struct peer_table *table, const struct rnic_gid *gid,
				  uint32_t number, const struct peer_node *after);

#endif
