/* SPDX-License-Identifier: MIT */
#include "daemon/device/queues/post_refusal.h"

#include "daemon/device/queues/cqe_delivery.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_owner.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/base/causes.h"
#include "proto/shm/ring.h"

#include <inttypes.h>
#include <stdio.h>

/* One side of a queue pair, as its client left it. */
struct refused_side {
	const char *call;
	uint64_t word;
	const _Atomic uint32_t *producer;
	uint32_t depth;
	bool is_send;
};

static struct refused_side side_of(const struct session_qp *qp, bool is_send)
{
	const struct rnic_qp_refusals *refusals =
		&session_region(qp->session)->refusals[qp->handle.slot];
	const struct rnic_qp_capacities *capacities = &qp->qp->capacities;

	return (struct refused_side){
		.call = is_send ? "ibv_post_send" : "ibv_post_recv",
		.word = atomic_load_explicit(is_send ? &refusals->send : &refusals->recv,
					     memory_order_relaxed),
		.producer = is_send ? qp->send_producer : qp->recv.producer,
		.depth = is_send ? capacities->max_send_wr : capacities->max_recv_wr,
		.is_send = is_send,
	};
}

/* Whether there is a refusal that people are to hear of. */
static bool counts(const struct session_qp *qp, const struct refused_side *side)
{
	const uint8_t reason = RNIC_POST_REFUSAL_REASON(side->word);

	if (reason == RNIC_POST_ACCEPTED || reason >= RNIC_POST_REFUSAL_COUNT ||
	    RNIC_POST_REFUSAL_GENERATION(side->word) != qp->handle.generation)
		return false;
	return reason != RNIC_POST_REFUSED_FULL ||
	       (uint16_t)rnic_word_load(side->producer) == RNIC_POST_REFUSAL_PRODUCER(side->word);
}

static void write_state(const struct refused_side *side, char *text, uint32_t text_bytes)
{
	const uint8_t state = RNIC_POST_REFUSAL_STATE(side->word);
	const char *steps = state == RNIC_QP_STATE_RESET  ? "INIT, RTR and RTS"
			    : state == RNIC_QP_STATE_INIT ? "RTR and RTS"
							  : "RTS";

	if (side->is_send)
		snprintf(text, text_bytes,
			 "%s: EINVAL, the queue pair was in %s and sends from RTS on: "
			 "ibv_modify_qp to %s comes first",
			 side->call, qp_name_of_state(state), steps);
	else
		snprintf(text, text_bytes,
			 "%s: EINVAL, the queue pair was in %s and takes receives from INIT on: "
			 "ibv_modify_qp to INIT comes first",
			 side->call, qp_name_of_state(state));
}

/* Why the requests that fill the send queue do not leave it. */
static void write_full_sends(const struct session_qp *qp, const struct refused_side *side,
			     char *text, uint32_t text_bytes)
{
	uint32_t armed;
	const uint32_t unpolled = qp->send_cq != NULL ? cqe_delivery_peek(qp->send_cq, &armed) : 0;
	char end[96];

	if (!wqe_fetch_any_signaled(qp, side->depth))
		snprintf(end, sizeof(end),
			 "no request in it is signaled (IBV_SEND_SIGNALED), so that no poll frees "
			 "a place");
	else if (unpolled > 0)
		snprintf(end, sizeof(end), "%" PRIu32 " completions were not polled (ibv_poll_cq)",
			 unpolled);
	else
		snprintf(end, sizeof(end),
			 "its requests were not done yet: a place is free after ibv_poll_cq");
	snprintf(text, text_bytes, "%s: ENOMEM, the send queue of %" PRIu32 " was full; %s",
		 side->call, side->depth, end);
}

static void write_refusal(const struct session_qp *qp, const struct refused_side *side, char *text,
			  uint32_t text_bytes)
{
	switch ((enum rnic_post_refusal)RNIC_POST_REFUSAL_REASON(side->word)) {
	case RNIC_POST_REFUSED_STATE:
		write_state(side, text, text_bytes);
		break;
	case RNIC_POST_REFUSED_FULL:
		if (side->is_send)
			write_full_sends(qp, side, text, text_bytes);
		else
			snprintf(text, text_bytes,
				 "%s: ENOMEM, the receive queue of %" PRIu32 " was full",
				 side->call, side->depth);
		break;
	case RNIC_POST_REFUSED_SGES:
		snprintf(text, text_bytes,
			 "%s: EINVAL, more scatter/gather elements than the queue pair has, or "
			 "some for an operation without data",
			 side->call);
		break;
	case RNIC_POST_REFUSED_LENGTH:
		snprintf(text, text_bytes,
			 "%s: EINVAL, the length is more than max_inline_data (%" PRIu32
			 ") or a message may have, or wrong for the operation",
			 side->call, qp->qp->capacities.max_inline_bytes);
		break;
	case RNIC_POST_REFUSED_OPERATION:
		snprintf(text, text_bytes, "%s: a queue pair of this type has no such operation",
			 side->call);
		break;
	case RNIC_POST_ACCEPTED:
	case RNIC_POST_REFUSAL_COUNT:
		break;
	}
}

void post_refusal_text(const struct session_qp *qp, char *text, uint32_t text_bytes)
{
	text[0] = '\0';
	if (rnic_word_load(&session_region(qp->session)->has_refusals.value) == 0)
		return;
	for (int turn = 0; turn < 2 && text[0] == '\0'; turn++) {
		const struct refused_side side = side_of(qp, turn == 0);

		if (side.producer != NULL && counts(qp, &side))
			write_refusal(qp, &side, text, text_bytes);
	}
}

bool post_refusal_note(const struct session_qp *qp)
{
	const struct session *session = qp->session;
	char subject[RNIC_TROUBLE_SUBJECT_BYTES];
	char reason[RNIC_CTL_TEXT_BYTES];

	post_refusal_text(qp, reason, sizeof(reason));
	if (reason[0] == '\0')
		return false;
	snprintf(subject, sizeof(subject), "queue pair 0x%06" PRIx32, qp->qp->qpn);
	session->set->owner->note_trouble(session->connection, RNIC_CAUSE_REFUSED, subject, reason);
	return true;
}

void post_refusal_note_all(const struct session *session)
{
	const struct session_qp *qp;
	uint32_t noted = 0;

	if (rnic_word_load(&session_region(session)->has_refusals.value) == 0)
		return;
	for (uint32_t slot = 0;
	     noted < POST_REFUSAL_NOTES && (qp = handle_table_next(&session->qps, &slot)) != NULL;)
		noted += post_refusal_note(qp);
}
