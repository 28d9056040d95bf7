/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/delayed_acknowledgement.h"

#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/acknowledgement.h"
#include "proto/wire/gid.h"

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

/*
 * No request came in time. A new ping-pong must last twice as long as the one before, until a wait
 * pays.
 */
static void note_empty_wait(struct delayed_acknowledgement *delayed)
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

/* Packets of a device to itself cost no send. */
static bool is_peer_own(const struct qp *qp)
{
	const struct rnic_path *path = &qp->attributes.path;

	return key_table_find(&qp->engine->qps, qp->attributes.dest_qpn) != NULL &&
	       rnic_gid_equal(&path->dest_gid, &qp->engine->gids[path->source_gid_index]);
}

/* Without credits the peer sends nothing that a request could answer. */
static bool only_tells_of_credits(const struct qp *qp)
{
	return rnic_psn_equal(qp->responder.acknowledge_psn, qp->delayed_acknowledgement.sent_psn);
}

bool delayed_acknowledgement_try_wait(struct qp *qp)
{
	struct delayed_acknowledgement *delayed = &qp->delayed_acknowledgement;

	if (!is_ping_pong(delayed) || acknowledgement_owes_nak(&qp->responder) ||
	    qp->state != RNIC_QP_STATE_RTS || only_tells_of_credits(qp) || is_peer_own(qp))
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

	if (delayed->sent_ns != 0 && only_tells_of_credits(qp))
		return;
	if (delayed->sent_ns != 0)
		delayed->replies = 0;
	delayed->sent_ns = qp->engine->now_ns;
}

void delayed_acknowledgement_sent(struct qp *qp)
{
	struct delayed_acknowledgement *delayed = &qp->delayed_acknowledgement;

	if (is_ping_pong(delayed) && delayed->stage == ACKNOWLEDGEMENT_DUE)
		note_ride(delayed);
	else
		note_lone_ack(qp);
	delayed->sent_psn = qp->responder.acknowledge_psn;
	delayed->stage = ACKNOWLEDGEMENT_AT_ONCE;
	list_remove(&delayed->node);
}

/* The wait is over: the ACK leaves before what others have to send. */
static void end_wait(struct qp *qp)
{
	struct delayed_acknowledgement *delayed = &qp->delayed_acknowledgement;

	delayed->stage = ACKNOWLEDGEMENT_DUE;
	list_remove(&delayed->node);
	ready_list_add_first(qp);
}

void delayed_acknowledgement_was_missed(struct qp *qp)
{
	struct delayed_acknowledgement *delayed = &qp->delayed_acknowledgement;

	if (delayed->stage == ACKNOWLEDGEMENT_AT_ONCE) {
		delayed->replies = 0;
		return;
	}
	note_empty_wait(delayed);
	end_wait(qp);
}

void delayed_acknowledgement_forget(struct qp *qp)
{
	list_remove(&qp->delayed_acknowledgement.node);
	qp->delayed_acknowledgement = (struct delayed_acknowledgement){0};
}

static struct qp *first_waiting(const struct engine *engine)
{
	return list_first_entry(&engine->delayed_acknowledgements, struct qp,
				delayed_acknowledgement.node);
}

uint64_t delayed_acknowledgement_next_ns(const struct engine *engine)
{
	return list_is_empty(&engine->delayed_acknowledgements)
		       ? UINT64_MAX
		       : first_waiting(engine)->delayed_acknowledgement.due_ns;
}

static void end_first_wait(struct engine *engine, bool none_came)
{
	struct qp *qp = first_waiting(engine);

	if (none_came && qp->delayed_acknowledgement.stage == ACKNOWLEDGEMENT_WAITS)
		note_empty_wait(&qp->delayed_acknowledgement);
	end_wait(qp);
}

void delayed_acknowledgement_expire(struct engine *engine)
{
	while (delayed_acknowledgement_next_ns(engine) <= engine->now_ns)
		end_first_wait(engine, true);
}

void delayed_acknowledgement_end_waits(struct engine *engine, bool none_came)
{
	while (!list_is_empty(&engine->delayed_acknowledgements))
		end_first_wait(engine, none_came);
}
