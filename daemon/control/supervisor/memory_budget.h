/* SPDX-License-Identifier: MIT */
/*
 * How much memory each device process may have: its own, and what it shares with programs. All of
 * them together get half of the memory that the machine or the control group of this process has,
 * and no process gets more than an eighth.
 *
 * Half of the whole is dealt out evenly to as many processes as there can be at a time: each of
 * them is sure of such a part. Of the other half a process gets half of what the others left when
 * it started. A budget stays as it is while its process lives, and counts until the process is
 * dead: one that hangs in the kernel still has its memory.
 *
 * A program with the device inside takes no part. The memory is the program's own, and a program
 * could lift a bound that its own process holds.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_MEMORY_BUDGET_H
#define DAEMON_CONTROL_SUPERVISOR_MEMORY_BUDGET_H

#include <stdint.h>

#define MEMORY_BUDGET_PARTS_ALL	 2 /* all processes have one part in so many */
#define MEMORY_BUDGET_PARTS_EACH 8 /* and one process has */

struct memory_budget {
	uint64_t memory_bytes;
	uint64_t given_bytes; /* the sum of the budgets */
	uint32_t process_max;
	uint32_t process_count; /* that have budgets */
};

/*
 * Returns the memory in bytes that this process can use at most: that of the machine, or the
 * smallest limit of its control group and of those above, when that is less. `groups` is the list
 * of the process's control groups (/proc/self/cgroup), and they are mounted at `mounts`
 * (/sys/fs/cgroup): of version 2, or the memory controller of version 1.
 */
uint64_t memory_budget_measure(const char *groups, const char *mounts);

/* No process has a budget yet. At least one process can be. */
void memory_budget_init(struct memory_budget *budget, uint64_t memory_bytes, uint32_t process_max);

/*
 * Returns the budget in bytes of one more process; 0 when processes that hang have taken
 * everything.
 */
uint64_t memory_budget_take(struct memory_budget *budget);

/* Takes back what memory_budget_take() has returned. */
void memory_budget_give_back(struct memory_budget *budget, uint64_t bytes);

#endif
