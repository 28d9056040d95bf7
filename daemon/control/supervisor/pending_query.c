/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/pending_query.h"

#include <stdlib.h>
#include <string.h>

#define CURSOR_MAX ((UINT32_C(1) << 24) - 1)

void rows_slot_ask(struct rows_slot *slot, uint32_t asker, uint32_t request_id, uint32_t kind,
		   uint32_t cursor, uint64_t until_ns)
{
	slot->state = ROWS_SLOT_ASKED;
	slot->asker = asker;
	slot->request_id = request_id;
	slot->kind = kind;
	slot->cursor = cursor;
	slot->until_ns = until_ns;
}

bool rows_slot_is_of(const struct rows_slot *slot, uint32_t asker, uint32_t kind, uint32_t cursor)
{
	return slot->state != ROWS_SLOT_FREE && slot->asker == asker && slot->kind == kind &&
	       slot->cursor == cursor;
}

static bool rows_slot_is_sound(const struct rows_slot *slot,
			       const struct rnic_process_rows_reply *head)
{
	const uint64_t next = (uint64_t)slot->cursor + head->row_count;

	return head->kind == slot->kind &&
	       (head->next == 0 ||
		(head->row_count > 0 && head->next == next && next <= CURSOR_MAX));
}

bool rows_slot_take(struct rows_slot *slot, const struct rnic_process_rows_reply *head,
		    const uint8_t *rows)
{
	const size_t bytes = (size_t)head->row_count * head->row_bytes;

	if (slot->state != ROWS_SLOT_ASKED && !slot->is_silent)
		return false;
	if (head->request_id != slot->request_id)
		return false;
	slot->is_silent = false;
	if (slot->state != ROWS_SLOT_ASKED)
		return true;
	if (!rows_slot_is_sound(slot, head))
		return false;
	if (slot->asker == ROWS_SLOT_NOBODY) {
		rows_slot_clear(slot);
		return true;
	}
	slot->rows = malloc(bytes + 1);
	if (slot->rows == NULL) {
		slot->state = ROWS_SLOT_FREE;
		return true;
	}
	memcpy(slot->rows, rows, bytes);
	slot->head = *head;
	slot->state = ROWS_SLOT_ANSWERED;
	return true;
}

bool rows_slot_expire(struct rows_slot *slot, uint64_t now_ns)
{
	if (slot->state == ROWS_SLOT_FREE || now_ns < slot->until_ns)
		return false;
	if (slot->state == ROWS_SLOT_ASKED)
		slot->is_silent = true;
	rows_slot_clear(slot);
	return true;
}

void rows_slot_forget(struct rows_slot *slot)
{
	slot->asker = ROWS_SLOT_NOBODY;
	if (slot->state == ROWS_SLOT_ANSWERED)
		rows_slot_clear(slot);
}

void rows_slot_clear(struct rows_slot *slot)
{
	free(slot->rows);
	slot->rows = NULL;
	slot->state = ROWS_SLOT_FREE;
}
