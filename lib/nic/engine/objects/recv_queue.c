/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/recv_queue.h"

#include "lib/nic/engine/engine_state.h"
#include "proto/base/bits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct rnic_sge *sges_at(const struct recv_queue *queue, uint32_t index)
{
	return &queue->sges[(size_t)(index & (queue->slots - 1)) * queue->sge_stride];
}

static void recv_queue_store(struct recv_queue *queue, uint32_t index, const struct recv_wqe *wqe,
			     const struct rnic_sge *sges)
{
	assert(wqe->sge_count <= queue->sge_stride);
	queue->wqes[index & (queue->slots - 1)] = *wqe;
	if (wqe->sge_count > 0)
		memcpy(sges_at(queue, index), sges, wqe->sge_count * sizeof(*sges));
}

/* An empty queue of `slots` slots. -ENOMEM. */
static int recv_queue_allocate(struct recv_queue *queue, uint32_t slots, uint32_t sge_max)
{
	struct recv_wqe *wqes = calloc(slots, sizeof(*wqes));
	struct rnic_sge *sges = calloc((size_t)slots * (sge_max > 0 ? sge_max : 1), sizeof(*sges));

	if (wqes == NULL || sges == NULL) {
		free(wqes);
		free(sges);
		return -ENOMEM;
	}
	*queue = (struct recv_queue){
		.wqes = wqes,
		.sges = sges,
		.slots = slots,
		.sge_stride = sge_max,
	};
	return 0;
}

int recv_queue_init(struct recv_queue *queue, uint32_t sge_max)
{
	return recv_queue_allocate(queue, LIMIT_RECV_PREFETCH, sge_max);
}

int recv_queue_reserve(struct recv_queue *queue, uint32_t holders)
{
	uint64_t slots = rnic_power_of_two_at_least((uint64_t)LIMIT_RECV_PREFETCH + holders);
	struct recv_queue grown;
	int error;

	if (slots <= queue->slots)
		return 0;
	error = recv_queue_allocate(&grown, (uint32_t)slots, queue->sge_stride);
	if (error != 0)
		return error;
	grown.pushed = queue->pushed;
	grown.taken = queue->taken;
	grown.retired = queue->retired;
	grown.user = queue->user;
	for (uint32_t i = queue->taken; i != queue->pushed; i++)
		recv_queue_store(&grown, i, &queue->wqes[i & (queue->slots - 1)],
				 sges_at(queue, i));
	recv_queue_fini(queue);
	*queue = grown;
	return 0;
}

void recv_queue_fini(struct recv_queue *queue)
{
	free(queue->wqes);
	free(queue->sges);
	*queue = (struct recv_queue){0};
}

void recv_queue_clear(struct recv_queue *queue)
{
	queue->pushed = 0;
	queue->taken = 0;
	queue->retired = 0;
}

/* Asks the sink for WQEs; `queue` is empty. The room ends where the array ends. */
static void recv_queue_refill(struct engine *engine, struct recv_queue *queue)
{
	const uint32_t first = queue->pushed & (queue->slots - 1);
	const uint32_t slots_left = queue->slots - first;
	const struct recv_room room = {
		.wqes = &queue->wqes[first],
		.sges = sges_at(queue, first),
		.count = slots_left < LIMIT_RECV_PREFETCH ? slots_left : LIMIT_RECV_PREFETCH,
		.sge_stride = queue->sge_stride,
	};
	const uint32_t filled =
		engine->config.sink->refill(engine->config.sink_context, queue, &room);

	assert(filled <= room.count);
	queue->pushed += filled;
}

void recv_queue_give_back(struct recv_queue *queue, const struct recv_wqe *wqe,
			  const struct rnic_sge *sges)
{
	assert(queue->pushed - queue->taken < queue->slots);
	queue->taken--;
	recv_queue_store(queue, queue->taken, wqe, sges);
}

const struct recv_wqe *recv_queue_peek(struct engine *engine, struct recv_queue *queue,
				       const struct rnic_sge **sges)
{
	if (queue->pushed == queue->taken) {
		recv_queue_refill(engine, queue);
		if (queue->pushed == queue->taken)
			return NULL;
	}
	*sges = sges_at(queue, queue->taken);
	return &queue->wqes[queue->taken & (queue->slots - 1)];
}

bool recv_queue_take(struct engine *engine, struct recv_queue *queue, struct recv_wqe *wqe,
		     struct rnic_sge *sges)
{
	const struct rnic_sge *from;
	const struct recv_wqe *oldest = recv_queue_peek(engine, queue, &from);

	if (oldest == NULL)
		return false;
	*wqe = *oldest;
	if (oldest->sge_count > 0)
		memcpy(sges, from, oldest->sge_count * sizeof(*sges));
	queue->taken++;
	return true;
}
