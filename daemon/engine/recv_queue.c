/* SPDX-License-Identifier: MIT */
#include "engine/recv_queue.h"

#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct rnic_sge *sges_at(const struct recv_queue *queue, uint32_t index)
{
	return &queue->sges[(index % queue->slots) * queue->sge_stride];
}

int recv_queue_init(struct recv_queue *queue, uint32_t sge_max)
{
	struct recv_work *works = calloc(LIMIT_RECV_PREFETCH, sizeof(*works));
	struct rnic_sge *sges =
		calloc((size_t)LIMIT_RECV_PREFETCH * (sge_max > 0 ? sge_max : 1), sizeof(*sges));

	if (works == NULL || sges == NULL) {
		free(works);
		free(sges);
		return -ENOMEM;
	}
	*queue = (struct recv_queue){
		.works = works,
		.sges = sges,
		.slots = LIMIT_RECV_PREFETCH,
		.sge_stride = sge_max,
	};
	return 0;
}

void recv_queue_fini(struct recv_queue *queue)
{
	free(queue->works);
	free(queue->sges);
	*queue = (struct recv_queue){0};
}

void recv_queue_clear(struct recv_queue *queue)
{
	queue->pushed = 0;
	queue->taken = 0;
	queue->retired = 0;
}

bool recv_queue_has_space(const struct recv_queue *queue)
{
	return queue->pushed - queue->taken < queue->slots;
}

void recv_queue_push(struct recv_queue *queue, const struct recv_work *work,
		     const struct rnic_sge *sges)
{
	assert(recv_queue_has_space(queue));
	assert(work->sge_count <= queue->sge_stride);
	queue->works[queue->pushed % queue->slots] = *work;
	if (work->sge_count > 0)
		memcpy(sges_at(queue, queue->pushed), sges, work->sge_count * sizeof(*sges));
	queue->pushed++;
}

const struct recv_work *recv_queue_peek(struct engine *engine, struct recv_queue *queue,
					const struct rnic_sge **sges)
{
	if (queue->pushed == queue->taken) {
		engine->config.sink->refill(engine->config.sink_context, queue);
		if (queue->pushed == queue->taken)
			return NULL;
	}
	*sges = sges_at(queue, queue->taken);
	return &queue->works[queue->taken % queue->slots];
}

bool recv_queue_take(struct engine *engine, struct recv_queue *queue, struct recv_work *work,
		     struct rnic_sge *sges)
{
	const struct rnic_sge *from;
	const struct recv_work *oldest = recv_queue_peek(engine, queue, &from);

	if (oldest == NULL)
		return false;
	*work = *oldest;
	if (oldest->sge_count > 0)
		memcpy(sges, from, oldest->sge_count * sizeof(*sges));
	queue->taken++;
	return true;
}
