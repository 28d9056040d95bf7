/* SPDX-License-Identifier: MIT */
#include "lib/client/native/rnic_post.h"
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"
#include "lib/client/native/queues/wqe_operands.h"
#include "proto/base/operation.h"
#include "proto/shm/ring.h"

#include <errno.h>
#include <string.h>

/* In line in all callers, few as they are. */
#define ALWAYS static inline __attribute__((always_inline))

static uint32_t published(const struct rnic_work_queue *queue)
{
	return atomic_load_explicit(queue->shared_producer, memory_order_relaxed);
}

/* (D) of ring.h: acquire, so that a slot is written again only after it was given back. */
static bool post_is_full(const struct rnic_work_queue *queue)
{
	uint32_t given_back = queue->consumer != NULL
				      ? rnic_index_load(queue->consumer)
				      : atomic_load_explicit(&queue->retired, memory_order_acquire);

	return queue->producer - given_back >= queue->depth;
}

static uint8_t *spill_of(const struct rnic_work_queue *queue)
{
	return queue->spill + (uint64_t)(queue->producer & queue->mask) * queue->spill_stride_bytes;
}

/*
 * Leaves a word for the person who looks for a cause: few programs print more than an errno. Under
 * the lock of `queue`, which is one of both of `qp`. Returns `error`.
 */
static int __attribute__((cold, noinline))
post_refuse(const struct rnic_qp *qp, const struct rnic_work_queue *queue,
	    enum rnic_post_refusal reason, int error)
{
	struct rnic_session_region *session = qp->context->session;
	struct rnic_qp_refusals *refusals = &session->refusals[qp->handle.slot];
	const uint32_t state = atomic_load_explicit(&qp->state, memory_order_relaxed);

	atomic_store_explicit(
		queue == &qp->send ? &refusals->send : &refusals->recv,
		RNIC_POST_REFUSAL_WORD(qp->handle.generation, queue->producer, state, reason),
		memory_order_relaxed);
	rnic_word_publish(&session->has_refusals.value, 1);
	return error;
}

/* 0, a rule's errno, or that of a context that is lost. */
ALWAYS int post_check(const struct rnic_context *context, enum rnic_verb_call call)
{
	const int error = rnic_context_lost(context);

	if (error == 0 && verb_rules_have(context->rules, RNIC_VERB_KIND_POSTS))
		return verb_rules_refuse(context->rules, call);
	return error;
}

static int post_begin(const struct rnic_qp *qp, struct rnic_work_queue *queue, uint32_t states,
		      enum rnic_verb_call call)
{
	int error = post_check(qp->context, call);

	if (error != 0)
		return error;
	rnic_spinlock_lock(&queue->lock);
	if ((states & 1U << atomic_load_explicit(&qp->state, memory_order_relaxed)) != 0)
		return 0;
	error = post_refuse(qp, queue, RNIC_POST_REFUSED_STATE, -EINVAL);
	rnic_spinlock_unlock(&queue->lock);
	return error;
}

/*
 * IBTA 1.4, 10.3.1: states in which work may be posted. In SQE and ERR it completes with a flush
 * error.
 */
#define STATES_THAT_SEND                                                                           \
	(1U << RNIC_QP_STATE_RTS | 1U << RNIC_QP_STATE_SQD | 1U << RNIC_QP_STATE_SQE |             \
	 1U << RNIC_QP_STATE_ERR)
#define STATES_THAT_RECEIVE (((1U << RNIC_QP_STATE_COUNT) - 1) & ~(1U << RNIC_QP_STATE_RESET))

int rnic_send_begin(struct rnic_qp *qp)
{
	return qp->type != RNIC_QP_TYPE_XRC_TARGET
		       ? post_begin(qp, &qp->send, STATES_THAT_SEND, RNIC_VERB_POST_SEND)
		       : -EINVAL;
}

int rnic_recv_begin(struct rnic_qp *qp, struct rnic_srq *srq)
{
	int error;

	if (srq == NULL)
		return qp->srq == NULL && qp->type != RNIC_QP_TYPE_XRC_INITIATOR &&
				       qp->type != RNIC_QP_TYPE_XRC_TARGET
			       ? post_begin(qp, &qp->recv, STATES_THAT_RECEIVE, RNIC_VERB_POST_RECV)
			       : -EINVAL;
	error = post_check(srq->context, RNIC_VERB_POST_SRQ_RECV);
	if (error == 0)
		rnic_spinlock_lock(&srq->recv.lock);
	return error;
}

/*
 * Whether the SGEs are right for the operation. Where the answer is written to the SGEs, this is
 * the device's to judge, with the rest of the SGEs' rights: the request completes with an error.
 */
static bool post_is_length_right(const struct rnic_wr_operation *operation, uint64_t bytes)
{
	return operation->payload != RNIC_WR_PAYLOAD_OUT ||
	       rnic_wr_is_length_right(operation, bytes);
}

ALWAYS int check_send(const struct rnic_qp *qp, const struct rnic_wr_operation *operation,
		      bool is_inline, const struct rnic_sge *sges, uint32_t sge_count,
		      uint64_t *bytes)
{
	if (operation->services == 0)
		return post_refuse(qp, &qp->send, RNIC_POST_REFUSED_OPERATION, -EOPNOTSUPP);
	/* The device refuses the other operations that its type does not have, in their turn. */
	if (operation->is_local && !rnic_wr_is_of_type(operation, qp->type))
		return post_refuse(qp, &qp->send, RNIC_POST_REFUSED_OPERATION, -EINVAL);
	if (sge_count > qp->send.max_sge || (sges == NULL && sge_count > 0) ||
	    (operation->payload == RNIC_WR_PAYLOAD_NONE && sge_count != 0) ||
	    (is_inline && operation->payload != RNIC_WR_PAYLOAD_OUT))
		return post_refuse(qp, &qp->send, RNIC_POST_REFUSED_SGES, -EINVAL);
	*bytes = rnic_sges_bytes(sges, sge_count);
	if (*bytes > (is_inline ? qp->max_inline_bytes
				: qp->context->attributes.max_message_bytes) ||
	    !post_is_length_right(operation, *bytes))
		return post_refuse(qp, &qp->send, RNIC_POST_REFUSED_LENGTH, -EINVAL);
	if (post_is_full(&qp->send))
		return post_refuse(qp, &qp->send, RNIC_POST_REFUSED_FULL, -ENOMEM);
	return 0;
}

static void copy_inline(uint8_t *spill, const struct rnic_sge *sges, uint32_t sge_count)
{
	for (uint32_t i = 0; i < sge_count; i++) {
		if (sges[i].length > 0)
			memcpy(spill, (const void *)(uintptr_t)sges[i].address, sges[i].length);
		spill += sges[i].length;
	}
}

/* Stores the payload or its SGEs: in the WQE if there is room, else in the slot's spill area. */
ALWAYS void set_payload(struct rnic_send_wqe *wqe, uint8_t *spill,
			const struct rnic_wr_operation *operation, const struct rnic_sge *sges,
			uint32_t sge_count, uint64_t bytes)
{
	if ((wqe->flags & RNIC_SEND_INLINE) != 0) {
		wqe->inline_bytes = (uint16_t)bytes;
		copy_inline(rnic_inline_is_inside(bytes) ? wqe->inline_data : spill, sges,
			    sge_count);
		return;
	}
	wqe->sge_count = (uint16_t)sge_count;
	if (sge_count == 1 && !rnic_wr_takes_place_of_sge(operation))
		wqe->sge = sges[0];
	else if (sge_count > 0)
		memcpy(spill, sges, sge_count * sizeof(*sges));
}

/* Checks the request, adds the payload to `wqe`, and writes the WQE into its slot. */
ALWAYS int append(struct rnic_qp *qp, const struct rnic_wr_operation *operation,
		  struct rnic_send_wqe *wqe, const struct rnic_sge *sges, uint32_t sge_count)
{
	const bool is_inline = (wqe->flags & RNIC_SEND_INLINE) != 0;
	struct rnic_work_queue *queue = &qp->send;
	uint64_t bytes = 0;
	int error = check_send(qp, operation, is_inline, sges, sge_count, &bytes);

	if (error != 0)
		return error;
	set_payload(wqe, spill_of(queue), operation, sges, sge_count, bytes);
	memcpy(queue->entries + (uint64_t)(queue->producer & queue->mask) * sizeof(*wqe), wqe,
	       sizeof(*wqe));
	queue->producer++;
	return 0;
}

int rnic_send_append(struct rnic_qp *qp, struct rnic_send_wqe *wqe, const struct rnic_sge *sges,
		     uint32_t sge_count)
{
	return append(qp, rnic_wr_operation(wqe->opcode), wqe, sges, sge_count);
}

/* Sets what only some operations, or queue pairs, have. -EINVAL: see rnic_wqe_set_bind(). */
static int set_operands(struct rnic_send_wqe *wqe, const struct rnic_qp *qp,
			enum rnic_wr_operands operands, const struct rnic_send_wr *wr)
{
	int error = 0;

	switch (operands) {
	case RNIC_WR_OPERANDS_SWAP:
	case RNIC_WR_OPERANDS_ADD:
		rnic_wqe_set_atomic(wqe, wr->atomic.compare, wr->atomic.swap_or_add);
		break;
	case RNIC_WR_OPERANDS_BIND:
		error = rnic_wqe_set_bind(wqe, wr->bind.mw, wr->rkey, wr->bind.mr, wr->bind.length,
					  wr->bind.access);
		break;
	case RNIC_WR_OPERANDS_FLUSH:
		rnic_wqe_set_flush(wqe, wr->flush.length, wr->flush.type);
		break;
	case RNIC_WR_OPERANDS_NONE:
		if (qp->type == RNIC_QP_TYPE_UD)
			rnic_wqe_set_datagram(wqe, wr->datagram.ah, wr->datagram.remote_qpn,
					      wr->datagram.remote_qkey);
		break;
	case RNIC_WR_OPERANDS_REMOTE:
		break;
	}
	if (qp->type == RNIC_QP_TYPE_XRC_INITIATOR)
		rnic_wqe_set_srq(wqe, wr->srqn);
	return error;
}

static int append_request(struct rnic_qp *qp, const struct rnic_send_wr *wr)
{
	const struct rnic_wr_operation *operation = rnic_wr_operation(wr->opcode);
	struct rnic_send_wqe wqe = {
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.flags = wr->flags,
		.immediate = wr->immediate,
		.remote_address = wr->remote_address,
		.rkey = wr->rkey,
	};
	int error = 0;

	if (rnic_wr_is_of_type(operation, qp->type))
		error = set_operands(&wqe, qp, (enum rnic_wr_operands)operation->operands, wr);
	return error != 0 ? error : append(qp, operation, &wqe, wr->sge_list, wr->sge_count);
}

/* Receives of an SRQ leave no word. */
static int refuse_receive(const struct rnic_qp *qp, enum rnic_post_refusal reason, int error)
{
	return qp != NULL ? post_refuse(qp, &qp->recv, reason, error) : error;
}

int rnic_recv_append(const struct rnic_qp *qp, struct rnic_work_queue *queue, uint64_t wr_id,
		     const struct rnic_sge *sges, uint32_t sge_count)
{
	struct rnic_recv_wqe entry = {.wr_id = wr_id};

	if (sge_count > queue->max_sge || (sges == NULL && sge_count > 0))
		return refuse_receive(qp, RNIC_POST_REFUSED_SGES, -EINVAL);
	if (post_is_full(queue))
		return refuse_receive(qp, RNIC_POST_REFUSED_FULL, -ENOMEM);
	if (sge_count == 1) {
		entry.sge = sges[0];
		if (entry.sge.length > RNIC_MESSAGE_BYTES_MAX)
			entry.sge.length = RNIC_MESSAGE_BYTES_MAX;
	} else {
		entry.sge.length = RNIC_RECV_SGES_BESIDE + sge_count;
		if (sge_count > 0)
			memcpy(spill_of(queue), sges, sge_count * sizeof(entry.sge));
	}
	memcpy(queue->entries + (uint64_t)(queue->producer & queue->mask) * sizeof(entry), &entry,
	       sizeof(entry));
	queue->producer++;
	return 0;
}

static bool post_is_armed(const struct rnic_cq *cq)
{
	return cq != NULL &&
	       atomic_load_explicit(&cq->control->armed, memory_order_relaxed) != RNIC_CQ_UNARMED;
}

/* Whether the caller wants an event of what it posts, or of the answer. A device process is told so
 * by other means. */
static bool post_is_awaited(const struct rnic_qp *qp)
{
	return qp->context->direct != NULL &&
	       (post_is_armed(qp->send_cq) || post_is_armed(qp->recv_cq));
}

void rnic_send_end(struct rnic_qp *qp)
{
	const bool any = qp->send.producer != published(&qp->send);

	if (any)
		rnic_word_publish(qp->send.shared_producer, qp->send.producer);
	rnic_spinlock_unlock(&qp->send.lock);
	if (any)
		rnic_context_ring(qp->context, RNIC_DOORBELL_SEND, qp->handle.slot,
				  post_is_awaited(qp));
}

void rnic_send_abort(struct rnic_qp *qp)
{
	qp->send.producer = published(&qp->send);
	rnic_spinlock_unlock(&qp->send.lock);
}

static void post_end_receives(struct rnic_qp *qp)
{
	const bool any = qp->recv.producer != published(&qp->recv);

	if (any)
		rnic_word_publish_then_look(qp->recv.shared_producer, qp->recv.producer);
	rnic_spinlock_unlock(&qp->recv.lock);
	if (!any)
		return;
	/* The daemon sets its wish, then looks at the index once more; so one of both sees the
	 * other. */
	if (atomic_load_explicit(&qp->context->status->recv_doorbell_wanted[qp->handle.slot],
				 memory_order_seq_cst) != 0)
		rnic_context_ring(qp->context, RNIC_DOORBELL_RECV, qp->handle.slot, false);
}

void rnic_recv_end(struct rnic_qp *qp, struct rnic_srq *srq)
{
	if (srq == NULL) {
		post_end_receives(qp);
		return;
	}
	if (srq->recv.producer != published(&srq->recv))
		rnic_word_publish(srq->recv.shared_producer, srq->recv.producer);
	rnic_spinlock_unlock(&srq->recv.lock);
}

int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *list,
		   const struct rnic_send_wr **bad)
{
	RNIC_REFUSE_NULL(qp, bad);
	const struct rnic_send_wr *wr = list;
	int error = rnic_send_begin(qp);

	if (error == 0) {
		while (wr != NULL && (error = append_request(qp, wr)) == 0)
			wr = wr->next;
		rnic_send_end(qp);
	}
	if (error != 0)
		*bad = wr;
	return error;
}

static int post_receives(struct rnic_qp *qp, struct rnic_srq *srq, const struct rnic_recv_wr *wr,
			 const struct rnic_recv_wr **bad)
{
	int error = rnic_recv_begin(qp, srq);

	if (error == 0) {
		struct rnic_work_queue *queue = rnic_recv_queue(qp, srq);

		while (wr != NULL && (error = rnic_recv_append(qp, queue, wr->wr_id, wr->sge_list,
							       wr->sge_count)) == 0)
			wr = wr->next;
		rnic_recv_end(qp, srq);
	}
	if (error != 0)
		*bad = wr;
	return error;
}

int rnic_post_recv(struct rnic_qp *qp, const struct rnic_recv_wr *list,
		   const struct rnic_recv_wr **bad)
{
	RNIC_REFUSE_NULL(qp, bad);
	return post_receives(qp, NULL, list, bad);
}

int rnic_post_srq_recv(struct rnic_srq *srq, const struct rnic_recv_wr *list,
		       const struct rnic_recv_wr **bad)
{
	RNIC_REFUSE_NULL(srq, bad);
	return post_receives(NULL, srq, list, bad);
}
