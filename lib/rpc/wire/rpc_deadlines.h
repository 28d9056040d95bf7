/* SPDX-License-Identifier: MIT */
/*
 * Which of many items is due next: a heap, so that what costs time is what happens and not what
 * exists. Items are numbers below a bound; each has one deadline, or none.
 */
#ifndef LIB_RPC_WIRE_RPC_DEADLINES_H
#define LIB_RPC_WIRE_RPC_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rpc_deadline {
	uint64_t at_ns;
	uint32_t item;
};

struct rpc_deadlines {
	struct rpc_deadline *heap; /* no entry is due before heap[(its index - 1) / 2] */
	uint32_t *positions;	   /* by item: its index, plus one; 0: it has none */
	uint32_t count;
	uint32_t capacity;
};

/* The bytes of memory for rpc_deadlines_init(), aligned as malloc() does. */
size_t rpc_deadlines_memory_bytes(uint32_t capacity);

void rpc_deadlines_init(struct rpc_deadlines *deadlines, uint32_t capacity, void *memory);

/* The item's deadline from now on; RPC_NEVER: none. */
void rpc_deadlines_set(struct rpc_deadlines *deadlines, uint32_t item, uint64_t at_ns);

/* RPC_NEVER when no item has one. */
uint64_t rpc_deadlines_next_ns(const struct rpc_deadlines *deadlines);

/* An item that is due, which has no deadline then; false: none is. */
bool rpc_deadlines_take(struct rpc_deadlines *deadlines, uint64_t now_ns, uint32_t *item);

#endif
