/* SPDX-License-Identifier: MIT */
#include "engine/objects/send_rooms.h"

#include "base/verbs_types.h"
#include "engine/objects/send_wqe.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

_Static_assert((LIMIT_SEND_ROOM_WQES & (LIMIT_SEND_ROOM_WQES - 1)) == 0, "slots wrap");
_Static_assert(LIMIT_SEND_ROOM_SGES / LIMIT_SGES >= LIMIT_SEND_OWN_WQES,
	       "a room has more slots than a queue, whatever the number of SGEs");

int send_rooms_init(struct send_rooms *rooms)
{
	*rooms = (struct send_rooms){
		.wqes = calloc((size_t)LIMIT_SEND_ROOMS * LIMIT_SEND_ROOM_WQES,
			       sizeof(*rooms->wqes)),
		.sges = calloc((size_t)LIMIT_SEND_ROOMS * LIMIT_SEND_ROOM_SGES,
			       sizeof(*rooms->sges)),
		.free_count = LIMIT_SEND_ROOMS,
	};
	if (rooms->wqes == NULL || rooms->sges == NULL) {
		send_rooms_fini(rooms);
		return -ENOMEM;
	}
	for (uint16_t i = 0; i < LIMIT_SEND_ROOMS; i++) {
		rooms->rooms[i] = (struct send_room){
			.wqes = rooms->wqes + (size_t)i * LIMIT_SEND_ROOM_WQES,
			.sges = rooms->sges + (size_t)i * LIMIT_SEND_ROOM_SGES,
		};
		rooms->free[i] = i;
	}
	return 0;
}

void send_rooms_fini(struct send_rooms *rooms)
{
	assert(rooms->free_count == LIMIT_SEND_ROOMS);
	free(rooms->wqes);
	free(rooms->sges);
	rooms->wqes = NULL;
	rooms->sges = NULL;
}

uint16_t send_rooms_slots(uint32_t depth, uint32_t sge_max)
{
	const uint32_t fitting =
		sge_max == 0 ? LIMIT_SEND_ROOM_WQES : LIMIT_SEND_ROOM_SGES / sge_max;
	uint32_t slots = LIMIT_SEND_ROOM_WQES;

	while (slots > fitting || slots / 2 >= depth)
		slots /= 2;
	return (uint16_t)slots;
}

uint16_t send_rooms_borrow(struct send_rooms *rooms)
{
	assert(rooms->free_count > 0);
	return rooms->free[--rooms->free_count];
}

void send_rooms_give_back(struct send_rooms *rooms, uint16_t room)
{
	assert(rooms->free_count < LIMIT_SEND_ROOMS);
	rooms->free[rooms->free_count++] = room;
}
