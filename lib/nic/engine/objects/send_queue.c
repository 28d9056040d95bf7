/* SPDX-License-Identifier: MIT */
#include "engine/objects/send_queue.h"

#include "base/bits.h"
#include "engine/objects/ah.h"

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

int send_queue_init(struct send_queue *queue, uint32_t depth, uint32_t sge_max, uint32_t inline_max)
{
	uint32_t slots = depth == 0 ? 0 : (uint32_t)rnic_power_of_two_at_least(depth);

	/* At least one byte each: a request for none may be answered by NULL. */
	*queue = (struct send_queue){
		.wqes = calloc((size_t)slots + 1, sizeof(*queue->wqes)),
		.sges = calloc((size_t)slots * sge_max + 1, sizeof(*queue->sges)),
		.slots = slots,
		.sge_stride = sge_max,
		.inline_max = inline_max,
	};
	if (queue->wqes == NULL || queue->sges == NULL) {
		send_queue_fini(queue);
		return -ENOMEM;
	}
	return 0;
}

int send_queue_init_paths(struct send_queue *queue)
{
	queue->paths = calloc((size_t)queue->slots + 1, sizeof(*queue->paths));
	return queue->paths != NULL ? 0 : -ENOMEM;
}

void send_queue_fini(struct send_queue *queue)
{
	free(queue->paths);
	free(queue->wqes);
	free(queue->sges);
	*queue = (struct send_queue){0};
}

void send_queue_clear(struct send_queue *queue)
{
	queue->posted = 0;
	queue->next = 0;
	queue->retired = 0;
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
	struct send_wqe *slot = send_queue_at(queue, queue->posted);

	assert(send_queue_space(queue) > 0);
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
