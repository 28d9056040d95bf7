/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/send_rooms.h"

#include "lib/nic/engine/objects/send_wqe.h"
#include "proto/base/verbs_types.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define LARGE_WQES ((size_t)LIMIT_SEND_LARGE_ROOMS * LIMIT_SEND_LARGE_ROOM_WQES)
#define SMALL_WQES ((size_t)LIMIT_SEND_SMALL_ROOMS * LIMIT_SEND_SMALL_ROOM_WQES)

_Static_assert((LIMIT_SEND_LARGE_ROOM_WQES & (LIMIT_SEND_LARGE_ROOM_WQES - 1)) == 0 &&
		       (LIMIT_SEND_SMALL_ROOM_WQES & (LIMIT_SEND_SMALL_ROOM_WQES - 1)) == 0,
	       "slots wrap");
_Static_assert(LIMIT_SEND_ROOM_SGES / LIMIT_SGES >= LIMIT_SEND_SMALL_ROOM_WQES &&
		       LIMIT_SEND_SMALL_ROOM_WQES > LIMIT_SEND_OWN_WQES,
	       "a room has more slots than a queue, whatever the number of SGEs");

int send_rooms_init(struct send_rooms *rooms)
{
	struct send_wqe *wqes = calloc(LARGE_WQES + SMALL_WQES, sizeof(*wqes));
	struct rnic_sge *sges = calloc((size_t)SEND_ROOMS * LIMIT_SEND_ROOM_SGES, sizeof(*sges));

	if (wqes == NULL || sges == NULL) {
		free(wqes);
		free(sges);
		return -ENOMEM;
	}
	*rooms = (struct send_rooms){.wqes = wqes, .sges = sges};
	for (uint16_t i = 0; i < SEND_ROOMS; i++) {
		rooms->rooms[i] = (struct send_room){.wqes = wqes, .sges = sges};
		wqes += i < LIMIT_SEND_LARGE_ROOMS ? LIMIT_SEND_LARGE_ROOM_WQES
						   : LIMIT_SEND_SMALL_ROOM_WQES;
		sges += LIMIT_SEND_ROOM_SGES;
		send_rooms_give_back(rooms, i);
	}
	return 0;
}

void send_rooms_fini(struct send_rooms *rooms)
{
	assert(rooms->large_count + rooms->small_count == SEND_ROOMS);
	free(rooms->wqes);
	free(rooms->sges);
	*rooms = (struct send_rooms){0};
}

uint16_t send_rooms_most_slots(uint32_t depth, uint32_t sge_max)
{
	uint32_t slots = LIMIT_SEND_LARGE_ROOM_WQES;

	while (slots * sge_max > LIMIT_SEND_ROOM_SGES || slots / 2 >= depth)
		slots /= 2;
	return (uint16_t)slots;
}

uint16_t send_rooms_borrow(struct send_rooms *rooms)
{
	assert(send_rooms_next_slots(rooms) > 0);
	if (rooms->large_count > 0)
		return rooms->large[--rooms->large_count];
	return rooms->small[--rooms->small_count];
}

void send_rooms_give_back(struct send_rooms *rooms, uint16_t room)
{
	assert(room < SEND_ROOMS && rooms->large_count + rooms->small_count < SEND_ROOMS);
	if (room < LIMIT_SEND_LARGE_ROOMS)
		rooms->large[rooms->large_count++] = room;
	else
		rooms->small[rooms->small_count++] = room;
}
