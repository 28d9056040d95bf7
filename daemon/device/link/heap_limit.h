/* SPDX-License-Identifier: MIT */
/*
 * The bound of a device process's own memory: objects of its clients, tables, packets, stacks. The
 * control plane gives the process a budget (memory_budget.h). A quarter of the budget is for this
 * memory, and the rest is for memory that the process shares with programs: a queue pair needs some
 * ten times as much of the latter.
 *
 * The kernel holds the bound (RLIMIT_DATA), so that no client needs to be counted. Where the bound
 * is met, a request that needs memory is refused with ENOMEM.
 */
#ifndef DAEMON_DEVICE_LINK_HEAP_LIMIT_H
#define DAEMON_DEVICE_LINK_HEAP_LIMIT_H

#include <stdint.h>

#define HEAP_LIMIT_PARTS 4 /* of a budget, one part in so many */

/* Beyond it, for a process without clients: twice the 22 MiB that the process has with --fault. */
#define HEAP_LIMIT_PROCESS_BYTES (48 << 20)

/* Returns the part in bytes of the budget that is for the process's own memory. */
uint64_t heap_limit_part(uint64_t budget_bytes);

/*
 * Bounds the private memory of this process to `bytes` and HEAP_LIMIT_PROCESS_BYTES. The bound
 * stays until the process ends. A build with a sanitizer has no bound: shadow memory counts too.
 * Negative errno of setrlimit.
 */
int heap_limit_set(uint64_t bytes);

#endif
