/* SPDX-License-Identifier: MIT */
#include "daemon/shared/served_peer/peer_teardown.h"

#include "daemon/shared/base/handle_table.h"
#include "daemon/shared/served_peer/served_peer.h"

#include <assert.h>

#define COST_PEER 128

static const struct teardown_stage *peer_teardown_stages(const struct served_peer *peer)
{
	return peer->set->server.role->stages;
}

static void peer_teardown_spend(uint32_t *budget, uint32_t cost)
{
	*budget -= cost < *budget ? cost : *budget;
}

static struct handle_table *peer_teardown_table(const struct served_peer *peer,
						const struct teardown_stage *stage)
{
	return (void *)((uint8_t *)peer->objects + stage->table);
}

/* Frees objects, of urgent stages alone or of all. Returns whether it has freed all of them. */
static bool peer_teardown_end_objects(struct served_peer *peer, bool is_urgent, uint32_t *budget)
{
	const struct teardown_stage *stage = &peer_teardown_stages(peer)[peer->teardown.stage];

	if (peer->objects == NULL)
		return true;
	while (*budget > 0 && stage->name != NULL && (stage->is_urgent || !is_urgent)) {
		uint32_t next = peer->teardown.slot;
		void *object = handle_table_next(peer_teardown_table(peer, stage), &next);

		if (object == NULL) {
			stage++;
			peer->teardown.stage++;
			peer->teardown.slot = 0;
			continue;
		}
		peer->teardown.slot = next - 1; /* `end` may have freed only a part */
		peer_teardown_spend(budget, stage->end(peer->objects, object));
	}
	return stage->name == NULL || (is_urgent && !stage->is_urgent);
}

static struct served_peer *peer_teardown_first(const struct list *list)
{
	return list_first_entry(list, struct served_peer, ending_node);
}

static void peer_teardown_move(struct served_peer *peer, struct list *list)
{
	list_remove(&peer->ending_node);
	list_add_tail(list, &peer->ending_node);
}

static void peer_teardown_begin(struct served_peer *peer)
{
	assert(peer->requests.is_broken);
	peer->set->server.role->cut(peer);
	peer_teardown_move(peer, &peer->set->leaving);
}

/* Keeps the list in order; the times of most peers are equal, so that the place is at its end. */
static void peer_teardown_hold(struct served_peer *peer, uint64_t until_ns)
{
	struct list *behind = peer->set->held.prev;

	while (behind != &peer->set->held &&
	       list_entry(behind, struct served_peer, ending_node)->held_until_ns > until_ns)
		behind = behind->prev;
	peer->held_until_ns = until_ns;
	list_remove(&peer->ending_node);
	list_add(behind, &peer->ending_node);
}

static void peer_teardown_release(struct served_peer *peer)
{
	peer->held_until_ns = 0;
	peer->set->server.role->release(peer);
	peer_teardown_move(peer, &peer->set->leaving);
}

static void peer_teardown_begin_or_hold(struct served_peer *peer, uint64_t now_ns)
{
	const struct request_role *role = peer->set->server.role;
	const uint64_t hold_ns = role->hold != NULL ? role->hold(peer, now_ns) : 0;

	peer_teardown_begin(peer);
	if (hold_ns != 0)
		peer_teardown_hold(peer, now_ns + hold_ns);
}

static void peer_teardown_leave(struct served_peer *peer, uint32_t *budget)
{
	if (peer_teardown_end_objects(peer, true, budget))
		peer_teardown_move(peer, &peer->set->ending);
}

/* Returns whether the peer is gone with all that it had. */
static bool peer_teardown_finish(struct served_peer *peer, uint32_t *budget)
{
	const struct teardown_stage *stage = peer_teardown_stages(peer);

	if (!peer_teardown_end_objects(peer, false, budget))
		return false;
	for (; peer->objects != NULL && stage->name != NULL; stage++)
		handle_table_fini(peer_teardown_table(peer, stage));
	peer_teardown_spend(budget, COST_PEER);
	peer->set->server.role->destroy(peer);
	return true;
}

void peer_teardown_run(struct served_set *set, uint64_t now_ns)
{
	uint32_t budget = LIMIT_TURN_TEARDOWN;
	struct served_peer *late;

	while ((late = served_peer_take_late(&set->silent, now_ns)) != NULL)
		served_peer_break(late, "it did not say %s", set->server.role->first_request);
	while (!list_is_empty(&set->broken))
		peer_teardown_begin_or_hold(peer_teardown_first(&set->broken), now_ns);
	while (served_set_release_ns(set) <= now_ns)
		peer_teardown_release(peer_teardown_first(&set->held));
	while (budget > 0 && !list_is_empty(&set->leaving))
		peer_teardown_leave(peer_teardown_first(&set->leaving), &budget);
	while (budget > 0 && !list_is_empty(&set->ending))
		peer_teardown_finish(peer_teardown_first(&set->ending), &budget);
}

void peer_teardown_all(struct served_set *set)
{
	while (!list_is_empty(&set->all)) {
		struct served_peer *peer = list_first_entry(&set->all, struct served_peer, node);
		uint32_t budget;

		served_peer_end(peer);
		if (peer->requests.fd >= 0)
			peer_teardown_begin(peer);
		if (peer->held_until_ns != 0)
			peer_teardown_release(peer);
		do
			budget = UINT32_MAX;
		while (!peer_teardown_finish(peer, &budget));
	}
}
