/* SPDX-License-Identifier: MIT */
#include "engine/reliability/delayed_acknowledgement.h"

#include "engine/qp_state.h"
#include "engine/ready_list.h"
#include "engine/reliability/acknowledgement.h"

/* Of a new connection `least_replies` is 0. */
static uint8_t replies_needed(const struct delayed_acknowledgement *delayed)
{
	return delayed->least_replies > LIMIT_ACK_REPLIES ? delayed->least_replies
							  : LIMIT_ACK_REPLIES;
}

static bool is_ping_pong(const struct delayed_acknowledgement *delayed)
{
	return delayed->replies >= replies_needed(delayed);
}

/* The ping-pong has to be seen anew, and the longer the more often a wait was in vain. */
static void note_vain_wait(struct delayed_acknowledgement *delayed)
{
	delayed->replies = 0;
	delayed->least_replies = (uint8_t)(2 * replies_needed(delayed));
	if (delayed->least_replies > LIMIT_ACK_REPLIES_MOST)
		delayed->least_replies = LIMIT_ACK_REPLIES_MOST;
}

static void begin_wait(struct qp *qp)
{
	struct engine *engine = qp->engine;
	struct delayed_acknowledgement *delayed = &qp->delayed_acknowledgement;

	delayed->stage = ACKNOWLEDGEMENT_WAITS;
	delayed->due_ns = engine->now_ns + LIMIT_ACK_WAIT_NS;
	list_add_tail(&engine->delayed_acknowledgements, &delayed->node);
}

bool delayed_acknowledgement_waits(struct qp *qp)
{
	struct delayed_acknowledgement *delayed = &qp->delayed_acknowledgement;

	if (!is_ping_pong(delayed) || acknowledgement_owes_nak(&qp->responder) ||
	    qp->state != RNIC_QP_STATE_RTS)
		return false;
	if (delayed->stage == ACKNOWLEDGEMENT_AT_ONCE)
		begin_wait(qp);
	return delayed->stage != ACKNOWLEDGEMENT_DUE && qp->engine->now_ns < delayed->due_ns;
}

static void count_reply(struct delayed_acknowledgement *delayed, uint64_t now_ns)
{
	if (now_ns - delayed->sent_ns > LIMIT_ACK_WAIT_NS)
		delayed->replies = 0;
	else if (!is_ping_pong(delayed))
		delayed->replies++;
	delayed->sent_ns = 0;
}

void delayed_acknowledgement_request_sent(struct qp *qp)
{
	struct delayed_acknowledgement *delayed = &qp->delayed_acknowledgement;

	if (delayed->stage == ACKNOWLEDGEMENT_WAITS)
		delayed->stage = ACKNOWLEDGEMENT_FOLLOWS;
	else if (delayed->sent_ns != 0)
		count_reply(delayed, qp->engine->now_ns);
}

bool delayed_acknowledgement_follows(struct qp *qp)
{
	struct delayed_acknowledgement *delayed = &qp->delayed_acknowledgement;

	if (delayed->stage != ACKNOWLEDGEMENT_FOLLOWS)
		return false;
	delayed->stage = ACKNOWLEDGEMENT_DUE;
	return true;
}

/* The ACK has left behind a request. */
static void note_ride(struct delayed_acknowledgement *delayed)
{
	delayed->sent_ns = 0;
	if (delayed->least_replies > LIMIT_ACK_REPLIES)
		delayed->least_replies--;
}

/*
 * The ACK leaves alone. Of two in a row the earlier had no answer, unless the later one only tells
 * of new credits.
 */
static void note_lone_ack(struct qp *qp)
{
	struct delayed_acknowledgement *delayed = &qp->delayed_acknowledgement;
	const struct rnic_psn psn = qp->responder.acknowledge_psn;

	if (delayed->sent_ns != 0 && rnic_psn_equal(psn, delayed->sent_psn))
		return;
	if (delayed->sent_ns != 0)
		delayed->replies = 0;
	delayed->sent_ns = qp->engine->now_ns;
	delayed->sent_psn = psn;
}

void delayed_acknowledgement_sent(struct qp *qp)
{
	struct delayed_acknowledgement *delayed = &qp->delayed_acknowledgement;

	if (is_ping_pong(delayed) && delayed->stage == ACKNOWLEDGEMENT_DUE)
		note_ride(delayed);
	else
		note_lone_ack(qp);
	delayed->stage = ACKNOWLEDGEMENT_AT_ONCE;
	list_remove(&delayed->node);
}

void delayed_acknowledgement_was_missed(struct qp *qp)
{
	qp->delayed_acknowledgement.replies = 0;
}

void delayed_acknowledgement_forget(struct qp *qp)
{
	list_remove(&qp->delayed_acknowledgement.node);
	qp->delayed_acknowledgement = (struct delayed_acknowledgement){0};
}

uint64_t delayed_acknowledgement_next_ns(const struct engine *engine)
{
	const struct list *waits = &engine->delayed_acknowledgements;

	return list_is_empty(waits)
		       ? UINT64_MAX
		       : list_first_entry(waits, const struct qp, delayed_acknowledgement.node)
				 ->delayed_acknowledgement.due_ns;
}

void delayed_acknowledgement_end_waits(struct engine *engine, uint64_t until_ns)
{
	while (delayed_acknowledgement_next_ns(engine) <= until_ns &&
	       !list_is_empty(&engine->delayed_acknowledgements)) {
		struct qp *qp = list_first_entry(&engine->delayed_acknowledgements, struct qp,
						 delayed_acknowledgement.node);
		struct delayed_acknowledgement *delayed = &qp->delayed_acknowledgement;

		if (delayed->stage == ACKNOWLEDGEMENT_WAITS)
			note_vain_wait(delayed);
		delayed->stage = ACKNOWLEDGEMENT_DUE;
		list_remove(&delayed->node);
		ready_list_add(qp);
	}
}
