/* SPDX-License-Identifier: MIT */
#include "daemon/device/queues/cqe_delivery.h"

#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/base/probe.h"
#include "lib/nic/engine/engine.h"
#include "lib/nic/engine/verbs/qp.h"
#include "lib/nic/engine/verbs/srq.h"
#include "proto/shm/cqe.h"
#include "proto/shm/ring.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int64_t cqe_delivery_used(struct session_cq *cq)
{
	const struct rnic_cq_control *control = &session_region(cq->session)->cqs[cq->handle.slot];
	uint32_t consumer = atomic_load_explicit(&control->consumer, memory_order_acquire);
	int64_t used = rnic_ring_pending(cq->producer, consumer, cq->slots);

	if (used < 0) {
		session_break(cq->session, "its consumer index of CQ %u is not within the ring",
			      cq->handle.slot);
		return -EPROTO;
	}
	cq->consumer = consumer;
	return used;
}

uint32_t cqe_delivery_peek(const struct session_cq *cq, uint32_t *armed)
{
	const struct rnic_cq_control *control = &session_region(cq->session)->cqs[cq->handle.slot];
	uint32_t consumer = atomic_load_explicit(&control->consumer, memory_order_relaxed);
	int64_t used = rnic_ring_pending(cq->producer, consumer, cq->slots);

	*armed = atomic_load_explicit(&control->armed, memory_order_relaxed);
	return used < 0 ? 0 : (uint32_t)used;
}

/*
 * Returns whether one more CQE fits. Reads the client's index only when the index last seen leaves
 * no room.
 */
static bool cqe_delivery_has_room(struct session_cq *cq)
{
	if (cq->producer - cq->consumer < cq->slots)
		return true;
	return cqe_delivery_used(cq) >= 0 && cq->producer - cq->consumer < cq->slots;
}

/*
 * Several sessions may have handles for the QP of an XRC receive. The receive's SRQ belongs to this
 * session.
 */
static bool cqe_delivery_is_xrc(const struct cqe *cqe)
{
	return cqe->srq != NULL && cqe->srq->xrcd != NULL;
}

static uint8_t cqe_delivery_flags(const struct cqe *cqe)
{
	return (uint8_t)((cqe->is_recv ? RNIC_COMPLETION_RECV : 0) |
			 (cqe->srq != NULL ? RNIC_COMPLETION_SRQ : 0) |
			 (cqe_delivery_is_xrc(cqe) ? RNIC_COMPLETION_XRC : 0) |
			 (cqe->is_solicited ? RNIC_COMPLETION_SOLICITED : 0));
}

/* Counts as the client counts, across RESETs. A CQE returns no slots of an SRQ. */
static uint32_t cqe_delivery_retired(const struct cqe *cqe)
{
	const struct session_qp *qp = cqe->qp->user;

	if (cqe->srq != NULL)
		return 0;
	return cqe->retired + (cqe->is_recv ? qp->recv_base : qp->send_base);
}

/* Returns the slot by which the client finds the owner of the CQE: the QP, or the XRC SRQ. */
static uint32_t cqe_delivery_slot(const struct cqe *cqe)
{
	if (cqe_delivery_is_xrc(cqe))
		return ((const struct session_srq *)cqe->srq->user)->handle.slot;
	return ((const struct session_qp *)cqe->qp->user)->handle.slot;
}

/* An XRC receive has no source, and names its SRQ instead. */
static uint32_t cqe_delivery_source(const struct cqe *cqe)
{
	return cqe_delivery_is_xrc(cqe) ? cqe->srq->number : cqe->source_qpn;
}

void cqe_delivery_set_slot_zero(struct session_cq *cq, uint32_t index)
{
	struct rnic_cq_region *region = cq->region.address;

	cq->slot_zero = index;
	atomic_store_explicit(&region->slot_zero, index, memory_order_relaxed);
}

/* Returns the slot of the next CQE. An empty queue that has used many slots goes back to slot 0. */
static uint32_t cqe_delivery_next_slot(struct session_cq *cq)
{
	const uint32_t slot = rnic_ring_slot(cq->producer, cq->slot_zero, cq->slots);

	if (slot < LIMIT_CQ_FIRST_SLOTS || slot % LIMIT_CQ_LOOK_SLOTS != 0 ||
	    cqe_delivery_used(cq) != 0)
		return slot;
	cqe_delivery_set_slot_zero(cq, cq->producer);
	return 0;
}

static void cqe_delivery_write(struct session_set *set, struct session_cq *cq,
			       const struct cqe *cqe)
{
	const uint32_t slot = cqe_delivery_next_slot(cq);
	const bool is_success = cqe->status == RNIC_WC_SUCCESS;

	cq->entries[slot] = (struct rnic_cqe){
		.wr_id = cqe->wr_id,
		.byte_count = is_success ? cqe->byte_count : cqe->vendor_error,
		.qpn = cqe->qp->qpn & RNIC_CQE_24_BITS,
		.immediate = cqe->immediate,
		.source_qpn = cqe_delivery_source(cqe) & RNIC_CQE_24_BITS,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.wc_flags = cqe->wc_flags,
		.flags = cqe_delivery_flags(cqe) & 0xfu,
		.qp_slot = (uint16_t)cqe_delivery_slot(cqe),
		.retired = cqe_delivery_retired(cqe) & RNIC_CQE_24_BITS,
		.source_gid_index = (uint8_t)cqe->source_gid_index,
		.service_level = cqe->service_level & 0xfu,
	};
	if (cq->times_ns != NULL)
		cq->times_ns[slot] = set->now_ns;
	cq->producer++;
}

static void cqe_delivery_publish(struct session_set *set, struct session_cq *cq)
{
	struct rnic_cq_region *region = cq->region.address;

	cq->has_error = false;
	rnic_word_publish(&region->producer, cq->producer);
	if (scheduler_add(&set->scheduler, WAIT_POLLER_WAKE, &cq->session->poller_node))
		cq->session->unwoken_since_ns = set->now_ns;
}

bool cqe_delivery_cqe(void *context, struct cq *engine_cq, const struct cqe *cqe)
{
	struct session_set *set = context;
	struct session_cq *cq = engine_cq->user;
	bool is_error = cqe->status != RNIC_WC_SUCCESS;

	/* A broken session gets no more CQEs: it ends with this turn. */
	if (cq->session->is_broken)
		return true;
	if (!cqe_delivery_has_room(cq))
		return cq->session->is_broken;
	cqe_delivery_write(set, cq, cqe);
	RNIC_PROBE4(cqe_delivered, cqe->qp->qpn, cqe->status, cqe->opcode, cqe->byte_count);
	cq->has_solicited |= is_error || cqe->is_solicited;
	cq->has_error |= is_error && set->is_in_turn;
	if (!cq->has_error)
		cqe_delivery_publish(set, cq);
	if (cq->has_error || cq->channel != NULL)
		scheduler_add(&set->scheduler, WAIT_CQ_NOTICE, &cq->notice_node);
	return true;
}

static void cqe_delivery_raise(struct session *session, struct event_source *source,
			       enum rnic_async_event_type type)
{
	if (session->is_broken)
		return;
	event_pipe_raise(&session->async_pipe, source, (uint32_t)type);
	scheduler_add(&session->set->scheduler, WAIT_EVENT_WRITE, &session->event_node);
}

/* Each session that knows an XRC target has a handle for the target, and so an event source. */
static void cqe_delivery_raise_qp(struct qp *qp, enum rnic_async_event_type type)
{
	struct session_qp *session_qp = qp->user;
	struct shared_target *target = qp->user;
	struct list *node;

	if (qp->xrcd == NULL) {
		cqe_delivery_raise(session_qp->session, &session_qp->async, type);
		return;
	}
	list_for_each (node, &target->handles) {
		session_qp = list_entry(node, struct session_qp, target_node);
		cqe_delivery_raise(session_qp->session, &session_qp->async, type);
	}
}

void cqe_delivery_async_event(void *context, enum rnic_async_event_type type, void *object)
{
	(void)context;
	if (type == RNIC_EVENT_CQ_ERR) {
		struct session_cq *cq = ((struct cq *)object)->user;

		cqe_delivery_raise(cq->session, &cq->async, type);
	} else if (type == RNIC_EVENT_SRQ_LIMIT_REACHED || type == RNIC_EVENT_SRQ_ERR) {
		struct session_srq *srq = ((struct srq *)object)->user;

		cqe_delivery_raise(srq->session, &srq->async, type);
	} else {
		cqe_delivery_raise_qp(object, type);
	}
}

/*
 * Disarms `cq` and returns true when the written CQEs satisfy its arming. The look is an addition
 * of 0, not a load: the client exchanges the word before its last look at the ring. Of two
 * read-modify-write operations on one word, the second sees everything that the first side wrote
 * before (ring.h).
 */
static bool cqe_delivery_take_arming(struct session_cq *cq)
{
	struct rnic_cq_control *control = &session_region(cq->session)->cqs[cq->handle.slot];
	uint32_t armed = atomic_fetch_add_explicit(&control->armed, 0, memory_order_acq_rel);

	if (armed == RNIC_CQ_UNARMED || (armed == RNIC_CQ_ARMED_SOLICITED && !cq->has_solicited))
		return false;
	return atomic_exchange_explicit(&control->armed, RNIC_CQ_UNARMED, memory_order_acq_rel) !=
	       RNIC_CQ_UNARMED;
}

/*
 * Writes the waiting events into `pipe`. While the pipe is full, the set's epoll instance has one
 * edge-triggered watch for room. A failed removal only means that the pipe was not watched.
 */
static void cqe_delivery_flush_pipe(struct session *session, struct event_pipe *pipe)
{
	struct epoll_event event = {
		.events = EPOLLOUT | EPOLLET,
		.data.ptr = &session->pipe_watch,
	};
	bool was_full = pipe->is_full;
	bool is_empty = event_pipe_flush(pipe);

	if (!is_empty && !was_full) {
		epoll_ctl(session->set->epoll_fd, EPOLL_CTL_ADD, pipe->write_fd, &event);
		/* epoll does not report room that appeared before the watch began. */
		is_empty = event_pipe_flush(pipe);
		was_full = true;
	}
	if (is_empty && was_full)
		epoll_ctl(session->set->epoll_fd, EPOLL_CTL_DEL, pipe->write_fd, NULL);
}

/* Returns the pending types that an event of `type` makes obsolete. */
static uint32_t cqe_delivery_outdated(enum rnic_async_event_type type)
{
	switch (type) {
	case RNIC_EVENT_PORT_ACTIVE:
		return UINT32_C(1) << RNIC_EVENT_PORT_ERR;
	case RNIC_EVENT_PORT_ERR:
		return UINT32_C(1) << RNIC_EVENT_PORT_ACTIVE;
	default:
		return 0;
	}
}

void cqe_delivery_port_event(struct session_set *set, enum rnic_async_event_type type)
{
	struct list *node;

	list_for_each (node, &set->sessions) {
		struct session *session = list_entry(node, struct session, node);
		struct event_pipe *pipe = &session->async_pipe;

		if (pipe->write_fd < 0 || session->is_broken)
			continue;
		session->port_events.pending_types &= ~cqe_delivery_outdated(type);
		event_pipe_raise(pipe, &session->port_events, (uint32_t)type);
		/* Write now: the next event then becomes a record of its own. */
		if (!pipe->is_full)
			cqe_delivery_flush_pipe(session, pipe);
	}
}

/* Publishes what waited, and raises a completion event for each armed CQ that has new CQEs. */
static void cqe_delivery_notify(struct session_set *set)
{
	struct wait_batch batch;
	struct list *node;

	scheduler_begin(&set->scheduler, WAIT_CQ_NOTICE, &batch);
	while ((node = scheduler_next(&batch)) != NULL) {
		struct session_cq *cq = list_entry(node, struct session_cq, notice_node);

		if (cq->has_error)
			cqe_delivery_publish(set, cq);
		if (cq->channel != NULL && !cq->session->is_broken &&
		    cqe_delivery_take_arming(cq)) {
			event_pipe_raise(&cq->channel->pipe, &cq->event, 0);
			if (!cq->channel->pipe.is_full)
				cqe_delivery_flush_pipe(cq->session, &cq->channel->pipe);
		}
		cq->has_solicited = false;
	}
}

/* Wakes the clients that sleep in a poll of an empty CQ, in this turn or in a later one. */
static void cqe_delivery_wake_pollers(struct session_set *set, bool is_busy)
{
	struct wait_batch batch;
	struct list *node;

	scheduler_begin(&set->scheduler, WAIT_POLLER_WAKE, &batch);
	while ((node = scheduler_next(&batch)) != NULL) {
		struct session *session = list_entry(node, struct session, poller_node);
		struct rnic_shared_index *poll_waits = &session_region(session)->poll_waits;

		if (is_busy && set->now_ns - session->unwoken_since_ns < LIMIT_POLL_WAKE_NS)
			scheduler_add(&set->scheduler, WAIT_POLLER_WAKE, node);
		else if (!session->is_broken && rnic_wake_take(poll_waits))
			syscall(SYS_futex, &poll_waits->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
}

static void cqe_delivery_flush_events(struct session_set *set)
{
	struct wait_batch batch;
	struct list *node;

	scheduler_begin(&set->scheduler, WAIT_EVENT_WRITE, &batch);
	while ((node = scheduler_next(&batch)) != NULL) {
		struct session *session = list_entry(node, struct session, event_node);

		if (!session->is_broken && !session->async_pipe.is_full)
			cqe_delivery_flush_pipe(session, &session->async_pipe);
	}
}

void cqe_delivery_run(struct session_set *set, bool is_busy)
{
	cqe_delivery_notify(set);
	cqe_delivery_wake_pollers(set, is_busy);
	cqe_delivery_flush_events(set);
}

void cqe_delivery_retry(struct session *session)
{
	struct session_channel *channel;
	uint32_t slot = 0;

	while ((channel = handle_table_next(&session->channels, &slot)) != NULL) {
		if (channel->pipe.is_full)
			cqe_delivery_flush_pipe(session, &channel->pipe);
	}
	if (session->async_pipe.is_full)
		cqe_delivery_flush_pipe(session, &session->async_pipe);
}
