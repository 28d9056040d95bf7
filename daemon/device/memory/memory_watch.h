/* SPDX-License-Identifier: MIT */
/*
 * Tells of memory that a program takes away while it is registered: a userfaultfd of the program's
 * address space, through which the kernel announces each munmap(2) and mremap(2) of registered
 * pages, and waits until this process has read the announcement. The pages are registered in
 * write-protect mode and never protected, so no access of the program or of ours ever waits.
 *
 * One thread of this process reads for all address spaces. The kernel lets the program go on with
 * the read itself, so the thread first holds up the copies into that address space, then reads,
 * marks what is gone, and lets the copies go on. A copy enters a gate for that:
 * one word to write and one to read. The thread waits for a copy under way, but no longer than
 * WATCH_PATIENCE_NS: the copy may wait for a page that the program itself serves, or a handler of
 * signals that came meanwhile may be what unmaps. So the thread waits for nothing that could wait
 * for the thread. It never allocates by malloc(3): the program may be this process, in which a
 * thread that holds a lock of malloc may be the one that unmaps.
 *
 * Nothing but this process holds the descriptor. Its end, however it comes, ends every wait.
 */
#ifndef DAEMON_DEVICE_MEMORY_MEMORY_WATCH_H
#define DAEMON_DEVICE_MEMORY_MEMORY_WATCH_H

#include "daemon/device/memory/watched_pieces.h"
#include "proto/ctl/ctl_message.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct memory_watch;

#define WATCH_PATIENCE_NS (20 * UINT64_C(1000000))

/*
 * The kernel has room for 65,530 mappings in a process, and the edges of a run of registered pages
 * may cost one each. Beyond so many runs, memory is not watched.
 */
#define LIMIT_WATCHED_RUNS 10000

/* The way of one client's regions to the watch of its address space. Zeroed: there is none. */
struct memory_gate {
	struct memory_watch *watch;
	struct memory_gate *next; /* of the same watch */
	atomic_bool is_copying;
};

/*
 * Opens the gate with the client's descriptor `fd`, a userfaultfd that nobody has used. On success
 * the watch owns `fd`. -EINVAL: the descriptor is none; -EOPNOTSUPP: the kernel lacks what the
 * watch needs; -ENOMEM, -EAGAIN: no thread is to be had.
 */
int memory_gate_open(struct memory_gate *gate, int fd);

/*
 * Opens the gate to the address space of this process itself, whose watch stays to the end of the
 * process. Errors as above, and those of userfaultfd(2); -EOPNOTSUPP also under valgrind.
 */
int memory_gate_open_own(struct memory_gate *gate);

/* No range is watched through the gate any more. */
void memory_gate_close(struct memory_gate *gate);

/*
 * Watches a range, whose address and bytes are set; it must stay where it is. RNIC_WATCH_ON, or why
 * the range is not watched.
 */
enum rnic_watch memory_watch_add(struct memory_gate *gate, struct watched_range *range);
void memory_watch_remove(struct memory_gate *gate, struct watched_range *range);

/* watched_pieces_find() for a range of the gate. */
bool memory_watch_find(struct memory_gate *gate, const struct watched_range *range, uint64_t offset,
		       uint64_t *address, uint64_t *bytes);

/*
 * Enclose copies. No change of mappings is marked between the two calls, unless they are further
 * apart than WATCH_PATIENCE_NS. Returns whether all ranges of the watch are as they were
 * registered.
 */
bool memory_gate_enter(struct memory_gate *gate);
void memory_gate_leave(struct memory_gate *gate);

/* In the child of fork(), which has no thread and must not keep the descriptors. */
void memory_watch_forget(void);

#endif
