/* SPDX-License-Identifier: MIT */
/* For the sinks of tests, whose receive WQEs lie in arrays of their own. */
#ifndef TESTS_SIM_RECV_ROOM_COPY_H
#define TESTS_SIM_RECV_ROOM_COPY_H

#include "lib/nic/engine/objects/recv_queue.h"

#include <string.h>

/* Copies a WQE and its SGEs to place `index` of the engine's room. */
static inline void recv_room_copy(const struct recv_room *room, uint32_t index,
				  const struct recv_wqe *wqe, const struct rnic_sge *sges)
{
	room->wqes[index] = *wqe;
	memcpy(recv_room_sges(room, index), sges, wqe->sge_count * sizeof(*sges));
}

#endif
