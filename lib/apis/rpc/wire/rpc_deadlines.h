/* SPDX-License-Identifier: MIT */
/*
 * Finds the next due one of many items: a heap, so that the cost grows with the events and not with
 * the items. Items are numbers below a bound; each has one deadline, or none.
 */
#ifndef LIB_APIS_RPC_WIRE_RPC_DEADLINES_H
#define LIB_APIS_RPC_WIRE_RPC_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rpc_deadline {
	uint64_t at_ns;
	uint32_t item;
};

struct rpc_deadlines {
	struct rpc_deadline *heap; /* no entry is due before heap[(its index - 1) / 2] */
	uint32_t *positions;	   /* by item: its index, plus one; 0: no deadline */
	uint32_t count;
	uint32_t capacity;
};

/* The bytes of memory for rpc_deadlines_init(), aligned as malloc() does. */
size_t rpc_deadlines_memory_bytes(uint32_t capacity);

void rpc_deadlines_init(struct rpc_deadlines *deadlines, uint32_t capacity, void *memory);

/* Sets the item's deadline; RPC_NEVER: none. */
void rpc_deadlines_set(struct rpc_deadlines *deadlines, uint32_t item, uint64_t at_ns);

/* The earliest deadline; RPC_NEVER: no item has one. */
uint64_t rpc_deadlines_next_ns(const struct rpc_deadlines *deadlines);

/* Takes a due item, which then has no deadline; false: none is due. */
bool rpc_deadlines_take(struct rpc_deadlines *deadlines, uint64_t now_ns, uint32_t *item);

#endif
