/* SPDX-License-Identifier: MIT */
/*
 * A queue of items of several users, which serves the users in turn, however many items each has.
 * The owner of an item may take the item out at any time, by list_remove() of its node.
 *
 * Pure: the owner of an item names its share once, and the share outlives its items.
 */
#ifndef DAEMON_SHARED_QUOTA_FAIR_QUEUE_H
#define DAEMON_SHARED_QUOTA_FAIR_QUEUE_H

#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct fair_queue {
	struct list shares;    /* struct fair_share.node; some may be empty */
	uint64_t served_count; /* ever noted by fair_queue_note_served() */
};

/* The items of one user. */
struct fair_share {
	struct list node; /* of fair_queue.shares */
	struct list items;
	uint64_t served; /* fair_queue.served_count of the time at which an item was done */
	uint32_t left;	 /* items that the round may still take */
	uint32_t taken;	 /* items that the round has taken */
};

/* What stands in the queue, or in a list of its owner. */
struct fair_item {
	struct list node;	  /* of fair_share.items */
	struct fair_share *share; /* of its user */
};

void fair_queue_init(struct fair_queue *queue);
void fair_share_init(struct fair_share *share);

/* The share has no items any more. */
void fair_share_fini(struct fair_share *share);

/* Puts an item, which is in no queue, behind the other items of its share. */
void fair_queue_add(struct fair_queue *queue, struct fair_item *item);

static inline bool fair_queue_is_empty(const struct fair_queue *queue)
{
	const struct list *node;

	list_for_each (node, &queue->shares)
		if (!list_is_empty(&list_entry(node, const struct fair_share, node)->items))
			return false;
	return true;
}

/* Takes an item of the next user. NULL: the queue is empty. */
struct fair_item *fair_queue_take(struct fair_queue *queue);

/*
 * Begins a round, in which fair_queue_take_due() takes up to `most` of the items that each user has
 * now: one of each user, then a second one. First comes the user whose last item was done the
 * longest time ago: items that only wait for one another do not cost their user the place. An item
 * that is added meanwhile waits for the next round. NULL: the round is over.
 */
void fair_queue_begin_round(struct fair_queue *queue, uint32_t most);
struct fair_item *fair_queue_take_due(struct fair_queue *queue);

/* Notes that an item of a user was done, and not only tried. */
void fair_queue_note_served(struct fair_queue *queue, const struct fair_item *item);

#endif
