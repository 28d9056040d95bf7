/* SPDX-License-Identifier: MIT */
/*
 * Timers in a binary heap by deadline. The heap holds pointers to timers that are embedded in their
 * objects; the owner makes room for all of them beforehand, so that arming never allocates or
 * fails.
 *
 * Invariant: heap_index is the timer's place in the heap, counted from 1, and 0 exactly when the
 * timer is not armed (as in zeroed memory).
 */
#ifndef LIB_NIC_BASE_TIMER_HEAP_H
#define LIB_NIC_BASE_TIMER_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct timer {
	uint64_t deadline_ns;
	uint32_t heap_index;
};

struct timer_heap {
	struct timer **timers; /* [1 .. count], a heap by deadline */
	uint32_t count;
	uint32_t capacity;
};

void timer_heap_init(struct timer_heap *heap);

/* Frees the heap; timers still armed are forgotten. */
void timer_heap_fini(struct timer_heap *heap);

/* Makes room for `capacity` armed timers at once. -ENOMEM, and the heap stays as it was. */
int timer_heap_reserve(struct timer_heap *heap, uint32_t capacity);

/* Arms `timer`, or moves an armed timer. Room must have been reserved. */
void timer_heap_arm(struct timer_heap *heap, struct timer *timer, uint64_t deadline_ns);

/* Does nothing when the timer is not armed. */
void timer_heap_disarm(struct timer_heap *heap, struct timer *timer);

/* Disarms and returns the earliest timer whose deadline is at or before `now_ns`; NULL when none.
 */
struct timer *timer_heap_pop_expired(struct timer_heap *heap, uint64_t now_ns);

/* UINT64_MAX when nothing is armed. */
static inline uint64_t timer_heap_earliest_ns(const struct timer_heap *heap)
{
	return heap->count == 0 ? UINT64_MAX : heap->timers[1]->deadline_ns;
}

static inline bool timer_is_armed(const struct timer *timer)
{
	return timer->heap_index != 0;
}

#endif
