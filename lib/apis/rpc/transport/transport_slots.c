/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/transport/transport_slots.h"

#include <errno.h>
#include <stdlib.h>

/* The slots of sends lie behind the slots of receives. */
static uint8_t *send_slot(const struct transport_slots *slots, uint32_t slot)
{
	return slots->memory + (size_t)slots->receive_count * slots->receive_bytes +
	       (size_t)slot * slots->send_bytes;
}

int transport_slots_open(struct transport_slots *slots, struct transport_device *device)
{
	const size_t bytes = (size_t)slots->receive_count * slots->receive_bytes +
			     (size_t)slots->send_count * slots->send_bytes;
	int error;

	slots->context = device->context;
	slots->free = calloc(slots->send_count, sizeof(*slots->free));
	if (slots->free == NULL)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < slots->send_count; slot++)
		transport_slots_give(slots, (uint16_t)slot);
	error = rnic_alloc(slots->context, bytes, (void **)&slots->memory);
	if (error != 0)
		return error;
	/* Most slots are never used: on demand, they take no memory before. */
	return rnic_reg_mr(device->pd, slots->memory, bytes, (uintptr_t)slots->memory,
			   RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_ON_DEMAND, &slots->mr);
}

void transport_slots_close(struct transport_slots *slots)
{
	if (slots->mr != NULL)
		rnic_dereg_mr(slots->mr);
	if (slots->memory != NULL)
		rnic_free(slots->context, slots->memory);
	free(slots->free);
	*slots = (struct transport_slots){0};
}

uint8_t *transport_slots_received(const struct transport_slots *slots, uint32_t slot)
{
	return slots->memory + (size_t)slot * slots->receive_bytes;
}

struct rnic_sge transport_slots_receive_sge(const struct transport_slots *slots, uint32_t slot)
{
	return (struct rnic_sge){
		.address = (uintptr_t)transport_slots_received(slots, slot),
		.length = slots->receive_bytes,
		.lkey = rnic_mr_lkey(slots->mr),
	};
}

uint16_t transport_slots_next(const struct transport_slots *slots)
{
	return slots->free[slots->free_count - 1];
}

uint8_t *transport_slots_room(const struct transport_slots *slots)
{
	return send_slot(slots, transport_slots_next(slots));
}

struct rnic_sge transport_slots_send_sge(const struct transport_slots *slots, uint32_t bytes)
{
	return (struct rnic_sge){
		.address = (uintptr_t)transport_slots_room(slots),
		.length = bytes,
		.lkey = rnic_mr_lkey(slots->mr),
	};
}

void transport_slots_take(struct transport_slots *slots)
{
	slots->free_count--;
}

void transport_slots_give(struct transport_slots *slots, uint16_t slot)
{
	slots->free[slots->free_count++] = slot;
}

const struct rnic_completion *transport_completions_next(struct transport_completions *completions,
							 int *error)
{
	int count;

	*error = 0;
	if (completions->next < completions->count)
		return &completions->polled[completions->next++];
	count = rnic_poll_cq(completions->cq, TRANSPORT_COMPLETIONS, completions->polled);
	completions->next = 0;
	completions->count = count > 0 ? (uint32_t)count : 0;
	if (count <= 0) {
		*error = count;
		return NULL;
	}
	return &completions->polled[completions->next++];
}
