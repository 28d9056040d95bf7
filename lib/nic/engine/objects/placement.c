/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/placement.h"

#include "lib/nic/engine/objects/cq.h"
#include "lib/nic/engine/objects/srq_queue.h"
#include "lib/nic/engine/qp_state.h"

#include <assert.h>

/*
 * Tag of a transfer in engine->writes: the PSN of its packet, the messages that its QP had received
 * by then (24 bits each), its origin, and how many completions had been queued by then (modulo
 * 2^14), since later completions depend on the transfer. The owner is the role of the QP, so that
 * requests and responses fail apart from each other.
 */
#define TAG_MSN_SHIFT	 24
#define TAG_ORIGIN_SHIFT 48
#define TAG_ORIGIN_MASK	 3
#define TAG_QUEUED_SHIFT 50
#define TAG_QUEUED_MASK	 0x3fff

_Static_assert(PLACEMENT_COMPLETIONS_MAX <= TAG_QUEUED_MASK, "what waits can be told apart");

static uint64_t tag_make(enum placement_origin origin, struct rnic_psn psn, uint32_t msn,
			 uint32_t queued)
{
	return (uint64_t)(queued & TAG_QUEUED_MASK) << TAG_QUEUED_SHIFT |
	       (uint64_t)origin << TAG_ORIGIN_SHIFT | (uint64_t)msn << TAG_MSN_SHIFT | psn.value;
}

static enum placement_origin tag_origin(uint64_t tag)
{
	return (enum placement_origin)(tag >> TAG_ORIGIN_SHIFT & TAG_ORIGIN_MASK);
}

static uint32_t tag_msn(uint64_t tag)
{
	return (uint32_t)(tag >> TAG_MSN_SHIFT) & RNIC_PSN_MASK;
}

/* The number of the first completion that depends on the transfer; there are `queued` completions
 * now. */
static uint32_t tag_first(uint64_t tag, uint32_t queued)
{
	return queued - ((queued - (uint32_t)(tag >> TAG_QUEUED_SHIFT)) & TAG_QUEUED_MASK);
}

static void turn_into_error(struct cqe *cqe, enum verdict verdict)
{
	const struct verdict_row *row = verdict_row(verdict);

	cqe->byte_count = 0;
	cqe->vendor_error = row->cause;
	cqe->wc_flags = 0;
	cqe->is_solicited = true;
	cqe->is_silent = false;
	cqe->status = cqe->is_recv ? row->receive_status : row->send_status;
	if (cqe->is_recv)
		cqe->opcode = RNIC_WC_RECV;
}

/*
 * Makes errors of the completions that wait for `qp`, from number `first` on, since the QP is in
 * error from the failed packet on: of the first one of the work queue at fault for `verdict`; the
 * others are flushed. Returns whether there was a first one.
 */
static bool fail_waiting(struct placement *placement, const struct qp *qp, bool is_recv,
			 uint32_t first, enum verdict verdict)
{
	bool was_found = false;
	bool is_told = false; /* a completion names the QP's error */

	assert(placement->queued - first <= placement->queued - placement->delivered);
	for (uint32_t i = first; i != placement->queued; i++) {
		struct cqe *cqe = &placement->waiting[i % PLACEMENT_COMPLETIONS_MAX].cqe;
		bool is_at_fault = cqe->is_recv == is_recv;
		bool is_first = is_at_fault && !was_found;

		if (cqe->qp != qp)
			continue;
		/* An error that waits already reports a failure that was found earlier. */
		if (cqe->status == RNIC_WC_SUCCESS || (is_at_fault ? was_found : is_told))
			turn_into_error(cqe, is_first ? verdict : VERDICT_FLUSHED);
		was_found = was_found || is_first;
		is_told = is_told || (is_first && cqe->status != RNIC_WC_WR_FLUSH_ERR);
	}
	return was_found;
}

static void note_failing(struct placement *placement, struct qp *qp)
{
	if (!list_is_linked(&qp->failures.node))
		list_add_tail(&placement->failing, &qp->failures.node);
}

/* Payload of an answer to `qp` was not placed. */
static void response_failed(struct placement *placement, struct qp *qp, uint64_t tag, int error)
{
	qp->failures.is_response_reported =
		fail_waiting(placement, qp, false, tag_first(tag, placement->queued),
			     verdict_of_local_memory(error));
	qp->failures.response_error = error;
	qp->failures.response_msn = tag_msn(tag);
	qp->failures.has_response = true;
}

/* Payload of a request to `qp` was not placed. */
static void request_failed(struct placement *placement, struct qp *qp, uint64_t tag, int error)
{
	bool is_send = tag_origin(tag) == PLACEMENT_SEND;
	bool was_found = fail_waiting(placement, qp, true, tag_first(tag, placement->queued),
				      is_send ? VERDICT_MEMORY_GONE : VERDICT_FLUSHED);

	qp->failures.is_receive_at_fault = is_send && !was_found;
	qp->failures.is_of_receive = is_send;
	qp->failures.request_error = error;
	qp->failures.request_psn = rnic_psn((uint32_t)tag);
	qp->failures.request_msn = tag_msn(tag);
	qp->failures.has_request = true;
}

/*
 * The memory batch's word that bytes did not reach client memory. The rest of the batch is still
 * under way, so the QP has to wait for its error. The batch tells of failures in the order of the
 * packets: of a request and a response that fail, the earlier decides, as when it is placed at
 * once.
 */
static void write_failed(void *context, void *owner, uint64_t tag, int error)
{
	struct engine *engine = context;
	struct placement *placement = &engine->placement;
	bool is_response = tag_origin(tag) == PLACEMENT_RESPONSE;
	struct qp *qp = is_response ? RNIC_CONTAINER_OF(owner, struct qp, requester)
				    : RNIC_CONTAINER_OF(owner, struct qp, responder);

	engine->counters[COUNTER_MEMORY_ERRORS]++;
	if (qp->failures.has_request || qp->failures.has_response)
		return;
	if (is_response)
		response_failed(placement, qp, tag, error);
	else
		request_failed(placement, qp, tag, error);
	note_failing(placement, qp);
}

void placement_init(struct engine *engine, placement_failed_function *failed)
{
	struct placement *placement = &engine->placement;

	placement->queued = 0;
	placement->delivered = 0;
	placement->header_count = 0;
	placement->is_running = false;
	placement->failed = failed;
	list_init(&placement->failing);
	memory_batch_init(&engine->writes, MEMORY_WRITE, write_failed, engine);
}

/* Completions that are queued while this runs are delivered too: all payload is placed. */
static void placement_deliver(struct engine *engine)
{
	struct placement *placement = &engine->placement;

	while (placement->delivered != placement->queued) {
		uint32_t i = placement->delivered++ % PLACEMENT_COMPLETIONS_MAX;
		const struct cqe *cqe = &placement->waiting[i].cqe;

		if (cqe->is_silent || cq_deliver(engine, placement->waiting[i].cq, cqe))
			continue;
		if (cqe->srq != NULL)
			srq_completion_lost(cqe->srq);
		cqe->qp->failures.is_overrun = true;
		if (cqe->is_recv && cqe->status == RNIC_WC_SUCCESS)
			cqe->qp->failures.is_message_lost = true;
		note_failing(placement, cqe->qp);
	}
}

static void placement_take_failures(struct engine *engine, struct qp *qp)
{
	struct placement_failures failures = qp->failures;

	list_remove(&qp->failures.node);
	qp->failures = (struct placement_failures){0};
	list_init(&qp->failures.node);
	engine->placement.failed(engine, qp, &failures);
}

void placement_run(struct engine *engine)
{
	struct placement *placement = &engine->placement;

	if (placement->is_running)
		return;
	placement->is_running = true;
	memory_batch_flush(&engine->writes);
	placement->header_count = 0;
	placement_deliver(engine);
	while (!list_is_empty(&placement->failing)) {
		struct qp *qp = list_first_entry(&placement->failing, struct qp, failures.node);

		placement_take_failures(engine, qp);
		placement_deliver(engine);
	}
	placement->is_running = false;
}

void placement_cqe(struct engine *engine, struct cq *cq, const struct cqe *cqe)
{
	struct placement *placement = &engine->placement;
	uint32_t i = placement->queued++ % PLACEMENT_COMPLETIONS_MAX;
	bool is_full = placement->queued - placement->delivered == PLACEMENT_COMPLETIONS_MAX;

	placement->waiting[i].cq = cq;
	placement->waiting[i].cqe = *cqe;
	if (placement->is_running && is_full)
		placement_deliver(engine);
	else if (is_full || memory_batch_is_empty(&engine->writes))
		placement_run(engine);
}

uint8_t *placement_header(struct engine *engine)
{
	struct placement *placement = &engine->placement;

	if (placement->header_count == PLACEMENT_HEADERS_MAX)
		placement_run(engine);
	assert(placement->header_count < PLACEMENT_HEADERS_MAX);
	return placement->headers[placement->header_count++];
}

void placement_last_receive(struct engine *engine, struct qp *qp)
{
	qp->failures.is_last_received = true;
	note_failing(&engine->placement, qp);
	if (memory_batch_is_empty(&engine->writes))
		placement_run(engine);
}

/*
 * Bytes of a QP must not become visible before those that came earlier: programs poll the last byte
 * of a WRITE, or a flag written behind it, which may lie in memory of another kind.
 */
static bool must_place_first(const struct engine *engine, const struct memory_transfer *transfer,
			     const void *owner)
{
	return memory_batch_is_full(&engine->writes) ||
	       (transfer->region->direct && memory_batch_has(&engine->writes, owner));
}

int placement_write(struct engine *engine, struct qp *qp, const struct memory_transfer *transfer,
		    enum placement_origin origin, struct rnic_psn psn)
{
	void *owner =
		origin == PLACEMENT_RESPONSE ? (void *)&qp->requester : (void *)&qp->responder;

	if (must_place_first(engine, transfer, owner))
		placement_run(engine);
	if (qp->state == RNIC_QP_STATE_ERR)
		return 0;
	return memory_batch_add(&engine->writes, transfer, owner,
				tag_make(origin, psn, qp->responder.msn, engine->placement.queued));
}
