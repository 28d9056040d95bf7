/* SPDX-License-Identifier: MIT */
/*
 * The rooms that send queues borrow. A queue has few slots of its own, for most queues hold few
 * WQEs at a time, and ten thousand queues must not each keep the memory of a full one. A queue that
 * fills its own slots borrows a room, and gives the room back when it has run empty. The first
 * queues get large rooms, enough for a long path; then there are small ones. Where all rooms are
 * lent, a queue goes on with its own slots.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_SEND_ROOMS_H
#define LIB_NIC_ENGINE_OBJECTS_SEND_ROOMS_H

#include "lib/nic/engine/engine_limits.h"

#include <stdint.h>

#define SEND_ROOMS (LIMIT_SEND_LARGE_ROOMS + LIMIT_SEND_SMALL_ROOMS)

struct rnic_sge;
struct send_wqe;

/* Slots for WQEs and their SGEs. A room that is lent holds the borrower's own arrays meanwhile. */
struct send_room {
	struct send_wqe *wqes;
	struct rnic_sge *sges; /* LIMIT_SEND_ROOM_SGES */
};

/* Rooms below LIMIT_SEND_LARGE_ROOMS are large. */
struct send_rooms {
	struct send_room rooms[SEND_ROOMS];
	struct send_wqe *wqes; /* the memory of all rooms */
	struct rnic_sge *sges;
	uint16_t large[LIMIT_SEND_LARGE_ROOMS]; /* the numbers of free rooms */
	uint16_t small[LIMIT_SEND_SMALL_ROOMS];
	uint16_t large_count;
	uint16_t small_count;
};

/* Makes all rooms. WQEs touch the memory as they come. -ENOMEM. */
int send_rooms_init(struct send_rooms *rooms);

/* All rooms must be back. */
void send_rooms_fini(struct send_rooms *rooms);

/*
 * The most slots that a room gives to a queue of `depth` WQEs with up to `sge_max` SGEs each: a
 * power of two. Small rooms may have less.
 */
uint16_t send_rooms_most_slots(uint32_t depth, uint32_t sge_max);

/* The slots of the room that is lent next; 0: none is left. */
static inline uint32_t send_rooms_next_slots(const struct send_rooms *rooms)
{
	if (rooms->large_count > 0)
		return LIMIT_SEND_LARGE_ROOM_WQES;
	return rooms->small_count > 0 ? LIMIT_SEND_SMALL_ROOM_WQES : 0;
}

/* Takes a room, of which there must be one, and returns its number. */
uint16_t send_rooms_borrow(struct send_rooms *rooms);
void send_rooms_give_back(struct send_rooms *rooms, uint16_t room);

#endif
