/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/pending_order.h"

uint32_t pending_order_next(const struct pending_order *slot)
{
	return slot->request_id + 1 != 0 ? slot->request_id + 1 : 1;
}

void pending_order_note(struct pending_order *slot, uint64_t until_ns)
{
	slot->request_id = pending_order_next(slot);
	slot->state = PENDING_ORDER_SENT;
	slot->until_ns = until_ns;
}

bool pending_order_take(struct pending_order *slot, const struct rnic_process_order_reply *answer)
{
	if (answer->status > 0 || answer->request_id == 0 || answer->request_id > slot->request_id)
		return false;
	if (slot->state != PENDING_ORDER_SENT || answer->request_id != slot->request_id)
		return true;
	slot->answer = *answer;
	slot->state = PENDING_ORDER_ANSWERED;
	return true;
}

bool pending_order_expire(struct pending_order *slot, uint64_t now_ns)
{
	if (slot->state == PENDING_ORDER_FREE || now_ns < slot->until_ns)
		return false;
	slot->state = PENDING_ORDER_FREE;
	return true;
}
