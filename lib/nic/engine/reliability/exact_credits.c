/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/exact_credits.h"

#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/reliability/holes.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "proto/base/be.h"
#include "proto/wire/peer_kind.h"

#define NUMBER_OFFSET 2
#define NUMBER_MAX    0xffffffu

/* Codes of fewer credits are exact (IBTA 1.4, table 46). */
#define ROUNDED_LEAST 4

void exact_credits_ask(struct qp *qp)
{
	struct credits *credits = &qp->requester.credits;
	const uint64_t now_ns = qp->engine->now_ns;

	if (credits->is_exact || qp->peer_kind != RNIC_PEER_KIND_RNICD ||
	    !path_model_is_long(&qp->peer_window->model) ||
	    credits->limit - credits->acknowledged < ROUNDED_LEAST ||
	    (credits->asked_ns != 0 && now_ns - credits->asked_ns < LIMIT_CREDITS_ASK_NS))
		return;
	credits->asked_ns = now_ns;
	qp->requester.repair.owes |= REPAIR_OWES_QUESTION;
}

void exact_credits_build_question(struct qp *qp, struct packet_builder *out)
{
	static const uint8_t question[HOLES_PREFIX_BYTES] = {HOLES_KIND_CREDITS_QUESTION, 0};

	holes_start_packet(qp, out, question, sizeof(question), qp->requester.unacknowledged);
}

void exact_credits_owe(struct qp *qp, uint32_t entries)
{
	struct exact_credits *exact = &qp->responder.exact_credits;
	const uint64_t now_ns = qp->engine->now_ns;

	if (!exact->is_wanted || exact->is_owed || now_ns - exact->told_ns < LIMIT_HOLES_NS)
		return;
	exact->is_owed = true;
	exact->told_ns = now_ns;
	exact->bytes[0] = HOLES_KIND_CREDITS;
	rnic_be24_write(exact->bytes + NUMBER_OFFSET, entries < NUMBER_MAX ? entries : NUMBER_MAX);
	exact->psn = rnic_psn_add(qp->responder.expected_psn, -1);
}

void exact_credits_build_answer(struct qp *qp, struct packet_builder *out)
{
	struct exact_credits *exact = &qp->responder.exact_credits;

	exact->is_owed = false;
	holes_start_packet(qp, out, exact->bytes, sizeof(exact->bytes), exact->psn);
}

void exact_credits_take_question(struct qp *qp)
{
	qp->responder.exact_credits.is_wanted = true;
}

/*
 * An answer that an ACK has overtaken counts receives that messages have taken since; one that has
 * overtaken its ACK counts too few, which is no harm.
 */
bool exact_credits_read(struct qp *qp, const struct rnic_packet *packet, uint32_t *entries)
{
	struct requester *requester = &qp->requester;

	if (packet->payload_bytes < EXACT_CREDITS_BYTES)
		return false;
	requester->credits.is_exact = true;
	*entries = rnic_be24_read(packet->payload + NUMBER_OFFSET);
	return rnic_psn_distance(packet->psn, requester->unacknowledged) >= -1;
}
