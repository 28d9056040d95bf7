/* SPDX-License-Identifier: MIT */
/* Queue pairs: everything but posting, which is in rnic_post.c. */
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"
#include "proto/shm/ring.h"

#include <errno.h>
#include <stdlib.h>

void rnic_work_queue_place(struct rnic_work_queue *queue, const struct rnic_queue_plan *plan,
			   uint8_t *entries, uint8_t *spill, _Atomic uint32_t *producer,
			   uint32_t depth)
{
	queue->shared_producer = producer;
	queue->spill_stride_bytes = plan->spill_stride_bytes;
	queue->mask = plan->slots - 1;
	queue->depth = depth;
	if (depth == 0)
		return;
	queue->entries = entries + plan->entries_offset;
	queue->spill = spill + plan->spill_offset;
}

void rnic_work_queue_init(struct rnic_work_queue *queue, uint32_t max_sge)
{
	rnic_spinlock_init(&queue->lock);
	queue->max_sge = max_sge;
	queue->producer = 0;
	atomic_init(&queue->retired, 0);
	queue->consumer = NULL;
}

/* Makes the queues of a queue pair that has places and a slot. */
static void qp_make_queues(struct rnic_qp *qp, const struct rnic_queues_plan *plan,
			   const struct rnic_qp_capacities *granted)
{
	struct rnic_qp_control *control = rnic_qp_control_of(qp->context->session, qp->handle.slot);
	uint8_t *entries = rnic_queue_places_entries(&qp->places);
	uint8_t *spill = rnic_queue_places_spill(&qp->places);

	qp->max_inline_bytes = granted->max_inline_bytes;
	rnic_work_queue_init(&qp->send, granted->max_send_sge);
	rnic_work_queue_place(&qp->send, &plan->send, entries, spill, &control->send_producer,
			      granted->max_send_wr);
	rnic_work_queue_init(&qp->recv, granted->max_recv_sge);
	rnic_work_queue_place(&qp->recv, &plan->recv, entries, spill, &control->recv_producer,
			      granted->max_recv_wr);
}

/* Makes the queue pair, whose queues have places. */
static int request_qp(struct rnic_qp *qp, const struct rnic_pd *pd,
		      const struct rnic_qp_options *options)
{
	static const struct rnic_handle none;
	const struct rnic_ctl_create_qp request = {
		.pd = pd == NULL ? none : pd->handle,
		.send_cq = qp->send_cq == NULL ? none : qp->send_cq->handle,
		.recv_cq = qp->recv_cq == NULL ? none : qp->recv_cq->handle,
		.srq = options->srq == NULL ? none : options->srq->handle,
		.xrcd = qp->xrcd == NULL ? none : qp->xrcd->handle,
		.type = options->type,
		.signal_all = options->signal_all,
		.capacities = options->capacities,
		.queue_region = rnic_queue_places_handle(&qp->places),
		.entries_offset = qp->places.entries_offset,
		.spill_offset = qp->places.spill_offset,
	};
	struct rnic_ctl_create_qp_reply reply;
	const struct rnic_call call = RNIC_CALL(RNIC_CTL_CREATE_QP, request, reply);
	int error = rnic_link_call(&qp->context->device, &call);

	if (error != 0)
		return error;
	if (reply.qp.slot >= RNIC_SESSION_QPS_MAX) {
		rnic_link_drop_object(&qp->context->device, RNIC_CTL_DESTROY_QP, reply.qp);
		return -EIO;
	}
	qp->handle = reply.qp;
	qp->qpn = reply.qpn;
	return 0;
}

/*
 * Returns whether the device can have such a queue pair. The library takes no memory for one that
 * the daemon will refuse.
 */
static bool qp_suits_device(const struct rnic_device_attributes *device,
			    const struct rnic_qp_capacities *granted)
{
	return granted->max_send_wr <= device->max_qp_wr &&
	       granted->max_recv_wr <= device->max_qp_wr &&
	       granted->max_send_sge <= device->max_sge &&
	       granted->max_recv_sge <= device->max_sge &&
	       granted->max_inline_bytes <= device->max_inline_bytes;
}

/* Finds places for the queues and makes the queue pair. The options then say what is granted. */
static int qp_make(struct rnic_qp *qp, const struct rnic_pd *pd, struct rnic_qp_options *options)
{
	struct rnic_qp_capacities granted;
	struct rnic_queues_plan plan;
	int error;

	rnic_queues_grant(&options->capacities, options->type, options->srq != NULL, &granted);
	if (!qp_suits_device(&qp->context->attributes, &granted) ||
	    rnic_queues_plan(&granted, &plan) != 0) {
		/* The daemon refuses it too, with a sentence for the caller. */
		error = request_qp(qp, pd, options);
		return error != 0 ? error : -EIO;
	}
	error = rnic_queue_places_take(&qp->context->queue_memory, &plan, &qp->places);
	if (error != 0)
		return error;
	error = request_qp(qp, pd, options);
	if (error != 0) {
		rnic_queue_places_give(&qp->context->queue_memory, &qp->places);
		return error;
	}
	qp_make_queues(qp, &plan, &granted);
	options->capacities = granted;
	return 0;
}

/* Enters the queue pair into its slot, or empties it, while nobody polls its completions. */
static void qp_set_slot(const struct rnic_qp *qp, struct rnic_qp *value)
{
	struct rnic_cq *first = qp->send_cq < qp->recv_cq ? qp->send_cq : qp->recv_cq;
	struct rnic_cq *second = qp->send_cq < qp->recv_cq ? qp->recv_cq : qp->send_cq;

	/* `first` is NULL where one side or both are missing. */
	if (first != NULL)
		rnic_spinlock_lock(&first->lock);
	if (second != NULL && second != first)
		rnic_spinlock_lock(&second->lock);
	qp->context->qps[qp->handle.slot] = value;
	if (second != NULL && second != first)
		rnic_spinlock_unlock(&second->lock);
	if (first != NULL)
		rnic_spinlock_unlock(&first->lock);
}

static struct rnic_qp *qp_new(struct rnic_context *context, enum rnic_qp_type type, void *user)
{
	struct rnic_qp *qp = calloc(1, sizeof(*qp));

	if (qp == NULL)
		return NULL;
	qp->context = context;
	qp->type = type;
	qp->user = user;
	atomic_init(&qp->state, RNIC_QP_STATE_RESET);
	return qp;
}

/* Counts the queue pair where it completes, or no longer. Under objects_lock. */
static void qp_count_references(struct rnic_qp *qp, int32_t change)
{
	if (qp->send_cq != NULL)
		qp->send_cq->references += (uint32_t)change;
	if (qp->recv_cq != NULL)
		qp->recv_cq->references += (uint32_t)change;
}

/* Whether the options hold what the type needs. */
static bool are_options_complete(const struct rnic_pd *pd, const struct rnic_qp_options *options)
{
	if (options->type == RNIC_QP_TYPE_XRC_TARGET)
		return options->xrcd != NULL;
	if (pd == NULL || options->send_cq == NULL)
		return false;
	return options->type == RNIC_QP_TYPE_XRC_INITIATOR || options->recv_cq != NULL;
}

int rnic_create_qp(struct rnic_pd *pd, struct rnic_qp_options *options, struct rnic_qp **created)
{
	RNIC_REFUSE_NULL(options, created);
	const bool is_target = options->type == RNIC_QP_TYPE_XRC_TARGET;
	struct rnic_context *context;
	struct rnic_qp *qp;
	int error;

	if (!are_options_complete(pd, options))
		return -EINVAL;
	context = is_target ? options->xrcd->context : pd->context;
	qp = qp_new(context, options->type, options->user);
	if (qp == NULL)
		return -ENOMEM;
	if (is_target) {
		pd = NULL;
		qp->xrcd = options->xrcd;
	} else {
		qp->send_cq = options->send_cq;
		qp->srq = options->srq;
	}
	if (!is_target && options->type != RNIC_QP_TYPE_XRC_INITIATOR)
		qp->recv_cq = options->recv_cq;

	/*
	 * An event may name the slot as soon as it exists, so nobody looks it up before it is
	 * filled.
	 */
	pthread_mutex_lock(&context->objects_lock);
	error = qp_make(qp, pd, options);
	if (error == 0) {
		qp_count_references(qp, 1);
		qp_set_slot(qp, qp);
	}
	pthread_mutex_unlock(&context->objects_lock);
	if (error != 0) {
		free(qp);
		return error;
	}
	rnic_context_hold(context);
	*created = qp;
	return 0;
}

int rnic_open_qp(struct rnic_xrcd *xrcd, uint32_t qpn, void *user, struct rnic_qp **opened)
{
	RNIC_REFUSE_NULL(xrcd, opened);
	struct rnic_context *context = xrcd->context;
	const struct rnic_ctl_open_qp request = {.xrcd = xrcd->handle, .qpn = qpn};
	struct rnic_ctl_open_qp_reply reply;
	const struct rnic_call call = RNIC_CALL(RNIC_CTL_OPEN_QP, request, reply);
	struct rnic_qp *qp = qp_new(context, RNIC_QP_TYPE_XRC_TARGET, user);
	int error;

	if (qp == NULL)
		return -ENOMEM;
	qp->xrcd = xrcd;
	qp->qpn = qpn;
	rnic_spinlock_init(&qp->send.lock);
	rnic_spinlock_init(&qp->recv.lock);
	pthread_mutex_lock(&context->objects_lock);
	error = rnic_link_call(&context->device, &call);
	if (error == 0 && reply.qp.slot >= RNIC_SESSION_QPS_MAX)
		error = -EIO;
	if (error == 0) {
		qp->handle = reply.qp;
		atomic_store_explicit(&qp->state, reply.state, memory_order_relaxed);
		qp_set_slot(qp, qp);
	}
	pthread_mutex_unlock(&context->objects_lock);
	if (error != 0) {
		free(qp);
		return error;
	}
	rnic_context_hold(context);
	*opened = qp;
	return 0;
}

/* Both sides forget all posted work alike (region.h). */
static void forget_posted(struct rnic_work_queue *queue)
{
	atomic_store_explicit(&queue->retired, queue->producer, memory_order_release);
}

/*
 * Asks for a change after which the state is `state`. No thread posts while the state changes: the
 * daemon and this side must count the same.
 */
static int qp_ask_modify(struct rnic_qp *qp, const struct rnic_ctl_modify_qp *request,
			 enum rnic_qp_state state)
{
	const bool to_state = (request->mask & RNIC_QP_ATTR_STATE) != 0;
	int error;

	rnic_spinlock_lock(&qp->send.lock);
	rnic_spinlock_lock(&qp->recv.lock);
	error = rnic_link_tell(&qp->context->device, RNIC_CTL_MODIFY_QP, request, sizeof(*request));
	if (error == 0 && to_state) {
		atomic_store_explicit(&qp->state, state, memory_order_relaxed);
		if (state == RNIC_QP_STATE_RESET) {
			forget_posted(&qp->send);
			forget_posted(&qp->recv);
		}
	}
	rnic_spinlock_unlock(&qp->recv.lock);
	rnic_spinlock_unlock(&qp->send.lock);
	return error;
}

int rnic_modify_qp(struct rnic_qp *qp, const struct rnic_qp_attributes *attributes, uint32_t mask)
{
	RNIC_REFUSE_NULL(qp, attributes);
	const struct rnic_ctl_modify_qp request = {
		.qp = qp->handle,
		.mask = mask,
		.attributes = *attributes,
	};

	return qp_ask_modify(qp, &request, attributes->state);
}

/* A queue pair that is left in RTR takes the same requests from the program as one in INIT. */
int rnic_connect_qp(struct rnic_qp *qp, const struct rnic_qp_attributes *attributes,
		    uint32_t receive_mask, uint32_t send_mask)
{
	RNIC_REFUSE_NULL(qp, attributes);
	const struct rnic_ctl_modify_qp request = {
		.qp = qp->handle,
		.mask = receive_mask | RNIC_QP_ATTR_STATE,
		.rts_mask = send_mask | RNIC_QP_ATTR_STATE,
		.attributes = *attributes,
	};

	return qp_ask_modify(qp, &request, RNIC_QP_STATE_RTS);
}

int rnic_query_qp(struct rnic_qp *qp, struct rnic_qp_attributes *attributes,
		  struct rnic_qp_capacities *capacities)
{
	RNIC_REFUSE_NULL(qp);
	const struct rnic_ctl_object request = {.handle = qp->handle};
	struct rnic_ctl_query_qp_reply reply;
	const struct rnic_call call = RNIC_CALL(RNIC_CTL_QUERY_QP, request, reply);
	int error = rnic_link_call(&qp->context->device, &call);

	if (error != 0)
		return error;
	if (attributes != NULL)
		*attributes = reply.attributes;
	if (capacities != NULL)
		*capacities = reply.capacities;
	return 0;
}

int rnic_destroy_qp(struct rnic_qp *qp)
{
	RNIC_REFUSE_NULL(qp);
	struct rnic_context *context = qp->context;
	int error;

	/*
	 * The call and the emptying of the slot are one step: the daemon may give the slot to the
	 * next queue pair at once.
	 */
	pthread_mutex_lock(&context->objects_lock);
	error = rnic_link_call_object(&context->device, RNIC_CTL_DESTROY_QP, qp->handle);
	if (error != 0 && rnic_context_lost(context) == 0) {
		pthread_mutex_unlock(&context->objects_lock);
		return error;
	}
	qp_set_slot(qp, NULL);
	qp_count_references(qp, -1);
	rnic_event_count_wait(context, &qp->async_events);
	rnic_queue_places_give(&context->queue_memory, &qp->places);
	pthread_mutex_unlock(&context->objects_lock);
	rnic_context_release(context);
	free(qp);
	return 0;
}

uint32_t rnic_qp_number(const struct rnic_qp *qp)
{
	return qp != NULL ? qp->qpn : 0;
}

void *rnic_qp_user(const struct rnic_qp *qp)
{
	return qp != NULL ? qp->user : NULL;
}
