/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/device_orders.h"

#include "daemon/control/supervisor/device_child.h"
#include "daemon/control/supervisor/device_link.h"
#include "daemon/shared/link/process_link.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <string.h>

#define ORDER_WAIT_NS RNIC_NS_PER_SECOND

/* -EINPROGRESS: it was sent, or another order has the slot until its deadline at most. */
static int orders_send(struct device_child *process, const struct rnic_process_order *wanted,
		       uint32_t *request_id)
{
	struct pending_order *slot = &process->order;
	struct rnic_process_order order = *wanted;
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_ORDER,
		.payload = &order,
		.payload_bytes = sizeof(order),
	};
	int result;

	if (slot->state != PENDING_ORDER_FREE)
		return -EINPROGRESS;
	/* Facts that wait for room in the link come first. */
	if (!device_link_flush(process))
		return -ETIMEDOUT;
	order.request_id = pending_order_next(slot);
	result = device_link_send(process, &letter);
	if (result != 0)
		return result == -EAGAIN ? -ETIMEDOUT : -ENODEV;
	pending_order_note(slot, process->common->now_ns + ORDER_WAIT_NS);
	*request_id = order.request_id;
	return -EINPROGRESS;
}

int device_orders_give(struct device_child *process, const struct rnic_process_order *order,
		       uint32_t *request_id, char reason[RNIC_CTL_TEXT_BYTES])
{
	struct pending_order *slot = &process->order;

	reason[0] = '\0';
	if (process->state != DEVICE_CHILD_SERVING)
		return -ENODEV;
	if (*request_id == 0)
		return orders_send(process, order, request_id);
	if (slot->request_id != *request_id || slot->state == PENDING_ORDER_FREE)
		return -ETIMEDOUT;
	if (slot->state == PENDING_ORDER_SENT)
		return -EINPROGRESS;
	slot->state = PENDING_ORDER_FREE;
	process->common->has_news = true;
	memcpy(reason, slot->answer.reason, RNIC_CTL_TEXT_BYTES);
	return slot->answer.status;
}
