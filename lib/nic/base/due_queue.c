/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/due_queue.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

void due_queue_fini(struct due_queue *queue)
{
	free(queue->entries);
	*queue = (struct due_queue){0};
}

int due_queue_reserve(struct due_queue *queue, uint32_t capacity)
{
	struct due_queue_entry *entries;

	if (capacity <= queue->capacity)
		return 0;
	if (capacity < queue->capacity * 2)
		capacity = queue->capacity * 2;
	entries = realloc(queue->entries, capacity * sizeof(*entries));
	if (entries == NULL)
		return -ENOMEM;
	queue->entries = entries;
	queue->capacity = capacity;
	return 0;
}

static bool is_before(const struct due_queue_entry *a, const struct due_queue_entry *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

void due_queue_push(struct due_queue *queue, uint64_t due_ns, void *item)
{
	const struct due_queue_entry entry = {due_ns, queue->next_order++, item};
	uint32_t at = queue->count++;

	assert(queue->count <= queue->capacity);
	while (at > 0 && is_before(&entry, &queue->entries[(at - 1) / 2])) {
		queue->entries[at] = queue->entries[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	queue->entries[at] = entry;
}

void *due_queue_pop(struct due_queue *queue)
{
	struct due_queue_entry *entries = queue->entries;
	void *item = entries[0].item;
	const struct due_queue_entry last = entries[--queue->count];
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= queue->count)
			break;
		if (child + 1 < queue->count && is_before(&entries[child + 1], &entries[child]))
			child++;
		if (is_before(&last, &entries[child]))
			break;
		entries[at] = entries[child];
		at = child;
	}
	entries[at] = last;
	return item;
}
