/* SPDX-License-Identifier: MIT */
/*
 * The private send queue of a QP: validated copies of the client's WQEs from WQE fetch to
 * completion. Three cursors over one array, which only grow (WQE i lies in slot i & mask):
 *
 *     retired <= next <= posted        posted - retired <= slots
 *
 * [retired, next): started, on the wire; [next, posted): waiting. An acknowledgement stands for all
 * packets before it, so that the oldest WQE is always the next to complete. WQEs leave in order,
 * each with exactly one completion (or none, when unsignaled and successful).
 *
 * The array has few slots, and more while the queue has borrowed a room (send_rooms.h), but never
 * more than the client asked for. WQEs for which there is no slot stay in the client's ring.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_SEND_QUEUE_H
#define LIB_NIC_ENGINE_OBJECTS_SEND_QUEUE_H

#include "lib/nic/engine/objects/send_rooms.h"
#include "lib/nic/engine/objects/send_wqe.h"
#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

#define SEND_QUEUE_NO_ROOM UINT16_MAX

struct send_queue {
	struct send_wqe *wqes;
	struct rnic_sge *sges;	 /* slots * sge_stride */
	struct rnic_path *paths; /* slots, of datagrams; NULL: none */
	struct send_rooms *rooms;
	uint16_t slots;	     /* a power of two, or 0 */
	uint16_t most_slots; /* with a room; equal to `slots`: a room would add none */
	uint16_t sge_stride;
	uint16_t inline_max;
	uint16_t room;	 /* the number of the borrowed room, or SEND_QUEUE_NO_ROOM */
	bool is_awaited; /* the sink waits for a slot: see engine_sink.send_space */
	uint32_t posted;
	uint32_t next;
	uint32_t retired;
	uint32_t untold; /* WQEs that succeeded, unsignaled, since the last completion */
};

/*
 * Makes a queue of `depth` WQEs, which borrows from `rooms` or, with NULL, has slots for all. WQEs
 * touch the memory as they come. -ENOMEM.
 */
int send_queue_init(struct send_queue *queue, struct send_rooms *rooms, uint32_t depth,
		    uint32_t sge_max, uint32_t inline_max);
void send_queue_fini(struct send_queue *queue);

/*
 * Makes places for the paths of address handles: UD. Such a queue has slots for all WQEs: before an
 * address handle is destroyed, the queue takes every WQE that names the handle. -ENOMEM; fini frees
 * the places.
 */
int send_queue_init_paths(struct send_queue *queue);

/* Forgets all WQEs without completions: the QP goes to RESET. */
void send_queue_clear(struct send_queue *queue);

/*
 * Adds a WQE; the caller has checked send_queue_space(). With RNIC_SEND_INLINE `inline_bytes` is
 * used and must stay in place until the WQE is retired; without the flag `sges` are used and
 * copied. A WQE with more SGEs than the queue was made for becomes a WQE of no operation, which
 * fails in its turn.
 */
void send_queue_push(struct send_queue *queue, const struct send_wqe *wqe,
		     const struct rnic_sge *sges, const uint8_t *inline_bytes);

/* The oldest WQE has completed. Gives a borrowed room back with the last one. */
void send_queue_retire(struct send_queue *queue);

/* The slots of the next room for the queue; 0: there is none, or the queue needs no room. */
static inline uint32_t send_queue_room_slots(const struct send_queue *queue)
{
	uint32_t next_slots;

	if (queue->slots == queue->most_slots || queue->room != SEND_QUEUE_NO_ROOM)
		return 0;
	next_slots = send_rooms_next_slots(queue->rooms);
	return next_slots < queue->most_slots ? next_slots : queue->most_slots;
}

/* How many WQEs may be added now. Other queues may take the room that there is. */
static inline uint32_t send_queue_space(const struct send_queue *queue)
{
	const uint32_t room_slots = send_queue_room_slots(queue);

	return (room_slots > 0 ? room_slots : queue->slots) - (queue->posted - queue->retired);
}

static inline struct send_wqe *send_queue_at(const struct send_queue *queue, uint32_t index)
{
	return &queue->wqes[index & (queue->slots - 1U)];
}

static inline struct rnic_sge *send_queue_sges(const struct send_queue *queue, uint32_t index)
{
	return &queue->sges[(uint64_t)(index & (queue->slots - 1U)) * queue->sge_stride];
}

static inline struct rnic_path *send_queue_path(const struct send_queue *queue, uint32_t index)
{
	return &queue->paths[index & (queue->slots - 1U)];
}

#endif
