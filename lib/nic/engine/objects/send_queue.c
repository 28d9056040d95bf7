/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/send_queue.h"

#include "lib/nic/engine/engine_limits.h"
#include "lib/nic/engine/objects/ah.h"
#include "proto/base/bits.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct send_wqe) == 64, "an entry fills a cache line");
_Static_assert(offsetof(struct send_wqe, inline_bytes) == offsetof(struct send_wqe, datagram.ah) &&
		       sizeof(((struct send_wqe *)0)->inline_bytes) <=
			       sizeof(((struct send_wqe *)0)->datagram.ah),
	       "inline data leaves a datagram's addressee alone");

_Static_assert((LIMIT_SEND_OWN_WQES & (LIMIT_SEND_OWN_WQES - 1)) == 0, "slots wrap");
_Static_assert(LIMIT_WR_DEPTH <= 1 << 15 && LIMIT_SGES <= UINT16_MAX &&
		       LIMIT_INLINE_BYTES <= UINT16_MAX,
	       "struct send_queue has 16 bits for each");

int send_queue_init(struct send_queue *queue, struct send_rooms *rooms, uint32_t depth,
		    uint32_t sge_max, uint32_t inline_max)
{
	const bool may_borrow = rooms != NULL && depth > LIMIT_SEND_OWN_WQES;
	const uint32_t own = may_borrow ? LIMIT_SEND_OWN_WQES : depth;
	const uint32_t slots = own == 0 ? 0 : (uint32_t)rnic_power_of_two_at_least(own);

	/* At least one byte each: a request for none may be answered by NULL. */
	*queue = (struct send_queue){
		.wqes = calloc((size_t)slots + 1, sizeof(*queue->wqes)),
		.sges = calloc((size_t)slots * sge_max + 1, sizeof(*queue->sges)),
		.rooms = rooms,
		.slots = (uint16_t)slots,
		.most_slots =
			(uint16_t)(may_borrow ? send_rooms_most_slots(depth, sge_max) : slots),
		.sge_stride = (uint16_t)sge_max,
		.inline_max = (uint16_t)inline_max,
		.room = SEND_QUEUE_NO_ROOM,
	};
	if (queue->wqes == NULL || queue->sges == NULL) {
		send_queue_fini(queue);
		return -ENOMEM;
	}
	return 0;
}

int send_queue_init_paths(struct send_queue *queue)
{
	assert(queue->rooms == NULL);
	queue->paths = calloc((size_t)queue->slots + 1, sizeof(*queue->paths));
	return queue->paths != NULL ? 0 : -ENOMEM;
}

/* Exchanges the queue's slots and those that lie in its room. */
static void send_queue_swap_slots(struct send_queue *queue, uint32_t slots)
{
	struct send_room *room = &queue->rooms->rooms[queue->room];
	const struct send_room others = *room;

	*room = (struct send_room){.wqes = queue->wqes, .sges = queue->sges};
	queue->wqes = others.wqes;
	queue->sges = others.sges;
	queue->slots = (uint16_t)slots;
}

/* Moves the WQEs, which fill all slots, to a room. */
static void send_queue_borrow(struct send_queue *queue)
{
	const struct send_queue before = *queue;
	const uint32_t slots = send_queue_room_slots(queue);

	queue->room = send_rooms_borrow(queue->rooms);
	send_queue_swap_slots(queue, slots);
	for (uint32_t i = before.retired; i != before.posted; i++) {
		*send_queue_at(queue, i) = *send_queue_at(&before, i);
		memcpy(send_queue_sges(queue, i), send_queue_sges(&before, i),
		       queue->sge_stride * sizeof(*queue->sges));
	}
}

/* Gives a borrowed room back; the queue is empty. */
static void send_queue_leave_room(struct send_queue *queue)
{
	if (queue->room == SEND_QUEUE_NO_ROOM)
		return;
	send_queue_swap_slots(queue, LIMIT_SEND_OWN_WQES);
	send_rooms_give_back(queue->rooms, queue->room);
	queue->room = SEND_QUEUE_NO_ROOM;
}

void send_queue_fini(struct send_queue *queue)
{
	if (queue->rooms != NULL)
		send_queue_leave_room(queue);
	free(queue->paths);
	free(queue->wqes);
	free(queue->sges);
	*queue = (struct send_queue){0};
}

void send_queue_clear(struct send_queue *queue)
{
	send_queue_leave_room(queue);
	queue->posted = 0;
	queue->next = 0;
	queue->retired = 0;
	queue->untold = 0;
	queue->is_awaited = false;
}

void send_queue_retire(struct send_queue *queue)
{
	assert(queue->retired != queue->posted);
	/* It may end before it was started. */
	if (queue->next == queue->retired)
		queue->next++;
	queue->retired++;
	if (queue->retired == queue->posted)
		send_queue_leave_room(queue);
}

static bool send_queue_fits(const struct send_queue *queue, const struct send_wqe *wqe)
{
	return wqe->flags & RNIC_SEND_INLINE ? wqe->length <= queue->inline_max
					     : wqe->sge_count <= queue->sge_stride;
}

static void send_queue_copy_sges(struct send_queue *queue, struct send_wqe *slot,
				 const struct rnic_sge *sges)
{
	slot->length = rnic_sges_bytes_saturated(sges, slot->sge_count);
	if (slot->sge_count > 0)
		memcpy(send_queue_sges(queue, queue->posted), sges,
		       slot->sge_count * sizeof(*sges));
}

void send_queue_push(struct send_queue *queue, const struct send_wqe *wqe,
		     const struct rnic_sge *sges, const uint8_t *inline_bytes)
{
	struct send_wqe *slot;

	assert(send_queue_space(queue) > 0);
	if (queue->posted - queue->retired == queue->slots)
		send_queue_borrow(queue);
	slot = send_queue_at(queue, queue->posted);
	*slot = *wqe;
	if (!send_queue_fits(queue, wqe))
		slot->opcode = RNIC_WR_OPCODE_COUNT;
	else if (!(wqe->flags & RNIC_SEND_INLINE))
		send_queue_copy_sges(queue, slot, sges);
	if (queue->paths != NULL && wqe->datagram.ah != NULL)
		*send_queue_path(queue, queue->posted) = wqe->datagram.ah->path;
	if (wqe->flags & RNIC_SEND_INLINE)
		slot->inline_bytes = inline_bytes;
	queue->posted++;
}
