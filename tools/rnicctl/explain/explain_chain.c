/* SPDX-License-Identifier: MIT */
/* The chain of what happened at both ends. */
#include "tools/rnicctl/explain/explain_inquiry.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 512 /* of one explanation */

struct chain {
	struct explanation_step steps[ROWS_MAX];
	size_t count;
};

/* A message of the connection, also of the time before the listener had a queue pair for it. */
static bool is_message_of(const struct end *end, const struct rnic_show_record *row)
{
	const struct rnic_show_record *ring = end_first_of(end->evidence, end->qpn);

	if (row->qpn != 0)
		return row->qpn == end->qpn;
	return row->client_id != 0 && ring != NULL && ring->client_id == row->client_id &&
	       row->peer_qpn != 0 && row->peer_qpn == end->peer_qpn;
}

static bool is_step_of(const struct end *end, const struct rnic_show_record *row)
{
	switch ((enum rnic_record_event)row->event) {
	case RNIC_RECORD_CM_SENT:
	case RNIC_RECORD_CM_RECEIVED:
		return is_message_of(end, row);
	case RNIC_RECORD_CONNECTED:
		return row == end->connected;
	case RNIC_RECORD_QP_TOOK:
	case RNIC_RECORD_QP_ENDED:
		return row->psn == end->qpn;
	default:
		return row->qpn != 0 && end_has(end, row) && row->event != RNIC_RECORD_OWNER;
	}
}

static void chain_add(struct chain *chain, const struct inquiry *inquiry, const struct end *end)
{
	const int64_t error_us =
		inquiry->own.trouble != NULL ? end_age(&inquiry->own, inquiry->own.trouble) : 0;

	for (size_t i = 0; end->evidence != NULL && i < end->evidence->record_count; i++) {
		const struct rnic_show_record *row = &end->evidence->records[i];

		if ((!is_step_of(end, row) && row != inquiry->lead.row) || chain->count == ROWS_MAX)
			continue;
		chain->steps[chain->count++] = (struct explanation_step){
			.ms = (double)(end_age(end, row) - error_us) / EXPLAIN_US_PER_MS,
			.at_peer = end == &inquiry->peer,
			.is_undated = end->is_unaligned,
			.is_cause = row == inquiry->lead.row,
			.row = row,
		};
	}
}

/* Older ones first, undated ones last; rows of one moment stay in their order. */
static int compare_steps(const void *left, const void *right)
{
	const struct explanation_step *a = left, *b = right;

	if (a->is_undated != b->is_undated)
		return a->is_undated ? 1 : -1;
	if (a->ms != b->ms)
		return a->ms > b->ms ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

void explain_tell_chain(const struct inquiry *inquiry, struct explanation *explanation)
{
	static struct chain chain;
	size_t last;

	chain.count = 0;
	chain_add(&chain, inquiry, &inquiry->own);
	/* One daemon with both ends has each row once. */
	chain_add(&chain, inquiry, &inquiry->peer);
	qsort(chain.steps, chain.count, sizeof(chain.steps[0]), compare_steps);
	explanation->step_count = chain.count < EXPLAIN_STEPS_MAX ? chain.count : EXPLAIN_STEPS_MAX;
	explanation->left_out = chain.count - explanation->step_count;
	last = explanation->left_out > 0 ? EXPLAIN_KEPT_FIRST : explanation->step_count;
	memcpy(explanation->steps, chain.steps, last * sizeof(chain.steps[0]));
	memcpy(explanation->steps + last, chain.steps + last + explanation->left_out,
	       (explanation->step_count - last) * sizeof(chain.steps[0]));
}
