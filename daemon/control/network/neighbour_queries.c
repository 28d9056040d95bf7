/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/neighbour_queries.h"

#include "proto/wire/gid.h"

#include <errno.h>

/* Each costs up to three questions to the kernel. */
#define ENDS_PER_TICK 64

void neighbour_queries_init(struct neighbour_queries *queries, const struct neighbour_calls *calls,
			    void *context, uint32_t netdev_index)
{
	*queries = (struct neighbour_queries){
		.calls = calls,
		.context = context,
		.next_ns = UINT64_MAX,
		.netdev_index = netdev_index,
	};
	list_init(&queries->waiting);
}

static bool neighbour_queries_is_unknown(struct neighbour_queries *queries,
					 struct neighbour_query *query)
{
	return queries->calls->is_unknown(queries->context, &query->way, &query->hop);
}

static void neighbour_queries_remove(struct neighbour_queries *queries,
				     struct neighbour_query *query)
{
	list_remove(&query->node);
	if (!list_is_empty(&queries->waiting))
		return;
	queries->next_ns = UINT64_MAX;
	queries->calls->hear(queries->context, false);
}

bool neighbour_queries_begin(struct neighbour_queries *queries, struct neighbour_query *query,
			     const struct rnic_gid *source, const struct rnic_gid *peer,
			     uint64_t until_ns)
{
	query->way = (struct hop_way){*source, *peer, queries->netdev_index};
	query->until_ns = until_ns;
	query->has_answered = false;
	if (!neighbour_queries_is_unknown(queries, query))
		return false;
	if (list_is_empty(&queries->waiting))
		queries->calls->hear(queries->context, true);
	list_add_tail(&queries->waiting, &query->node);
	queries->calls->call(queries->context, &query->way);
	/* The answer may have come before anybody heard. */
	if (!neighbour_queries_is_unknown(queries, query)) {
		neighbour_queries_remove(queries, query);
		return false;
	}
	if (until_ns < queries->next_ns)
		queries->next_ns = until_ns;
	return true;
}

void neighbour_queries_cancel(struct neighbour_queries *queries, struct neighbour_query *query)
{
	if (list_is_linked(&query->node))
		neighbour_queries_remove(queries, query);
}

void neighbour_queries_note(struct neighbour_queries *queries, const struct next_hop *hop)
{
	struct list *node;

	list_for_each (node, &queries->waiting) {
		struct neighbour_query *query = list_entry(node, struct neighbour_query, node);

		if (query->hop.netdev_index != hop->netdev_index ||
		    !rnic_gid_equal(&query->hop.gid, &hop->gid))
			continue;
		query->has_answered = true;
		queries->next_ns = 0;
	}
}

static void neighbour_queries_end(struct neighbour_queries *queries, struct neighbour_query *query)
{
	const bool is_late = !query->has_answered && neighbour_queries_is_unknown(queries, query);

	neighbour_queries_remove(queries, query);
	query->ended(query, is_late ? -ETIMEDOUT : 0);
}

void neighbour_queries_tick(struct neighbour_queries *queries, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;
	struct list *node, *following;
	uint32_t ended = 0;

	if (now_ns < queries->next_ns)
		return;
	list_for_each_safe (node, following, &queries->waiting) {
		struct neighbour_query *query = list_entry(node, struct neighbour_query, node);

		if (query->has_answered || query->until_ns <= now_ns) {
			if (ended++ == ENDS_PER_TICK) {
				next_ns = 0;
				break;
			}
			neighbour_queries_end(queries, query);
		} else if (query->until_ns < next_ns) {
			next_ns = query->until_ns;
		}
	}
	queries->next_ns = next_ns;
}
