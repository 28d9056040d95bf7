/* SPDX-License-Identifier: MIT */
#include "lib/apis/connection/iw_queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int rnic_iw_queue_init(struct rnic_iw_queue *queue, uint32_t depth)
{
	const uint32_t slots = depth + RNIC_IW_QUEUE_PROBES;

	*queue = (struct rnic_iw_queue){
		.depth = depth,
		.slots = slots,
		.requests = calloc(slots, sizeof(*queue->requests)),
		.ready = calloc(slots, sizeof(*queue->ready)),
		.adverts = calloc(slots, sizeof(*queue->adverts)),
	};
	if (queue->requests != NULL && queue->ready != NULL && queue->adverts != NULL)
		return 0;
	rnic_iw_queue_fini(queue);
	return -ENOMEM;
}

void rnic_iw_queue_fini(struct rnic_iw_queue *queue)
{
	free(queue->requests);
	free(queue->ready);
	free(queue->adverts);
	*queue = (struct rnic_iw_queue){0};
}

void rnic_iw_queue_reset(struct rnic_iw_queue *queue)
{
	*queue = (struct rnic_iw_queue){
		.depth = queue->depth,
		.slots = queue->slots,
		.requests = queue->requests,
		.ready = queue->ready,
		.adverts = queue->adverts,
	};
}

bool rnic_iw_queue_has_room(const struct rnic_iw_queue *queue, enum rnic_iw_kind kind)
{
	const uint32_t pending = rnic_iw_queue_pending(queue);

	if (kind == RNIC_IW_PROBE)
		return pending < queue->slots;
	return pending + queue->ready_count + queue->advert_count < queue->depth;
}

bool rnic_iw_queue_wants_signal(const struct rnic_iw_queue *queue)
{
	return queue->posted + 1 - queue->signaled > queue->depth / 2;
}

void rnic_iw_queue_add(struct rnic_iw_queue *queue, enum rnic_iw_kind kind, bool is_signaled)
{
	const bool is_callers = kind == RNIC_IW_TOLD || kind == RNIC_IW_SILENT;

	assert(rnic_iw_queue_pending(queue) < queue->slots);
	queue->requests[queue->posted % queue->slots] = (struct rnic_iw_request){
		.number = queue->numbered,
		.kind = kind,
	};
	queue->numbered += is_callers;
	queue->told += kind == RNIC_IW_TOLD;
	queue->adverts_awaited += kind == RNIC_IW_ADVERT;
	queue->posted++;
	if (is_signaled)
		queue->signaled = queue->posted;
}

bool rnic_iw_queue_retire(struct rnic_iw_queue *queue, uint64_t sequence,
			  struct rnic_iw_request *request)
{
	if (sequence < queue->retired || sequence >= queue->posted)
		return false;
	*request = queue->requests[sequence % queue->slots];
	queue->told -= request->kind == RNIC_IW_TOLD;
	queue->adverts_awaited -= request->kind == RNIC_IW_ADVERT;
	queue->retired = sequence + 1;
	return true;
}

void rnic_iw_queue_push(struct rnic_iw_queue *queue, const struct iw_wc *wc)
{
	assert(queue->ready_count < queue->slots);
	queue->ready[(queue->ready_first + queue->ready_count++) % queue->slots] = *wc;
}

void rnic_iw_queue_push_advert(struct rnic_iw_queue *queue, const struct rnic_iw_advert *advert)
{
	assert(queue->advert_count < queue->slots);
	queue->adverts[(queue->advert_first + queue->advert_count++) % queue->slots] = *advert;
}

struct iw_wc rnic_iw_queue_pop(struct rnic_iw_queue *queue)
{
	const struct iw_wc wc = queue->ready[queue->ready_first];

	assert(queue->ready_count > 0);
	queue->ready_first = (queue->ready_first + 1) % queue->slots;
	queue->ready_count--;
	return wc;
}

struct rnic_iw_advert rnic_iw_queue_pop_advert(struct rnic_iw_queue *queue)
{
	const struct rnic_iw_advert advert = queue->adverts[queue->advert_first];

	assert(queue->advert_count > 0);
	queue->advert_first = (queue->advert_first + 1) % queue->slots;
	queue->advert_count--;
	return advert;
}
