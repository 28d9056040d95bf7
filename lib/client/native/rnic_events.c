/* SPDX-License-Identifier: MIT */
/* Completion events and asynchronous events, which arrive as records in pipes. */
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"
#include "lib/client/native/rnic_wait.h"
#include "lib/wait/clock.h"
#include "proto/base/time_units.h"
#include "proto/ctl/direct_device.h"

#include <errno.h>
#include <unistd.h>

int rnic_event_record_take(int fd, struct rnic_event_record *record)
{
	ssize_t bytes = read(fd, record, sizeof(*record));

	if (bytes < 0)
		return -errno;
	if (bytes == 0)
		return -EPIPE;
	return bytes == sizeof(*record) ? 0 : -EIO;
}

int rnic_events_lost(struct rnic_context *context, int error)
{
	rnic_link_lose(&context->device, error == -EPIPE ? -ENODEV : error);
	return rnic_context_lost(context);
}

/* Takes one record; a pipe that ends means that the daemon is gone. */
static int read_record(struct rnic_context *context, int fd, struct rnic_event_record *record)
{
	int error = rnic_event_record_take(fd, record);

	return error == -EPIPE || error == -EIO ? rnic_events_lost(context, error) : error;
}

static void events_unlock(void *lock)
{
	pthread_mutex_unlock(lock);
}

void rnic_event_count_wait(struct rnic_context *context, const struct rnic_event_count *count)
{
	pthread_cleanup_push(events_unlock, &context->objects_lock);
	while (count->delivered != count->acknowledged)
		pthread_cond_wait(&context->acknowledged, &context->objects_lock);
	pthread_cleanup_pop(false);
}

/* Under objects_lock. NULL when the record speaks of an object that is gone. */
static struct rnic_cq *find_cq(const struct rnic_context *context,
			       const struct rnic_event_record *record)
{
	struct rnic_cq *cq;

	if (record->slot >= RNIC_SESSION_CQS_MAX)
		return NULL;
	cq = context->cqs[record->slot];
	return cq != NULL && cq->handle.generation == record->generation ? cq : NULL;
}

static struct rnic_qp *events_find_qp(const struct rnic_context *context,
				      const struct rnic_event_record *record)
{
	struct rnic_qp *qp;

	if (record->slot >= RNIC_SESSION_QPS_MAX)
		return NULL;
	qp = context->qps[record->slot];
	return qp != NULL && qp->handle.generation == record->generation ? qp : NULL;
}

static struct rnic_srq *events_find_srq(const struct rnic_context *context,
					const struct rnic_event_record *record)
{
	struct rnic_srq *srq;

	if (record->slot >= RNIC_SESSION_SRQS_MAX)
		return NULL;
	srq = context->srqs[record->slot];
	return srq != NULL && srq->handle.generation == record->generation ? srq : NULL;
}

/* Waits for the record where the device is inside the program; elsewhere read(2) waits. */
static int events_await_record(struct rnic_context *context, int fd)
{
	int error = rnic_context_lost(context);

	if (error == 0 && context->direct != NULL) {
		error = context->direct_calls->await(context->direct, fd);
		/* The wait also ends in the child of a fork(), by a handler of a signal. */
		if (error == 0)
			error = rnic_context_lost(context);
	}
	return error;
}

int rnic_get_cq_event(struct rnic_channel *channel, struct rnic_cq **cq)
{
	RNIC_REFUSE_NULL(channel, cq);
	struct rnic_context *context = channel->context;
	struct rnic_event_record record;
	struct rnic_cq *found;
	int error;

	do {
		error = events_await_record(context, channel->fd);
		if (error == 0)
			error = read_record(context, channel->fd, &record);
		if (error != 0)
			return error;
		pthread_mutex_lock(&context->objects_lock);
		found = find_cq(context, &record);
		if (found != NULL)
			found->completion_events.delivered++;
		pthread_mutex_unlock(&context->objects_lock);
	} while (found == NULL);
	*cq = found;
	return 0;
}

void rnic_ack_cq_events(struct rnic_cq *cq, uint32_t count)
{
	if (cq == NULL)
		return;
	struct rnic_context *context = cq->context;

	pthread_mutex_lock(&context->objects_lock);
	cq->completion_events.acknowledged += count;
	pthread_cond_broadcast(&context->acknowledged);
	pthread_mutex_unlock(&context->objects_lock);
}

int rnic_wait_in_device(struct rnic_context *context, struct pollfd *descriptors, unsigned count,
			uint64_t deadline_ns, enum rnic_direct_handlers handlers)
{
	if (context == NULL || context->direct == NULL || rnic_context_lost(context) != 0)
		return -ENODEV;
	return context->direct_calls->wait(context->direct, descriptors, count, deadline_ns,
					   handlers);
}

int rnic_wait(struct rnic_context *context, struct pollfd *descriptors, unsigned count,
	      int timeout_ms)
{
	uint64_t deadline_ns = UINT64_MAX;
	int ready = -ENODEV;

	if (descriptors == NULL && count > 0)
		return -EINVAL;
	if (timeout_ms > 0)
		deadline_ns = clock_now_ns() + (uint64_t)timeout_ms * RNIC_NS_PER_MS;
	if (timeout_ms != 0)
		ready = rnic_wait_in_device(context, descriptors, count, deadline_ns,
					    RNIC_DIRECT_HANDLERS_APART);
	if (ready == -ENODEV || ready == -E2BIG)
		ready = rnic_wait_by_poll(descriptors, count, timeout_ms);
	return ready;
}

int rnic_async_fd(const struct rnic_context *context)
{
	RNIC_REFUSE_NULL(context);
	return context->async_fd;
}

enum event_object {
	EVENT_UNKNOWN,
	EVENT_OF_CQ,
	EVENT_OF_QP,
	EVENT_OF_SRQ,
	EVENT_OF_PORT,
	EVENT_OF_DEVICE,
};

static const enum event_object event_objects[RNIC_EVENT_COUNT] = {
	[RNIC_EVENT_CQ_ERR] = EVENT_OF_CQ,
	[RNIC_EVENT_QP_FATAL] = EVENT_OF_QP,
	[RNIC_EVENT_QP_REQ_ERR] = EVENT_OF_QP,
	[RNIC_EVENT_QP_ACCESS_ERR] = EVENT_OF_QP,
	[RNIC_EVENT_COMM_EST] = EVENT_OF_QP,
	[RNIC_EVENT_SQ_DRAINED] = EVENT_OF_QP,
	[RNIC_EVENT_PATH_MIG] = EVENT_OF_QP,
	[RNIC_EVENT_PATH_MIG_ERR] = EVENT_OF_QP,
	[RNIC_EVENT_QP_LAST_WQE_REACHED] = EVENT_OF_QP,
	[RNIC_EVENT_SRQ_ERR] = EVENT_OF_SRQ,
	[RNIC_EVENT_SRQ_LIMIT_REACHED] = EVENT_OF_SRQ,
	[RNIC_EVENT_DEVICE_FATAL] = EVENT_OF_DEVICE,
	[RNIC_EVENT_PORT_ACTIVE] = EVENT_OF_PORT,
	[RNIC_EVENT_PORT_ERR] = EVENT_OF_PORT,
	[RNIC_EVENT_LID_CHANGE] = EVENT_OF_PORT,
	[RNIC_EVENT_PKEY_CHANGE] = EVENT_OF_PORT,
	[RNIC_EVENT_SM_CHANGE] = EVENT_OF_PORT,
	[RNIC_EVENT_CLIENT_REREGISTER] = EVENT_OF_PORT,
	[RNIC_EVENT_GID_CHANGE] = EVENT_OF_PORT,
};

/* Under objects_lock. False when the record speaks of nothing that the caller knows. */
static bool try_deliver(const struct rnic_context *context, const struct rnic_event_record *record,
			struct rnic_async_event *event)
{
	*event = (struct rnic_async_event){.type = record->type};
	switch (record->type < RNIC_EVENT_COUNT ? event_objects[record->type] : EVENT_UNKNOWN) {
	case EVENT_OF_CQ:
		event->cq = find_cq(context, record);
		if (event->cq != NULL)
			event->cq->async_events.delivered++;
		return event->cq != NULL;
	case EVENT_OF_QP:
		event->qp = events_find_qp(context, record);
		if (event->qp != NULL)
			event->qp->async_events.delivered++;
		return event->qp != NULL;
	case EVENT_OF_SRQ:
		event->srq = events_find_srq(context, record);
		if (event->srq != NULL)
			event->srq->async_events.delivered++;
		return event->srq != NULL;
	case EVENT_OF_PORT:
		event->port = record->slot;
		return true;
	case EVENT_OF_DEVICE:
		return true;
	case EVENT_UNKNOWN:
		break;
	}
	return false;
}

/* The daemon cannot report its own death. Returns 0 the first time and `error` from then on. */
static int report_loss(struct rnic_context *context, int error, struct rnic_async_event *event)
{
	bool reported;

	pthread_mutex_lock(&context->objects_lock);
	reported = context->fatal_reported;
	context->fatal_reported = true;
	pthread_mutex_unlock(&context->objects_lock);
	if (reported)
		return error;
	*event = (struct rnic_async_event){.type = RNIC_EVENT_DEVICE_FATAL};
	return 0;
}

int rnic_get_async_event(struct rnic_context *context, struct rnic_async_event *event)
{
	RNIC_REFUSE_NULL(context, event);
	struct rnic_event_record record;
	bool delivered;
	int error;

	do {
		error = rnic_context_lost(context);
		if (error == 0)
			error = read_record(context, context->async_fd, &record);
		if (rnic_context_lost(context) != 0)
			return report_loss(context, rnic_context_lost(context), event);
		if (error != 0)
			return error;
		pthread_mutex_lock(&context->objects_lock);
		delivered = try_deliver(context, &record, event);
		pthread_mutex_unlock(&context->objects_lock);
	} while (!delivered);
	return 0;
}

static void acknowledge(struct rnic_context *context, struct rnic_event_count *count)
{
	pthread_mutex_lock(&context->objects_lock);
	count->acknowledged++;
	pthread_cond_broadcast(&context->acknowledged);
	pthread_mutex_unlock(&context->objects_lock);
}

void rnic_ack_async_event(const struct rnic_async_event *event)
{
	if (event == NULL)
		return;
	if (event->cq != NULL)
		acknowledge(event->cq->context, &event->cq->async_events);
	if (event->qp != NULL)
		acknowledge(event->qp->context, &event->qp->async_events);
	if (event->srq != NULL)
		acknowledge(event->srq->context, &event->srq->async_events);
}
