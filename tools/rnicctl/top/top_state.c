/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/top/top_state.h"

#include "proto/base/time_units.h"
#include "tools/rnicctl/row_kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void top_rows_drop(struct top_rows *rows)
{
	free(rows->rows);
	*rows = (struct top_rows){0};
}

static void top_rows_keep(struct top_rows *before, struct top_rows *now)
{
	top_rows_drop(before);
	*before = *now;
	*now = (struct top_rows){0};
}

static int top_rows_read(struct top_rows *rows, struct admin_link *link, uint32_t kind)
{
	top_rows_drop(rows);
	return admin_link_show(link, kind, row_kind_of(kind)->row_bytes, &rows->rows, &rows->count);
}

/* ---- rates ---- */

/* A count that is smaller than before began anew. */
static double growth(uint64_t now, uint64_t before, double seconds)
{
	return (double)(now >= before ? now - before : now) / seconds;
}

static int qp_compare(const void *a, const void *b)
{
	const struct rnic_show_qp *left = a, *right = b;

	if (left->qpn != right->qpn)
		return left->qpn < right->qpn ? -1 : 1;
	return (left->client_id > right->client_id) - (left->client_id < right->client_id);
}

static void qp_rates(const struct rnic_show_qp *now, const struct rnic_show_qp *before,
		     double seconds, double rates[TOP_RATE_COUNT])
{
	static const struct rnic_show_qp none;
	const double mbit_per_byte = 8e-6;

	if (!before)
		before = &none;
	rates[TOP_RATE_SENT_MBIT] =
		growth(now->sent_bytes, before->sent_bytes, seconds) * mbit_per_byte;
	rates[TOP_RATE_RECEIVED_MBIT] =
		growth(now->received_bytes, before->received_bytes, seconds) * mbit_per_byte;
	rates[TOP_RATE_PACKETS] = growth(now->sent_packets, before->sent_packets, seconds) +
				  growth(now->received_packets, before->received_packets, seconds);
	rates[TOP_RATE_COMPLETIONS] = growth(now->completions, before->completions, seconds);
	rates[TOP_RATE_RESENT] =
		growth(now->retransmitted_packets, before->retransmitted_packets, seconds);
}

static const struct rnic_show_qp *qp_before(const struct top_state *state,
					    const struct rnic_show_qp *qp)
{
	const struct top_rows *before = &state->qps_before;

	if (before->count == 0)
		return NULL;
	return bsearch(qp, before->rows, before->count, sizeof(*qp), qp_compare);
}

static uint64_t counter_value(const struct top_rows *counters, const char *name)
{
	const struct rnic_show_counter *rows = counters->rows;

	for (size_t i = 0; i < counters->count; i++)
		if (strncmp(rows[i].name, name, sizeof(rows[i].name)) == 0)
			return rows[i].value;
	return 0;
}

double top_state_counter_rate(const struct top_state *state, const char *name)
{
	if (state->seconds <= 0)
		return 0;
	return growth(counter_value(&state->counters, name),
		      counter_value(&state->counters_before, name), state->seconds);
}

/* ---- lines ---- */

/* The index of the client, or the count of clients. */
static size_t client_index(const struct top_state *state, uint32_t client_id)
{
	const struct rnic_show_client *clients = state->clients.rows;
	size_t i = 0;

	while (i < state->clients.count && clients[i].client_id != client_id)
		i++;
	return i;
}

static const char *program_of(const struct top_state *state, const struct column *client,
			      const void *cells)
{
	const struct rnic_show_client *clients = state->clients.rows;
	size_t i = client ? client_index(state, (uint32_t)row_cell_number(client, cells))
			  : state->clients.count;

	return i < state->clients.count ? clients[i].program : "";
}

/* Adds the rates of the queue pairs to their own lines, or to those of their clients. */
static void lines_add_rates(struct top_state *state, uint32_t kind)
{
	const struct rnic_show_qp *qps = state->qps.rows;

	for (size_t i = 0; i < state->qps.count; i++) {
		size_t line = kind == RNIC_SHOW_QPS ? i : client_index(state, qps[i].client_id);
		double rates[TOP_RATE_COUNT];
		if (line >= state->line_count)
			continue;
		qp_rates(&qps[i], qp_before(state, &qps[i]), state->seconds, rates);
		for (size_t rate = 0; rate < TOP_RATE_COUNT; rate++)
			state->lines[line].rates[rate] += rates[rate];
	}
}

static int lines_make(struct top_state *state, const struct row_kind *kind,
		      const struct top_rows *rows)
{
	const struct column *client = row_kind_column(kind, "client");

	free(state->lines);
	state->lines = calloc(rows->count + 1, sizeof(*state->lines));
	state->line_count = state->lines ? rows->count : 0;
	if (!state->lines)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count; i++) {
		state->lines[i].cells = (const uint8_t *)rows->rows + i * kind->row_bytes;
		state->lines[i].program = program_of(state, client, state->lines[i].cells);
	}
	if (state->seconds > 0 && (kind->kind == RNIC_SHOW_QPS || kind->kind == RNIC_SHOW_CLIENTS))
		lines_add_rates(state, kind->kind);
	return 0;
}

/* ---- reading ---- */

static struct top_rows *rows_of_kind(struct top_state *state, uint32_t kind)
{
	switch (kind) {
	case RNIC_SHOW_CLIENTS:
		return &state->clients;
	case RNIC_SHOW_QPS:
		return &state->qps;
	default:
		return &state->others;
	}
}

static int read_device(struct top_state *state, struct admin_link *link)
{
	struct top_rows rows = {0};
	int error = top_rows_read(&rows, link, RNIC_SHOW_DEVICE);

	if (!error && rows.count > 0)
		state->device = *(const struct rnic_show_device *)rows.rows;
	top_rows_drop(&rows);
	return error;
}

static int read_rows(struct top_state *state, struct admin_link *link)
{
	int error = read_device(state, link);

	if (!error)
		error = top_rows_read(&state->counters, link, RNIC_SHOW_COUNTERS);
	if (!error)
		error = top_rows_read(&state->clients, link, RNIC_SHOW_CLIENTS);
	if (!error)
		error = top_rows_read(&state->qps, link, RNIC_SHOW_QPS);
	if (!error && state->qps.count > 0)
		qsort(state->qps.rows, state->qps.count, sizeof(struct rnic_show_qp), qp_compare);
	return error;
}

int top_state_choose(struct top_state *state, struct admin_link *link, uint32_t kind)
{
	struct top_rows *rows = rows_of_kind(state, kind);
	int error = 0;

	if (rows == &state->others)
		error = top_rows_read(rows, link, kind);
	if (!error)
		error = lines_make(state, row_kind_of(kind), rows);
	if (error)
		top_state_fini(state);
	return error;
}

int top_state_read(struct top_state *state, struct admin_link *link, uint32_t kind, uint64_t now_ns)
{
	int error;

	state->seconds =
		state->read_ns == 0 ? 0 : (double)(now_ns - state->read_ns) / RNIC_NS_PER_SECOND;
	state->read_ns = now_ns;
	top_rows_keep(&state->qps_before, &state->qps);
	top_rows_keep(&state->counters_before, &state->counters);
	error = read_rows(state, link);
	if (error)
		top_state_fini(state);
	return error ? error : top_state_choose(state, link, kind);
}

void top_state_fini(struct top_state *state)
{
	top_rows_drop(&state->counters);
	top_rows_drop(&state->clients);
	top_rows_drop(&state->qps);
	top_rows_drop(&state->others);
	top_rows_drop(&state->counters_before);
	top_rows_drop(&state->qps_before);
	free(state->lines);
	*state = (struct top_state){.device = state->device};
}
