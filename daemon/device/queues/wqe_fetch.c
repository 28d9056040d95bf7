/* SPDX-License-Identifier: MIT */
#include "daemon/device/queues/wqe_fetch.h"

#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/base/probe.h"
#include "lib/nic/engine/reliability/credits.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/base/checked.h"
#include "proto/base/operation.h"
#include "proto/shm/ring.h"

#include <assert.h>
#include <string.h>

#define WQE_FETCH_SEND_FLAGS                                                                       \
	(RNIC_SEND_FENCE | RNIC_SEND_SIGNALED | RNIC_SEND_SOLICITED | RNIC_SEND_INLINE)

/*
 * Copies bytes that the client may be changing at this moment. The barrier stops the compiler from
 * reading the original again where the code uses the copy.
 */
static void wqe_fetch_copy(void *copy, const void *shared, size_t bytes)
{
	memcpy(copy, shared, bytes);
	__asm__ volatile("" ::: "memory");
}

/* Returns whether the bytes that the operation does not use are zero. */
static bool wqe_fetch_is_reserved_zero(const struct rnic_send_wqe *entry, uint8_t operands)
{
	if (operands == RNIC_WR_OPERANDS_BIND)
		return entry->bind.reserved == 0;
	if (operands == RNIC_WR_OPERANDS_FLUSH)
		return entry->flush.reserved[0] == 0 && entry->flush.reserved[1] == 0;
	return true;
}

static bool wqe_fetch_entry_is_sound(const struct rnic_send_wqe *entry,
				     const struct rnic_wr_operation *operation, uint8_t type,
				     const struct rnic_qp_capacities *capacities)
{
	uint32_t sge_max =
		operation->payload == RNIC_WR_PAYLOAD_NONE ? 0 : capacities->max_send_sge;

	if (!rnic_wr_is_of_type(operation, type))
		return false;
	if ((entry->flags & ~WQE_FETCH_SEND_FLAGS) != 0)
		return false;
	if ((entry->flags & RNIC_SEND_INLINE) != 0)
		return operation->payload == RNIC_WR_PAYLOAD_OUT &&
		       entry->inline_bytes <= capacities->max_inline_bytes;
	return entry->sge_count <= sge_max &&
	       wqe_fetch_is_reserved_zero(entry, operation->operands);
}

void wqe_fetch_check_send(const struct rnic_send_wqe *entry, uint8_t type,
			  const struct rnic_qp_capacities *capacities, struct send_wqe *wqe)
{
	const struct rnic_wr_operation *operation = rnic_wr_operation(entry->opcode);

	*wqe = (struct send_wqe){
		.wr_id = entry->wr_id,
		.opcode = WQE_FETCH_BAD_OPCODE,
		.flags = entry->flags & RNIC_SEND_SIGNALED,
	};
	if (!wqe_fetch_entry_is_sound(entry, operation, type, capacities))
		return;
	wqe->opcode = entry->opcode;
	wqe->flags = entry->flags;
	if ((entry->flags & RNIC_SEND_INLINE) != 0)
		wqe->length = entry->inline_bytes;
	else
		wqe->sge_count = (uint8_t)entry->sge_count;
	wqe->immediate = entry->immediate;
	wqe->remote_address = entry->remote_address;
	wqe->rkey = entry->rkey;
	if (rnic_wr_takes_place_of_sge(operation))
		memcpy(&wqe->atomic, &entry->atomic, sizeof(wqe->atomic)); /* whichever arm */
	if (type == RNIC_QP_TYPE_XRC_INITIATOR)
		wqe->srqn = entry->srqn;
}

void wqe_fetch_check_recv(const struct rnic_recv_wqe *entry, uint32_t sge_max, struct recv_wqe *wqe)
{
	const bool are_beside = entry->sge.length >= RNIC_RECV_SGES_BESIDE;
	const uint32_t sge_count = are_beside ? entry->sge.length - RNIC_RECV_SGES_BESIDE : 1;

	*wqe = (struct recv_wqe){.wr_id = entry->wr_id};
	if (sge_count > sge_max || (are_beside && sge_count == 1))
		wqe->invalid = true;
	else
		wqe->sge_count = sge_count;
}

static const uint8_t *spill_of_slot(const struct client_ring *ring, uint32_t slot)
{
	return ring->spill + (uint64_t)slot * ring->spill_stride_bytes;
}

/*
 * Copies the SGEs of the WQE in ring slot `slot`: the one SGE inside the copied WQE, or those in
 * the spill area. `inside` is NULL where none lies inside.
 */
static void wqe_fetch_copy_sges(const struct client_ring *ring, uint32_t slot,
				const struct rnic_sge *inside, uint32_t sge_count,
				struct rnic_sge *sges)
{
	if (sge_count == 0)
		return;
	if (sge_count == 1 && inside != NULL) {
		sges[0] = *inside;
		return;
	}
	assert(sge_count * sizeof(*sges) <= ring->spill_stride_bytes);
	wqe_fetch_copy(sges, spill_of_slot(ring, slot), sge_count * sizeof(*sges));
}

/*
 * Finds the address handle that a datagram names. There is none when the client has destroyed it.
 */
static void wqe_fetch_find_ah(struct session_qp *qp, const struct rnic_send_wqe *entry,
			      struct send_wqe *wqe)
{
	const struct rnic_handle handle = {entry->datagram.ah_slot, entry->datagram.ah_generation};
	const struct session_ah *ah = handle_table_get(&qp->session->ahs, handle);

	wqe->datagram.ah = ah != NULL ? &ah->ah : NULL;
	wqe->datagram.remote_qpn = entry->datagram.remote_qpn;
	wqe->datagram.remote_qkey = entry->datagram.remote_qkey;
}

static void wqe_fetch_take_send(struct session_qp *qp)
{
	const struct client_ring *ring = &qp->send_ring;
	const uint32_t slot = qp->send_consumer & (ring->slots - 1);
	const uint8_t *place = ring->entries + (uint64_t)slot * sizeof(struct rnic_send_wqe);
	const uint8_t *spill = spill_of_slot(ring, slot);
	struct rnic_sge sges[RNIC_SGE_COUNT_MAX];
	struct rnic_send_wqe entry;
	struct send_wqe wqe;
	bool is_inside;

	wqe_fetch_copy(&entry, place, sizeof(entry));
	wqe_fetch_check_send(&entry, qp->qp->type, &qp->qp->capacities, &wqe);
	if (qp->qp->type == RNIC_QP_TYPE_UD)
		wqe_fetch_find_ah(qp, &entry, &wqe);
	is_inside = !rnic_wr_takes_place_of_sge(rnic_wr_operation(wqe.opcode));
	wqe_fetch_copy_sges(ring, slot, is_inside ? &entry.sge : NULL, wqe.sge_count, sges);
	qp->send_consumer++;
	RNIC_PROBE3(wqe_fetched, qp->qp->qpn, wqe.opcode, wqe.sge_count);
	qp_post_send(qp->qp, &wqe, sges,
		     rnic_inline_is_inside(wqe.length)
			     ? place + offsetof(struct rnic_send_wqe, inline_data)
			     : spill);
}

void wqe_fetch_schedule(struct session_qp *qp)
{
	if (qp->target == NULL)
		scheduler_add(&qp->session->set->scheduler, WAIT_SEND_FETCH, &qp->fetch_node);
}

void wqe_fetch_review(struct session_qp *qp)
{
	if (qp->target == NULL)
		scheduler_add(&qp->session->set->scheduler, WAIT_REVIEW, &qp->review_node);
}

/* Returns the number of WQEs in the send ring; negative when the client's index is invalid. */
static int64_t wqe_fetch_peek_sends(const struct session_qp *qp)
{
	return rnic_ring_pending(rnic_word_load(qp->send_producer), qp->send_consumer,
				 qp->send_ring.slots);
}

uint32_t wqe_fetch_waiting_sends(const struct session_qp *qp)
{
	int64_t pending = qp->target == NULL ? wqe_fetch_peek_sends(qp) : 0;

	return pending < 0 ? 0 : (uint32_t)pending;
}

bool wqe_fetch_any_signaled(const struct session_qp *qp, uint32_t count)
{
	const struct client_ring *ring = &qp->send_ring;
	const uint32_t end = rnic_word_load(qp->send_producer);
	bool any = qp->qp->signal_all;

	for (uint32_t i = 1; !any && i <= count && i <= ring->slots; i++) {
		const volatile struct rnic_send_wqe *wqe =
			(const void *)(ring->entries +
				       (uint64_t)((end - i) & (ring->slots - 1)) * sizeof(*wqe));

		any = (wqe->flags & RNIC_SEND_SIGNALED) != 0;
	}
	return any;
}

/* Returns the number of WQEs in the send ring of `qp`, or -1 after breaking the session. */
static int64_t wqe_fetch_pending_sends(struct session_qp *qp)
{
	int64_t pending = wqe_fetch_peek_sends(qp);

	if (pending < 0)
		session_break(qp->session, "the send queue of QP %#x claims more than it can hold",
			      qp->qp->qpn);
	return pending;
}

uint32_t wqe_fetch_take_sends(struct session_qp *qp, uint32_t budget)
{
	int64_t pending = qp->session->is_broken ? -1 : wqe_fetch_pending_sends(qp);
	uint32_t taken = 0;

	if (pending > 0 && qp->qp->state == RNIC_QP_STATE_RESET)
		pending = 0; /* a QP in RESET accepts no WQEs; RESET empties its rings */
	while (taken < budget && taken < pending && send_queue_space(&qp->qp->send_queue) > 0) {
		wqe_fetch_take_send(qp);
		taken++;
	}
	if (pending <= (int64_t)taken) {
		scheduler_remove(&qp->fetch_node);
	} else if (send_queue_space(&qp->qp->send_queue) == 0) {
		qp_await_send_space(qp->qp);
		scheduler_remove(&qp->fetch_node);
	}
	return taken;
}

void wqe_fetch_send_space(void *context, struct qp *qp)
{
	(void)context;
	wqe_fetch_schedule(qp->user);
}

bool wqe_fetch_is_possible(const struct session_qp *qp)
{
	return send_queue_space(&qp->qp->send_queue) > 0 && qp->qp->state != RNIC_QP_STATE_RESET;
}

/* Returns the number of WQEs in the ring; negative when the client's index is invalid. */
static int64_t wqe_fetch_peek_recvs(const struct receive_ring *ring)
{
	return rnic_ring_pending(rnic_word_load(ring->producer), ring->consumer, ring->wqes.slots);
}

/* Returns the number of WQEs in the ring, or -1 after breaking the session. */
static int64_t wqe_fetch_pending_recvs(const struct receive_ring *ring)
{
	int64_t pending = wqe_fetch_peek_recvs(ring);

	if (pending < 0)
		session_break(ring->session,
			      "the receive queue of %s %#x claims more than it can hold",
			      ring->qp != NULL ? "QP" : "SRQ", ring->number);
	return pending;
}

uint32_t wqe_fetch_waiting_recvs(const struct receive_ring *ring)
{
	int64_t pending = wqe_fetch_peek_recvs(ring);

	return pending < 0 ? 0 : (uint32_t)pending;
}

/* Fills `wqe` and its `sges`, which are the engine's own, with the oldest WQE of the ring. */
static void wqe_fetch_take_recv(struct receive_ring *ring, struct recv_wqe *wqe,
				struct rnic_sge *sges)
{
	uint32_t slot = ring->consumer & (ring->wqes.slots - 1);
	struct rnic_recv_wqe entry;

	wqe_fetch_copy(&entry, ring->wqes.entries + (uint64_t)slot * sizeof(entry), sizeof(entry));
	wqe_fetch_check_recv(&entry, ring->sge_max, wqe);
	wqe_fetch_copy_sges(&ring->wqes, slot, &entry.sge, wqe->sge_count, sges);
	wqe->length = rnic_sges_bytes_saturated(sges, wqe->sge_count);
	ring->consumer++;
}

/*
 * Receive WQEs of a QP in ERR are flushed. Clients may post as fast as the daemon flushes, to many
 * queue pairs at once, and must not occupy the device: the next turn flushes the rest.
 */
static bool wqe_fetch_may_flush(struct session_qp *qp)
{
	uint32_t *budget = &qp->session->set->flush_budget;

	if (qp->qp->state != RNIC_QP_STATE_ERR)
		return true;
	if (*budget == 0) {
		wqe_fetch_review(qp);
		return false;
	}
	--*budget;
	return true;
}

uint32_t wqe_fetch_refill(void *context, const struct recv_queue *queue,
			  const struct recv_room *room)
{
	struct receive_ring *ring = queue->user;
	uint32_t filled = 0;
	int64_t pending;

	(void)context;
	if (ring == NULL || ring->session->is_broken)
		return 0;
	assert(ring->sge_max <= room->sge_stride);
	pending = wqe_fetch_pending_recvs(ring);
	while (filled < pending && filled < room->count &&
	       (ring->qp == NULL || wqe_fetch_may_flush(ring->qp))) {
		wqe_fetch_take_recv(ring, &room->wqes[filled], recv_room_sges(room, filled));
		filled++;
	}
	/* Publish before any completion of these WQEs: a client that polls a CQE finds room to
	 * post. */
	if (filled > 0 && ring->srq_consumer != NULL)
		rnic_index_publish(ring->srq_consumer, ring->consumer);
	return filled;
}

uint32_t wqe_fetch_posted(void *context, const struct recv_queue *queue)
{
	(void)context;
	return queue->user == NULL ? 0 : wqe_fetch_waiting_recvs(queue->user);
}

void wqe_fetch_watch(void *context, struct recv_queue *queue)
{
	struct receive_ring *ring = queue->user;

	(void)context;
	if (ring != NULL && !ring->session->is_broken)
		wqe_fetch_review(ring->qp);
}

/* An XRC target has no posted WQEs, and belongs to several sessions. */
void wqe_fetch_entered_error(void *context, struct qp *qp)
{
	(void)context;
	if (qp->xrcd == NULL)
		wqe_fetch_review(qp->user);
}

static void wqe_fetch_review_one(struct session_qp *qp)
{
	struct rnic_status_region *status = session_status(qp->session);
	_Atomic uint8_t *is_wanted = &status->recv_doorbell_wanted[qp->handle.slot];

	if (qp->session->is_broken)
		return;
	/* Either the client sees that its doorbell is wanted, or the daemon sees the client's
	 * index. */
	atomic_store_explicit(is_wanted, 1, memory_order_seq_cst);
	if (qp->qp->state != RNIC_QP_STATE_ERR) {
		if (credits_posted(qp->qp->engine, qp->qp))
			atomic_store_explicit(is_wanted, 0, memory_order_relaxed);
		return;
	}
	if (wqe_fetch_pending_recvs(&qp->recv) > 0)
		qp_flush_receives(qp->qp);
}

void wqe_fetch_run_reviews(struct session_set *set)
{
	struct wait_batch batch;
	struct list *node;

	scheduler_begin(&set->scheduler, WAIT_REVIEW, &batch);
	set->flush_budget = LIMIT_TURN_FLUSHES;
	while (set->flush_budget > 0 && (node = scheduler_next(&batch)) != NULL)
		wqe_fetch_review_one(list_entry(node, struct session_qp, review_node));
	scheduler_end(&set->scheduler, WAIT_REVIEW, &batch);
	set->flush_budget = 0;
}

void wqe_fetch_reset(struct session_qp *qp)
{
	struct rnic_status_region *status = session_status(qp->session);
	int64_t pending_sends, pending_recvs;

	if (qp->target != NULL)
		return;
	pending_sends = wqe_fetch_pending_sends(qp);
	pending_recvs = wqe_fetch_pending_recvs(&qp->recv);
	if (pending_sends < 0 || pending_recvs < 0)
		return;
	qp->send_consumer += (uint32_t)pending_sends;
	qp->recv.consumer += (uint32_t)pending_recvs;
	qp->send_base = qp->send_consumer;
	qp->recv_base = qp->recv.consumer;
	scheduler_remove(&qp->fetch_node);
	atomic_store_explicit(&status->recv_doorbell_wanted[qp->handle.slot], 0,
			      memory_order_relaxed);
}
