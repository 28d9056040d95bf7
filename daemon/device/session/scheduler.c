/* SPDX-License-Identifier: MIT */
#include "daemon/device/session/scheduler.h"

/* Moves all nodes of `from` to the front of `to`. */
static void scheduler_splice(struct list *from, struct list *to)
{
	if (list_is_empty(from))
		return;
	from->prev->next = to->next;
	to->next->prev = from->prev;
	from->next->prev = to;
	to->next = from->next;
	list_init(from);
}

void scheduler_init(struct scheduler *scheduler)
{
	for (unsigned i = 0; i < WAIT_KIND_COUNT; i++)
		list_init(&scheduler->queues[i]);
}

bool scheduler_is_empty(const struct scheduler *scheduler)
{
	for (unsigned i = 0; i < WAIT_KIND_COUNT; i++)
		if (!list_is_empty(&scheduler->queues[i]))
			return false;
	return true;
}

void scheduler_begin(struct scheduler *scheduler, enum wait_kind kind, struct wait_batch *batch)
{
	list_init(&batch->nodes);
	scheduler_splice(&scheduler->queues[kind], &batch->nodes);
}

void scheduler_end(struct scheduler *scheduler, enum wait_kind kind, struct wait_batch *batch)
{
	scheduler_splice(&batch->nodes, &scheduler->queues[kind]);
}
