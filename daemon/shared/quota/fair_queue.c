/* SPDX-License-Identifier: MIT */
#include "daemon/shared/quota/fair_queue.h"

#include <assert.h>
#include <stddef.h>

void fair_queue_init(struct fair_queue *queue)
{
	*queue = (struct fair_queue){.served_count = 0};
	list_init(&queue->shares);
}

void fair_share_init(struct fair_share *share)
{
	*share = (struct fair_share){.served = 0};
	list_init(&share->node);
	list_init(&share->items);
}

void fair_share_fini(struct fair_share *share)
{
	assert(list_is_empty(&share->items));
	list_remove(&share->node);
}

void fair_queue_add(struct fair_queue *queue, struct fair_item *item)
{
	struct fair_share *share = item->share;

	list_add_tail(&share->items, &item->node);
	if (list_is_linked(&share->node))
		return;
	share->left = 0;
	list_add_tail(&queue->shares, &share->node);
}

/* Takes the first item of a share, which goes behind the others, or out of the queue. */
static struct fair_item *fair_queue_take_from(struct fair_queue *queue, struct fair_share *share)
{
	struct fair_item *item = list_first_entry(&share->items, struct fair_item, node);

	list_remove(&item->node);
	list_remove(&share->node);
	if (!list_is_empty(&share->items))
		list_add_tail(&queue->shares, &share->node);
	return item;
}

struct fair_item *fair_queue_take(struct fair_queue *queue)
{
	while (!list_is_empty(&queue->shares)) {
		struct fair_share *share =
			list_first_entry(&queue->shares, struct fair_share, node);

		if (!list_is_empty(&share->items))
			return fair_queue_take_from(queue, share);
		list_remove(&share->node);
	}
	return NULL;
}

void fair_queue_begin_round(struct fair_queue *queue, uint32_t most)
{
	struct list *node, *item;

	list_for_each (node, &queue->shares) {
		struct fair_share *share = list_entry(node, struct fair_share, node);

		share->taken = 0;
		share->left = 0;
		list_for_each (item, &share->items)
			if (++share->left == most)
				break;
	}
}

static bool fair_share_is_before(const struct fair_share *one, const struct fair_share *other)
{
	return one->taken != other->taken ? one->taken < other->taken : one->served < other->served;
}

struct fair_item *fair_queue_take_due(struct fair_queue *queue)
{
	struct fair_share *first = NULL;
	struct list *node;

	list_for_each (node, &queue->shares) {
		struct fair_share *share = list_entry(node, struct fair_share, node);

		if (list_is_empty(&share->items) || share->left == 0)
			continue;
		if (first == NULL || fair_share_is_before(share, first))
			first = share;
	}
	if (first == NULL)
		return NULL;
	first->left--;
	first->taken++;
	return fair_queue_take_from(queue, first);
}

void fair_queue_note_served(struct fair_queue *queue, const struct fair_item *item)
{
	item->share->served = ++queue->served_count;
}
