/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/record_shelf.h"

#include <stdlib.h>
#include <string.h>

static uint32_t count_of_user(const struct record_shelf *shelf, uid_t uid)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < shelf->count; i++)
		count += shelf->records[i].uid == uid;
	return count;
}

/* Takes out the oldest record of the user who has most. */
static void make_room(struct record_shelf *shelf)
{
	uint32_t worst = 0, most = 0;

	for (uint32_t i = 0; i < shelf->count; i++) {
		const uint32_t count = count_of_user(shelf, shelf->records[i].uid);

		if (count > most) {
			most = count;
			worst = i;
		}
	}
	free(shelf->records[worst].rings);
	shelf->count--;
	memmove(&shelf->records[worst], &shelf->records[worst + 1],
		(shelf->count - worst) * sizeof(shelf->records[0]));
}

static bool is_empty(const struct rnic_record_ring *ring)
{
	return atomic_load_explicit(&ring->count, memory_order_acquire) == 0;
}

void record_shelf_put(struct record_shelf *shelf, const struct shelved_record *record,
		      const struct rnic_record_region *region)
{
	struct shelved_record put = *record;

	put.ring_count = 0;
	for (uint32_t i = 0; i < RNIC_RECORD_RINGS; i++)
		if (!is_empty(&region->rings[i]))
			put.numbers[put.ring_count++] = (uint8_t)i;
	put.rings = calloc(put.ring_count > 0 ? put.ring_count : 1, sizeof(*put.rings));
	if (put.rings == NULL)
		return;
	for (uint32_t i = 0; i < put.ring_count; i++)
		memcpy(&put.rings[i], &region->rings[put.numbers[i]], sizeof(put.rings[i]));
	if (shelf->count == RECORD_SHELF_MAX)
		make_room(shelf);
	shelf->records[shelf->count++] = put;
}

void record_shelf_clear(struct record_shelf *shelf)
{
	for (uint32_t i = 0; i < shelf->count; i++)
		free(shelf->records[i].rings);
	shelf->count = 0;
}
