/* SPDX-License-Identifier: MIT */
/*
 * Items that become due one after another: the earliest first, and of those due at the same instant
 * the one that was pushed first. A binary heap, so that a push costs little however many wait.
 *
 * The queue owns no item. Room is made beforehand, so that a push never allocates or fails.
 */
#ifndef LIB_NIC_BASE_DUE_QUEUE_H
#define LIB_NIC_BASE_DUE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct due_queue_entry {
	uint64_t due_ns;
	uint64_t order; /* of the pushes */
	void *item;
};

/* Zeroed memory is an empty queue without room. */
struct due_queue {
	struct due_queue_entry *entries; /* a heap by due_ns, then order */
	uint32_t count;
	uint32_t capacity;
	uint64_t next_order;
};

/* Frees the queue; items still in it are forgotten. */
void due_queue_fini(struct due_queue *queue);

/* Makes room for `capacity` items at once. -ENOMEM, and the queue stays as it was. */
int due_queue_reserve(struct due_queue *queue, uint32_t capacity);

/* Room must have been reserved. */
void due_queue_push(struct due_queue *queue, uint64_t due_ns, void *item);

/* Takes the first item out of a queue that is not empty. */
void *due_queue_pop(struct due_queue *queue);

/* The item that due_queue_pop() takes next; NULL when there is none. */
static inline void *due_queue_first(const struct due_queue *queue)
{
	return queue->count == 0 ? NULL : queue->entries[0].item;
}

/* When the first item is due; UINT64_MAX when there is none. */
static inline uint64_t due_queue_earliest_ns(const struct due_queue *queue)
{
	return queue->count == 0 ? UINT64_MAX : queue->entries[0].due_ns;
}

#endif
