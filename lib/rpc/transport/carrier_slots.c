/* SPDX-License-Identifier: MIT */
#include "rpc/transport/carrier_slots.h"

#include <errno.h>
#include <stdlib.h>

/* Slots of sends lie behind those of receives. */
static uint8_t *send_slot(const struct carrier_slots *slots, uint32_t slot)
{
	return slots->memory + (size_t)slots->receive_count * slots->receive_bytes +
	       (size_t)slot * slots->send_bytes;
}

int carrier_slots_open(struct carrier_slots *slots, struct carrier_device *device)
{
	const size_t bytes = (size_t)slots->receive_count * slots->receive_bytes +
			     (size_t)slots->send_count * slots->send_bytes;
	int error;

	slots->context = device->context;
	slots->free = calloc(slots->send_count, sizeof(*slots->free));
	if (slots->free == NULL)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < slots->send_count; slot++)
		carrier_slots_give(slots, (uint16_t)slot);
	error = rnic_alloc(slots->context, bytes, (void **)&slots->memory);
	if (error != 0)
		return error;
	return rnic_reg_mr(device->pd, slots->memory, bytes, (uintptr_t)slots->memory,
			   RNIC_ACCESS_LOCAL_WRITE, &slots->mr);
}

void carrier_slots_close(struct carrier_slots *slots)
{
	if (slots->mr != NULL)
		rnic_dereg_mr(slots->mr);
	if (slots->memory != NULL)
		rnic_free(slots->context, slots->memory);
	free(slots->free);
	*slots = (struct carrier_slots){0};
}

uint8_t *carrier_slots_received(const struct carrier_slots *slots, uint32_t slot)
{
	return slots->memory + (size_t)slot * slots->receive_bytes;
}

struct rnic_sge carrier_slots_receive_sge(const struct carrier_slots *slots, uint32_t slot)
{
	return (struct rnic_sge){
		.address = (uintptr_t)carrier_slots_received(slots, slot),
		.length = slots->receive_bytes,
		.lkey = rnic_mr_lkey(slots->mr),
	};
}

uint16_t carrier_slots_next(const struct carrier_slots *slots)
{
	return slots->free[slots->free_count - 1];
}

uint8_t *carrier_slots_room(const struct carrier_slots *slots)
{
	return send_slot(slots, carrier_slots_next(slots));
}

struct rnic_sge carrier_slots_send_sge(const struct carrier_slots *slots, uint32_t bytes)
{
	return (struct rnic_sge){
		.address = (uintptr_t)carrier_slots_room(slots),
		.length = bytes,
		.lkey = rnic_mr_lkey(slots->mr),
	};
}

void carrier_slots_take(struct carrier_slots *slots)
{
	slots->free_count--;
}

void carrier_slots_give(struct carrier_slots *slots, uint16_t slot)
{
	slots->free[slots->free_count++] = slot;
}

const struct rnic_completion *carrier_completions_next(struct carrier_completions *completions,
						       int *error)
{
	int count;

	*error = 0;
	if (completions->next < completions->count)
		return &completions->polled[completions->next++];
	count = rnic_poll_cq(completions->cq, CARRIER_COMPLETIONS, completions->polled);
	completions->next = 0;
	completions->count = count > 0 ? (uint32_t)count : 0;
	if (count <= 0) {
		*error = count;
		return NULL;
	}
	return &completions->polled[completions->next++];
}
