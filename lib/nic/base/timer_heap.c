/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/timer_heap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void timer_heap_init(struct timer_heap *heap)
{
	*heap = (struct timer_heap){0};
}

void timer_heap_fini(struct timer_heap *heap)
{
	for (uint32_t i = 1; i <= heap->count; i++)
		heap->timers[i]->heap_index = 0;
	free(heap->timers);
	timer_heap_init(heap);
}

int timer_heap_reserve(struct timer_heap *heap, uint32_t capacity)
{
	struct timer **timers;

	if (capacity <= heap->capacity)
		return 0;
	if (capacity < heap->capacity * 2)
		capacity = heap->capacity * 2;
	timers = realloc(heap->timers, ((size_t)capacity + 1) * sizeof(struct timer *));
	if (timers == NULL)
		return -ENOMEM;
	heap->timers = timers;
	heap->capacity = capacity;
	return 0;
}

static void timer_heap_place(struct timer_heap *heap, uint32_t index, struct timer *timer)
{
	heap->timers[index] = timer;
	timer->heap_index = index;
}

/* Puts `timer` at `index` or nearer to the root. */
static void sift_up(struct timer_heap *heap, uint32_t index, struct timer *timer)
{
	while (index > 1 && heap->timers[index / 2]->deadline_ns > timer->deadline_ns) {
		timer_heap_place(heap, index, heap->timers[index / 2]);
		index /= 2;
	}
	timer_heap_place(heap, index, timer);
}

/* Puts `timer` at `index` or farther from the root. */
static void sift_down(struct timer_heap *heap, uint32_t index, struct timer *timer)
{
	while (index <= heap->count / 2) {
		uint32_t child = index * 2;

		if (child < heap->count &&
		    heap->timers[child + 1]->deadline_ns < heap->timers[child]->deadline_ns)
			child++;
		if (heap->timers[child]->deadline_ns >= timer->deadline_ns)
			break;
		timer_heap_place(heap, index, heap->timers[child]);
		index = child;
	}
	timer_heap_place(heap, index, timer);
}

void timer_heap_arm(struct timer_heap *heap, struct timer *timer, uint64_t deadline_ns)
{
	if (!timer_is_armed(timer)) {
		assert(heap->count < heap->capacity);
		timer->deadline_ns = deadline_ns;
		sift_up(heap, ++heap->count, timer);
	} else if (deadline_ns < timer->deadline_ns) {
		timer->deadline_ns = deadline_ns;
		sift_up(heap, timer->heap_index, timer);
	} else {
		timer->deadline_ns = deadline_ns;
		sift_down(heap, timer->heap_index, timer);
	}
}

void timer_heap_disarm(struct timer_heap *heap, struct timer *timer)
{
	uint32_t hole = timer->heap_index;
	struct timer *last;

	if (hole == 0)
		return;
	assert(heap->timers[hole] == timer);
	timer->heap_index = 0;
	last = heap->timers[heap->count--];
	if (last == timer)
		return;
	if (hole > 1 && heap->timers[hole / 2]->deadline_ns > last->deadline_ns)
		sift_up(heap, hole, last);
	else
		sift_down(heap, hole, last);
}

struct timer *timer_heap_pop_expired(struct timer_heap *heap, uint64_t now_ns)
{
	struct timer *timer;

	if (timer_heap_earliest_ns(heap) > now_ns || heap->count == 0)
		return NULL;
	timer = heap->timers[1];
	timer_heap_disarm(heap, timer);
	return timer;
}
