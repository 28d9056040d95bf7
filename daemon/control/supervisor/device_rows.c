/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/device_rows.h"

#include "daemon/control/supervisor/device_link.h"
#include "daemon/control/supervisor/device_set.h"
#include "daemon/shared/link/process_link.h"

#include <errno.h>
#include <string.h>

#define CURSOR_LANE_SHIFT 24
#define CURSOR_ROW_MASK	  ((UINT32_C(1) << CURSOR_LANE_SHIFT) - 1)
#define CURSOR_LANE_BASE  (RNIC_LANE_FIRST - 1) /* the first lane counts as 1: no cursor is 0 */

static uint32_t rows_cursor_of(uint32_t lane, uint32_t row)
{
	return (lane - CURSOR_LANE_BASE) << CURSOR_LANE_SHIFT | row;
}

static uint32_t rows_lane_of(uint32_t cursor)
{
	return (cursor >> CURSOR_LANE_SHIFT) + CURSOR_LANE_BASE;
}

/*
 * Returns the time until which the listing waits for the rows from `row` on. A process may give
 * many answers, and each of them slowly: the time for all its answers is bounded, too.
 */
static uint64_t rows_deadline_ns(const struct device_child *process,
				 const struct device_listing *listing, uint32_t row)
{
	const uint64_t now_ns = process->common->now_ns;
	const uint64_t answer_by_ns = now_ns + DEVICE_ROWS_WAIT_NS;
	struct show_patience *patience = listing->patience;

	if (row == 0 || patience->lane != process->lane)
		*patience = (struct show_patience){process->lane, now_ns + DEVICE_ROWS_ALL_NS};
	return patience->until_ns < answer_by_ns ? patience->until_ns : answer_by_ns;
}

/* Sends the request. -EINPROGRESS: it is under way; else the process is to be skipped. */
static int rows_ask(struct device_child *process, const struct device_listing *listing,
		    uint32_t cursor, uint64_t until_ns)
{
	struct device_common *common = process->common;
	const struct rnic_process_rows request = {
		.request_id = ++common->next_request_id,
		.kind = listing->kind,
		.cursor = cursor,
	};
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_ROWS,
		.payload = &request,
		.payload_bytes = sizeof(request),
	};

	if (process->rows.is_silent || common->now_ns >= until_ns ||
	    device_link_send(process, &letter) != 0)
		return -ETIMEDOUT;
	pending_query_ask(&process->rows, listing->asker, request.request_id, listing->kind, cursor,
			  until_ns);
	return -EINPROGRESS;
}

/* Sends a request whose turn has not come. */
static void rows_ask_early(struct device_child *process, const struct device_listing *listing,
			   uint32_t cursor, uint64_t until_ns)
{
	if (rows_ask(process, listing, cursor, until_ns) == -EINPROGRESS)
		process->rows.is_early = true;
}

/* Returns the first process, from `lane` on, that may have rows for the viewer. */
static struct device_child *rows_process(const struct device_set *set,
					 const struct device_listing *listing, uint32_t lane)
{
	struct device_child *process;

	while ((process = device_set_next(set, lane)) != NULL &&
	       !listing->may_have_rows(listing->context, process))
		lane = process->lane + 1u;
	return process;
}

/*
 * Asks the processes from `lane` on for their first rows, before their turn comes. They answer at
 * the same time, and those that do not answer share one deadline.
 */
static void rows_ask_ahead(const struct device_set *set, const struct device_listing *listing,
			   uint32_t lane)
{
	struct device_child *process;

	for (uint32_t i = 0; i < listing->ahead; i++) {
		process = rows_process(set, listing, lane);
		if (process == NULL)
			return;
		if (process->rows.state == PENDING_QUERY_FREE)
			rows_ask_early(process, listing, 0,
				       process->common->now_ns + DEVICE_ROWS_WAIT_NS);
		lane = process->lane + 1u;
	}
}

/*
 * Copies the accepted rows of an answer and stores the number of the next row in `next`; 0: these
 * were the last. False: the rows are of another size.
 */
static bool rows_copy(struct device_child *process, struct device_listing *listing, uint32_t *next)
{
	const struct rnic_process_rows_reply *head = &process->rows.head;
	uint32_t i;

	if (head->row_count > 0 && head->row_bytes != listing->row_bytes)
		return false;
	for (i = 0; i < head->row_count && listing->count < listing->max; i++) {
		uint8_t *row = listing->rows + (size_t)listing->count * listing->row_bytes;

		memcpy(row, process->rows.rows + (size_t)i * listing->row_bytes,
		       listing->row_bytes);
		if (listing->accept(listing->context, process, row))
			listing->count++;
	}
	*next = i < head->row_count ? process->rows.cursor + i : head->next;
	return true;
}

/*
 * Frees the slot, whose rows before `next` are in the listing. For a listing ahead, the slot keeps
 * the rows that had no room, or asks for the next ones; for others these are asked for again.
 */
static void rows_go_on(struct device_child *process, const struct device_listing *listing,
		       uint32_t next)
{
	struct pending_query *slot = &process->rows;

	if (listing->ahead != 0 && next != 0 && next != slot->head.next) {
		pending_query_keep(slot, next);
		slot->is_early = true;
		return;
	}
	pending_query_clear(slot);
	process->common->has_news = true;
	if (listing->ahead != 0 && next != 0)
		rows_ask_early(process, listing, next, rows_deadline_ns(process, listing, next));
}

/*
 * Gets the rows of one process from `row` on. 0: they are in the listing, and `next` is the next
 * row there, or 0. -EINPROGRESS: not yet. -ETIMEDOUT: the process is to be skipped.
 */
static int rows_get(struct device_child *process, struct device_listing *listing, uint32_t row,
		    uint32_t *next)
{
	struct pending_query *slot = &process->rows;

	if (!pending_query_is_of(slot, listing->asker, listing->kind, row)) {
		/* Another listing uses the slot, until its deadline at most. */
		if (!pending_query_yield(slot, listing->asker))
			return -EINPROGRESS;
		return rows_ask(process, listing, row, rows_deadline_ns(process, listing, row));
	}
	slot->is_early = false;
	if (slot->state == PENDING_QUERY_ASKED)
		return -EINPROGRESS;
	if (rows_copy(process, listing, next)) {
		rows_go_on(process, listing, *next);
		return 0;
	}
	pending_query_clear(slot);
	process->common->has_news = true;
	device_child_happen(process, DEVICE_CHILD_VIOLATION,
			    "the device process answered with rows of another size");
	return -ETIMEDOUT;
}

/* Whether the process answered ahead of its turn: its rows cost no waiting. */
static bool rows_are_there(const struct device_child *process, const struct device_listing *listing)
{
	return process->rows.state == PENDING_QUERY_ANSWERED &&
	       pending_query_is_of(&process->rows, listing->asker, listing->kind, 0);
}

int device_rows_list(struct device_set *set, struct device_listing *listing)
{
	uint32_t lane = rows_lane_of(listing->cursor);
	uint32_t row = listing->cursor & CURSOR_ROW_MASK;
	struct device_child *process = rows_process(set, listing, lane);
	uint32_t next;
	int result;

	if (process != NULL && process->lane != lane)
		row = 0;
	listing->cursor = 0;
	while (process != NULL) {
		lane = process->lane;
		next = 0;
		result = rows_get(process, listing, row, &next);
		rows_ask_ahead(set, listing, lane + 1);
		if (result == -EINPROGRESS) {
			listing->cursor = rows_cursor_of(lane, row);
			return result;
		}
		if (result == -ETIMEDOUT)
			listing->skip(listing->context, process);
		row = next;
		if (row == 0)
			process = rows_process(set, listing, lane + 1);
		if (row != 0 || listing->count == listing->max ||
		    (process != NULL && !rows_are_there(process, listing)))
			break;
	}
	if (process != NULL)
		listing->cursor = rows_cursor_of(process->lane, row);
	return 0;
}
