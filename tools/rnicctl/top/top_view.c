/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/top/top_view.h"

#include <stdlib.h>
#include <string.h>

#define CELL(heading, key)                                                                         \
	{                                                                                          \
		heading, TOP_FROM_ROW, key, TOP_RATE_COUNT                                         \
	}
#define RATE(heading, rate)                                                                        \
	{                                                                                          \
		heading, TOP_FROM_RATES, NULL, rate                                                \
	}
#define PROGRAM                                                                                    \
	{                                                                                          \
		"PROGRAM", TOP_FROM_CLIENT, NULL, TOP_RATE_COUNT                                   \
	}

const struct top_view top_views[TOP_VIEW_COUNT] = {
	{"clients",
	 RNIC_SHOW_CLIENTS,
	 {CELL("CLIENT", "client"), CELL("PID", "pid"), CELL("UID", "uid"), CELL("QPS", "qps"),
	  CELL("MRS", "mrs"), CELL("REGISTERED", "registered_bytes"),
	  RATE("TX MBIT/S", TOP_RATE_SENT_MBIT), RATE("RX MBIT/S", TOP_RATE_RECEIVED_MBIT),
	  RATE("PACKETS/S", TOP_RATE_PACKETS), RATE("DONE/S", TOP_RATE_COMPLETIONS),
	  RATE("RESENT/S", TOP_RATE_RESENT), CELL("PROGRAM", "program")},
	 {6, false}},
	{"qps",
	 RNIC_SHOW_QPS,
	 {CELL("QPN", "qpn"), CELL("TYPE", "type"), CELL("STATE", "state"),
	  CELL("PEER", "peer_gid"), CELL("PEER QPN", "peer_qpn"),
	  RATE("TX MBIT/S", TOP_RATE_SENT_MBIT), RATE("RX MBIT/S", TOP_RATE_RECEIVED_MBIT),
	  RATE("DONE/S", TOP_RATE_COMPLETIONS), CELL("IN FLIGHT", "packets_in_flight"),
	  CELL("SENDS", "send_posted"), CELL("RECVS", "recv_posted"),
	  CELL("RESENT", "retransmitted_packets"), CELL("TIMEOUTS", "timeouts"),
	  CELL("RNR", "rnr_naks_received"), PROGRAM},
	 {5, false}},
	{"paths",
	 RNIC_SHOW_PATHS,
	 {CELL("PEER", "peer_gid"), CELL("QPS", "qps"), CELL("LEAST US", "least_round_trip_us"),
	  CELL("SMOOTHED US", "smoothed_round_trip_us"), CELL("MBIT/S", "rate_mbit_per_s"),
	  CELL("WINDOW", "window_bytes"), CELL("IN FLIGHT", "in_flight_bytes"),
	  CELL("LIMIT", "limit"), CELL("CLIENT", "client"), PROGRAM},
	 {4, false}},
	{"faults",
	 RNIC_SHOW_FAULTS,
	 {CELL("RULE", "rule"), CELL("HITS", "hits"), CELL("UID", "uid"),
	  CELL("PACKETS", "packets"), CELL("TEXT", "text")},
	 {1, false}},
	{"troubles",
	 RNIC_SHOW_TROUBLES,
	 {CELL("MS AGO", "age_ms"), CELL("PID", "pid"), CELL("PROGRAM", "program"),
	  CELL("WHAT", "subject"), CELL("WHY", "reason")},
	 {0, true}},
};

size_t top_view_column_count(const struct top_view *view)
{
	size_t count = 0;

	while (count < TOP_COLUMNS_MAX && view->columns[count].heading)
		count++;
	return count;
}

static const struct column *row_column_of(const struct top_view *view, size_t column)
{
	const char *key = view->columns[column].key;

	return key ? row_kind_column(row_kind_of(view->kind), key) : NULL;
}

bool top_column_is_number(const struct top_view *view, size_t column)
{
	const struct column *of_row = row_column_of(view, column);

	return of_row ? row_cell_is_number(of_row) : view->columns[column].source == TOP_FROM_RATES;
}

/* ---- order ---- */

struct top_sorting {
	const struct top_view *view;
	const struct column *of_row;
	const struct top_order *order;
};

/* Less than 0: `a` comes first. */
static int compare_numbers(const struct top_sorting *sorting, const struct top_row *a,
			   const struct top_row *b)
{
	const struct top_column *column = &sorting->view->columns[sorting->order->column];
	bool is_rate = column->source == TOP_FROM_RATES;
	double left = is_rate ? a->rates[column->rate]
			      : (double)row_cell_number(sorting->of_row, a->cells);
	double right = is_rate ? b->rates[column->rate]
			       : (double)row_cell_number(sorting->of_row, b->cells);

	return (left < right) - (left > right);
}

static int compare_texts(const struct top_sorting *sorting, const struct top_row *a,
			 const struct top_row *b)
{
	char left[ROW_CELL_BYTES], right[ROW_CELL_BYTES];

	top_view_cell(sorting->view, sorting->order->column, a, true, left);
	top_view_cell(sorting->view, sorting->order->column, b, true, right);
	return strcmp(left, right);
}

static int compare_lines(const void *a, const void *b, void *context)
{
	const struct top_sorting *sorting = context;
	const struct top_row *left = a, *right = b;
	int result = top_column_is_number(sorting->view, sorting->order->column)
			     ? compare_numbers(sorting, left, right)
			     : compare_texts(sorting, left, right);

	if (result == 0) /* as the daemon has them */
		return (left->cells > right->cells) - (left->cells < right->cells);
	return sorting->order->is_reversed ? -result : result;
}

void top_view_sort(const struct top_view *view, const struct top_order *order,
		   struct top_row *lines, size_t count)
{
	struct top_sorting sorting = {view, row_column_of(view, order->column), order};

	if (count > 0)
		qsort_r(lines, count, sizeof(*lines), compare_lines, &sorting);
}

/* ---- text ---- */

static void rate_text(double rate, bool has_rates, char text[ROW_CELL_BYTES])
{
	if (!has_rates)
		snprintf(text, ROW_CELL_BYTES, "-");
	else
		snprintf(text, ROW_CELL_BYTES, rate > 0 && rate < 100 ? "%.1f" : "%.0f", rate);
}

void top_view_cell(const struct top_view *view, size_t column, const struct top_row *line,
		   bool has_rates, char text[ROW_CELL_BYTES])
{
	const struct top_column *wanted = &view->columns[column];
	static const struct column program = {.type = COLUMN_TEXT, .bytes = RNIC_CTL_NAME_BYTES};

	switch (wanted->source) {
	case TOP_FROM_ROW:
		row_cell_text(row_column_of(view, column), line->cells, text);
		break;
	case TOP_FROM_RATES:
		rate_text(line->rates[wanted->rate], has_rates, text);
		break;
	case TOP_FROM_CLIENT:
		row_cell_text(&program, line->program, text);
		break;
	}
}
