/* SPDX-License-Identifier: MIT */
/*
 * The rooms that send queues borrow. A queue has few slots of its own, for most queues hold few
 * WQEs at a time, and ten thousand queues must not each keep the memory of a full one. A queue that
 * fills its own slots borrows a room, and gives the room back when it has run empty. Where all
 * rooms are lent, a queue goes on with its own slots.
 */
#ifndef NIC_ENGINE_OBJECTS_SEND_ROOMS_H
#define NIC_ENGINE_OBJECTS_SEND_ROOMS_H

#include "engine/engine_limits.h"

#include <stdbool.h>
#include <stdint.h>

struct rnic_sge;
struct send_wqe;

/* Slots for WQEs and their SGEs. While a room is lent, those of the borrower lie here instead. */
struct send_room {
	struct send_wqe *wqes; /* LIMIT_SEND_ROOM_WQES */
	struct rnic_sge *sges; /* LIMIT_SEND_ROOM_SGES */
};

struct send_rooms {
	struct send_room rooms[LIMIT_SEND_ROOMS];
	struct send_wqe *wqes; /* the memory of all rooms */
	struct rnic_sge *sges;
	uint16_t free[LIMIT_SEND_ROOMS]; /* numbers of rooms */
	uint16_t free_count;
};

/* Makes all rooms. WQEs touch the memory as they come. -ENOMEM. */
int send_rooms_init(struct send_rooms *rooms);

/* All rooms must be back. */
void send_rooms_fini(struct send_rooms *rooms);

/*
 * How many slots a room gives to a queue of `depth` WQEs with up to `sge_max` SGEs each: a power of
 * two.
 */
uint16_t send_rooms_slots(uint32_t depth, uint32_t sge_max);

/* Takes a room, of which there must be one, and returns its number. */
uint16_t send_rooms_borrow(struct send_rooms *rooms);
void send_rooms_give_back(struct send_rooms *rooms, uint16_t room);

static inline bool send_rooms_has_free(const struct send_rooms *rooms)
{
	return rooms->free_count > 0;
}

#endif
