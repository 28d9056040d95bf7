/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/pending_query.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CURSOR_MAX ((UINT32_C(1) << 24) - 1)

void pending_query_ask(struct pending_query *slot, uint32_t asker, uint32_t request_id,
		       uint32_t kind, uint32_t cursor, uint64_t until_ns)
{
	slot->state = PENDING_QUERY_ASKED;
	slot->is_early = false;
	slot->asker = asker;
	slot->request_id = request_id;
	slot->kind = kind;
	slot->cursor = cursor;
	slot->until_ns = until_ns;
}

bool pending_query_is_of(const struct pending_query *slot, uint32_t asker, uint32_t kind,
			 uint32_t cursor)
{
	return slot->state != PENDING_QUERY_FREE && slot->asker == asker && slot->kind == kind &&
	       slot->cursor == cursor;
}

static bool pending_query_is_sound(const struct pending_query *slot,
				   const struct rnic_process_rows_reply *head)
{
	const uint64_t next = (uint64_t)slot->cursor + head->row_count;

	return head->kind == slot->kind &&
	       (head->next == 0 ||
		(head->row_count > 0 && head->next == next && next <= CURSOR_MAX));
}

bool pending_query_take(struct pending_query *slot, const struct rnic_process_rows_reply *head,
			const uint8_t *rows)
{
	const size_t bytes = (size_t)head->row_count * head->row_bytes;

	if (slot->state != PENDING_QUERY_ASKED && !slot->is_silent)
		return false;
	if (head->request_id != slot->request_id)
		return false;
	slot->is_silent = false;
	if (slot->state != PENDING_QUERY_ASKED)
		return true;
	if (!pending_query_is_sound(slot, head))
		return false;
	if (slot->asker == PENDING_QUERY_NOBODY) {
		pending_query_clear(slot);
		return true;
	}
	slot->rows = malloc(bytes + 1);
	if (slot->rows == NULL) {
		slot->state = PENDING_QUERY_FREE;
		return true;
	}
	memcpy(slot->rows, rows, bytes);
	slot->head = *head;
	slot->state = PENDING_QUERY_ANSWERED;
	return true;
}

void pending_query_keep(struct pending_query *slot, uint32_t next)
{
	const uint32_t used = next - slot->cursor;

	assert(used < slot->head.row_count);
	slot->head.row_count -= used;
	memmove(slot->rows, slot->rows + (size_t)used * slot->head.row_bytes,
		(size_t)slot->head.row_count * slot->head.row_bytes);
	slot->cursor = next;
}

bool pending_query_expire(struct pending_query *slot, uint64_t now_ns)
{
	if (slot->state == PENDING_QUERY_FREE || now_ns < slot->until_ns)
		return false;
	if (slot->state == PENDING_QUERY_ASKED)
		slot->is_silent = true;
	pending_query_clear(slot);
	return true;
}

void pending_query_forget(struct pending_query *slot)
{
	slot->asker = PENDING_QUERY_NOBODY;
	if (slot->state == PENDING_QUERY_ANSWERED)
		pending_query_clear(slot);
}

bool pending_query_yield(struct pending_query *slot, uint32_t asker)
{
	if (slot->state != PENDING_QUERY_FREE && (slot->asker == asker || slot->is_early))
		pending_query_forget(slot);
	return slot->state == PENDING_QUERY_FREE;
}

void pending_query_clear(struct pending_query *slot)
{
	free(slot->rows);
	slot->rows = NULL;
	slot->state = PENDING_QUERY_FREE;
}
