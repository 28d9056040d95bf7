/* SPDX-License-Identifier: MIT */
#include "engine/responder/settle.h"

#include "engine/engine.h"
#include "engine/objects/qp.h"
#include "engine/objects/srq.h"

#include <assert.h>

/*
 * Tag of a transfer in engine->writes: the PSN of its packet, the messages that its QP had received
 * by then (24 bits each), its origin, and how many completions had been queued by then (modulo
 * 2^14), since those that follow depend on it. The owner is the role of the QP, so that requests
 * and responses fail apart from each other.
 */
#define TAG_MSN_SHIFT	 24
#define TAG_ORIGIN_SHIFT 48
#define TAG_ORIGIN_MASK	 3
#define TAG_QUEUED_SHIFT 50
#define TAG_QUEUED_MASK	 0x3fff

_Static_assert(SETTLE_COMPLETIONS_MAX <= TAG_QUEUED_MASK, "what waits can be told apart");

static uint64_t tag_make(enum settle_origin origin, struct rnic_psn psn, uint32_t msn,
			 uint32_t queued)
{
	return (uint64_t)(queued & TAG_QUEUED_MASK) << TAG_QUEUED_SHIFT |
	       (uint64_t)origin << TAG_ORIGIN_SHIFT | (uint64_t)msn << TAG_MSN_SHIFT | psn.value;
}

static enum settle_origin tag_origin(uint64_t tag)
{
	return (enum settle_origin)(tag >> TAG_ORIGIN_SHIFT & TAG_ORIGIN_MASK);
}

static uint32_t tag_msn(uint64_t tag)
{
	return (uint32_t)(tag >> TAG_MSN_SHIFT) & RNIC_PSN_MASK;
}

/* The number of the first completion that depends on it; `queued` completions there are now. */
static uint32_t tag_first(uint64_t tag, uint32_t queued)
{
	return queued - ((queued - (uint32_t)(tag >> TAG_QUEUED_SHIFT)) & TAG_QUEUED_MASK);
}

static void turn_into_error(struct completion *completion, enum verdict verdict)
{
	const struct verdict_row *row = verdict_row(verdict);

	completion->byte_count = 0;
	completion->vendor_error = verdict;
	completion->wc_flags = 0;
	completion->is_solicited = true;
	completion->is_silent = false;
	completion->status = completion->is_recv ? row->receive_status : row->send_status;
	if (completion->is_recv)
		completion->opcode = RNIC_WC_RECV;
}

/*
 * Makes errors of the completions that wait for one work queue of `qp`, from number `first` on: of
 * the first one for `verdict`, the others are flushed. Returns whether there was a first one.
 */
static bool fail_waiting(struct settle *settle, const struct qp *qp, bool is_recv, uint32_t first,
			 enum verdict verdict)
{
	bool was_found = false;

	assert(settle->queued - first <= settle->queued - settle->delivered);
	for (uint32_t i = first; i != settle->queued; i++) {
		struct completion *completion =
			&settle->waiting[i % SETTLE_COMPLETIONS_MAX].completion;

		if (completion->qp != qp || completion->is_recv != is_recv)
			continue;
		/* One that is an error already told of a failure that came to light earlier. */
		if (was_found || completion->status == RNIC_WC_SUCCESS)
			turn_into_error(completion, was_found ? VERDICT_FLUSHED : verdict);
		was_found = true;
	}
	return was_found;
}

static void note_failing(struct settle *settle, struct qp *qp)
{
	if (!list_is_linked(&qp->failures.node))
		list_add_tail(&settle->failing, &qp->failures.node);
}

/*
 * The memory batch's word that bytes did not reach client memory. The rest of the batch is still
 * under way, so the QP has to wait for its error.
 */
static void write_failed(void *context, void *owner, uint64_t tag, int error)
{
	struct engine *engine = context;
	struct settle *settle = &engine->settle;
	uint32_t first = tag_first(tag, settle->queued);
	bool was_found;
	struct qp *qp;

	(void)error; /* unmapped or gone: the same follows */
	engine->counters[COUNTER_MEMORY_ERRORS]++;
	if (tag_origin(tag) == SETTLE_RESPONSE) {
		qp = RNIC_CONTAINER_OF(owner, struct qp, requester);
		qp->failures.is_response_reported =
			fail_waiting(settle, qp, false, first, VERDICT_LOCAL_MEMORY_GONE);
		qp->failures.has_response = true;
	} else {
		bool is_send = tag_origin(tag) == SETTLE_SEND;

		qp = RNIC_CONTAINER_OF(owner, struct qp, responder);
		was_found = fail_waiting(settle, qp, true, first,
					 is_send ? VERDICT_MEMORY_GONE : VERDICT_FLUSHED);
		qp->failures.is_receive_at_fault = is_send && !was_found;
		qp->failures.request_psn = rnic_psn((uint32_t)tag);
		qp->failures.request_msn = tag_msn(tag);
		qp->failures.has_request = true;
	}
	note_failing(settle, qp);
}

void settle_init(struct engine *engine)
{
	struct settle *settle = &engine->settle;

	settle->queued = 0;
	settle->delivered = 0;
	settle->is_running = false;
	list_init(&settle->failing);
	memory_batch_init(&engine->writes, MEMORY_WRITE, write_failed, engine);
}

/* What is queued while this runs is delivered too: all payload is in place. */
static void deliver(struct engine *engine)
{
	struct settle *settle = &engine->settle;

	while (settle->delivered != settle->queued) {
		uint32_t i = settle->delivered++ % SETTLE_COMPLETIONS_MAX;
		const struct completion *completion = &settle->waiting[i].completion;

		if (completion->is_silent || cq_deliver(engine, settle->waiting[i].cq, completion))
			continue;
		if (completion->srq != NULL)
			srq_completion_lost(completion->srq);
		completion->qp->failures.is_overrun = true;
		note_failing(settle, completion->qp);
	}
}

static void act_on_failures(struct engine *engine, struct qp *qp)
{
	struct settle_failures failures = qp->failures;

	list_remove(&qp->failures.node);
	qp->failures = (struct settle_failures){0};
	list_init(&qp->failures.node);
	if (failures.is_last_received)
		engine->config.sink->async_event(engine->config.sink_context,
						 RNIC_EVENT_QP_LAST_WQE_REACHED, qp);
	if (failures.has_request)
		responder_write_failed(engine, qp, failures.request_psn, failures.request_msn,
				       failures.is_receive_at_fault);
	if (failures.has_response)
		requester_write_failed(engine, qp, failures.is_response_reported);
	if (failures.is_overrun && qp->state != RNIC_QP_STATE_ERR) {
		engine->config.sink->async_event(engine->config.sink_context, RNIC_EVENT_QP_FATAL,
						 qp);
		qp_enter_error(qp, VERDICT_CQ_OVERRUN);
	}
}

void settle_run(struct engine *engine)
{
	struct settle *settle = &engine->settle;

	if (settle->is_running)
		return;
	settle->is_running = true;
	memory_batch_flush(&engine->writes);
	deliver(engine);
	while (!list_is_empty(&settle->failing)) {
		struct qp *qp = list_first_entry(&settle->failing, struct qp, failures.node);

		act_on_failures(engine, qp);
		deliver(engine);
	}
	settle->is_running = false;
}

void settle_completion(struct engine *engine, struct cq *cq, const struct completion *completion)
{
	struct settle *settle = &engine->settle;
	uint32_t i = settle->queued++ % SETTLE_COMPLETIONS_MAX;
	bool is_full = settle->queued - settle->delivered == SETTLE_COMPLETIONS_MAX;

	settle->waiting[i].cq = cq;
	settle->waiting[i].completion = *completion;
	if (settle->is_running && is_full)
		deliver(engine);
	else if (is_full || memory_batch_is_empty(&engine->writes))
		settle_run(engine);
}

void settle_last_receive(struct engine *engine, struct qp *qp)
{
	qp->failures.is_last_received = true;
	note_failing(&engine->settle, qp);
	if (memory_batch_is_empty(&engine->writes))
		settle_run(engine);
}

/*
 * Bytes of a QP must not be seen before those that came earlier: programs poll the last byte of a
 * WRITE, or a flag written behind it, which may lie in memory of another kind.
 */
static bool must_settle_first(const struct engine *engine, const struct memory_transfer *transfer,
			      const void *owner)
{
	return memory_batch_is_full(&engine->writes) ||
	       (transfer->region->direct && memory_batch_has(&engine->writes, owner));
}

int settle_write(struct engine *engine, struct qp *qp, const struct memory_transfer *transfer,
		 enum settle_origin origin, struct rnic_psn psn)
{
	void *owner = origin == SETTLE_RESPONSE ? (void *)&qp->requester : (void *)&qp->responder;

	if (must_settle_first(engine, transfer, owner))
		settle_run(engine);
	if (qp->state == RNIC_QP_STATE_ERR)
		return 0;
	return memory_batch_add(&engine->writes, transfer, owner,
				tag_make(origin, psn, qp->responder.msn, engine->settle.queued));
}
