/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/credits.h"

#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/acknowledgement.h"
#include "lib/nic/engine/reliability/exact_credits.h"
#include "lib/nic/engine/reliability/retry_timer.h"
#include "proto/wire/peer_kind.h"
#include "proto/wire/syndrome.h"

/* --- requester ------------------------------------------------------------------------------- */

static bool takes_receive(const struct send_wqe *wqe)
{
	return wqe_operation(wqe)->may_solicit;
}

/* Whether the limit lets `started` messages be started. Counters wrap. */
static bool is_covered(const struct credits *credits, uint32_t started)
{
	return !credits->is_limited || (int32_t)(credits->limit - started) >= 0;
}

bool credits_is_probe(const struct qp *qp, const struct send_wqe *wqe, uint32_t index)
{
	const struct credits *credits = &qp->requester.credits;

	return index == 0 && takes_receive(wqe) && !is_covered(credits, credits->started + 1);
}

bool credits_try_start(struct engine *engine, struct qp *qp, const struct send_wqe *wqe,
		       uint32_t index)
{
	const struct requester *requester = &qp->requester;

	if (!takes_receive(wqe))
		return true;
	/* The rest of a message follows its probe when that is acknowledged. */
	if (index > 0)
		return !requester->credits.is_probing;
	if (!credits_is_probe(qp, wqe, index))
		return true;
	exact_credits_ask(qp);
	if (!rnic_psn_equal(requester->psn, requester->unacknowledged))
		return false;
	if (!requester->credits.may_probe)
		retry_timer_wait_for_credit(engine, qp);
	return requester->credits.may_probe;
}

void credits_sent(struct qp *qp, const struct send_wqe *wqe, uint32_t index)
{
	struct credits *credits = &qp->requester.credits;

	if (index != 0 || !takes_receive(wqe))
		return;
	credits->is_probing = credits_is_probe(qp, wqe, index);
	credits->started++;
}

void credits_acknowledged(struct qp *qp, const struct send_wqe *wqe, uint32_t end, uint32_t sent)
{
	struct credits *credits = &qp->requester.credits;

	credits->may_probe = false;
	if (credits->is_probing && credits->probes_passed < LIMIT_CREDIT_PROBES_PASSED)
		credits->probes_passed++;
	credits->is_probing = false;
	if (!takes_receive(wqe))
		return;
	if (sent == 0)
		credits->started++;
	if (end == wqe->packets)
		credits->acknowledged++;
}

void credits_rewound(struct qp *qp)
{
	const struct send_queue *queue = &qp->send_queue;
	struct credits *credits = &qp->requester.credits;
	const struct send_wqe *oldest = send_queue_at(queue, queue->retired);

	credits->is_probing = false;
	credits->started = credits->acknowledged;
	if (queue->retired != queue->next && takes_receive(oldest) &&
	    wqe_packet_index(oldest, qp->requester.unacknowledged) != 0)
		credits->started++;
}

/* A peer that took message after message without a credit says 0 whatever it has posted. */
static bool says_nothing(const struct credits *credits, uint8_t code)
{
	return code == RNIC_CREDITS_NOT_CARRIED ||
	       (code == 0 && credits->probes_passed == LIMIT_CREDIT_PROBES_PASSED);
}

static bool try_raise(struct credits *credits, uint32_t limit)
{
	if (credits->is_limited && (int32_t)(limit - credits->limit) <= 0)
		return false;
	credits->is_limited = true;
	credits->limit = limit;
	return true;
}

static void go_on(struct engine *engine, struct qp *qp)
{
	if (qp->retry.running == RETRY_TIMER_CREDIT)
		retry_timer_stop(engine, qp);
	ready_list_add(qp);
}

void credits_learn(struct engine *engine, struct qp *qp, uint8_t syndrome)
{
	uint8_t code = rnic_syndrome_value(syndrome);
	struct credits *credits = &qp->requester.credits;
	uint32_t limit = credits->acknowledged + rnic_credits_from_code(code);

	if (rnic_syndrome_kind(syndrome) != RNIC_SYNDROME_ACK)
		return;
	credits->is_known = true;
	if (code != 0)
		credits->probes_passed = 0;
	if (says_nothing(credits, code)) {
		credits->is_limited = false;
		credits->is_probing = false;
	} else if (!try_raise(credits, limit)) {
		return;
	}
	go_on(engine, qp);
}

void credits_learn_number(struct qp *qp, uint32_t entries)
{
	struct credits *credits = &qp->requester.credits;

	if (credits->is_limited && try_raise(credits, credits->acknowledged + entries))
		go_on(qp->engine, qp);
}

void credits_refused(struct qp *qp)
{
	struct credits *credits = &qp->requester.credits;
	const bool was_disbelieved = credits->probes_passed == LIMIT_CREDIT_PROBES_PASSED;

	credits->probes_passed = 0;
	if (credits->is_known && !was_disbelieved)
		return;
	credits->is_limited = true;
	credits->limit = credits->acknowledged;
	credits->may_probe = true;
}

/* --- responder ------------------------------------------------------------------------------- */

/* WQEs posted and not used up; the WQE of the message under way still counts, as that message is
 * not yet counted as received. */
static uint32_t entries_posted(const struct engine *engine, const struct qp *qp)
{
	const struct recv_queue *queue = &qp->recv_queue;

	return queue->pushed - queue->taken + qp->responder.has_receive +
	       engine->config.sink->posted(engine->config.sink_context, queue);
}

uint8_t credits_syndrome(struct engine *engine, struct qp *qp)
{
	const struct engine_sink *sink = engine->config.sink;
	bool was_none = qp->responder.has_told_no_credits;
	uint32_t entries;
	uint8_t code;

	/*
	 * WQEs of an SRQ are for the QP that comes first (IBTA 1.4, 9.7.7.2). A QP in error has
	 * none to wait for.
	 */
	if (sink->posted == NULL || qp_shares_receives(qp) || qp->state == RNIC_QP_STATE_ERR)
		return ACKNOWLEDGEMENT_SYNDROME;
	entries = entries_posted(engine, qp);
	code = rnic_credits_to_code(entries);
	if (rnic_credits_from_code(code) < entries)
		exact_credits_owe(qp, entries);
	qp->responder.has_told_no_credits = code == 0;
	if (code == 0 && !was_none)
		sink->watch(engine->config.sink_context, &qp->recv_queue);
	return rnic_syndrome_make(RNIC_SYNDROME_ACK, code);
}

bool credits_posted(struct engine *engine, struct qp *qp)
{
	struct responder *responder = &qp->responder;

	if (!responder->has_told_no_credits)
		return true;
	if (entries_posted(engine, qp) == 0)
		return false;
	responder->has_told_no_credits = false;
	/* Linux rxe ignores credits, and an ACK at the wrong time breaks it. */
	if (qp->peer_kind != RNIC_PEER_KIND_RXE)
		acknowledgement_queue_last(qp);
	return true;
}
