/* SPDX-License-Identifier: MIT */
/*
 * The guard of a process: copies between packet buffers and memory of the application that end with
 * -EFAULT where a store or load of the application would have ended the process. The application's
 * own SIGSEGV and SIGBUS handlers see what they would have seen without the guard.
 *
 * librnic-guard.so has the guard. The library stands in LD_PRELOAD, so a process has one guard,
 * however many libraries use the guard. rnic_guard_open() finds the guard by name; no library links
 * the guard.
 *
 * For threads that the caller makes: block all signals before pthread_create() and let the thread
 * inherit that. A moment with open signals is enough to swallow a signal that the application sent
 * to itself. For locks that the caller holds over a turn: disable cancellation as long.
 *
 * Not for memory that the processor reaches but the guard does not see: inline data, work requests
 * and SGE lists. A bad address there ends the process with any driver.
 */
#ifndef LIB_DROPIN_GUARD_GUARD_H
#define LIB_DROPIN_GUARD_GUARD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* The name of the struct rnic_guard in librnic-guard.so; the number changes with the layout. */
#define RNIC_GUARD_SYMBOL	 rnic_guard_2
#define RNIC_GUARD_SYMBOL_STRING "rnic_guard_2"

/* A turn of the calling thread that is under way; the caller's, to be read by nobody. */
struct rnic_guard_turn {
	uint32_t opened;
	uint32_t outer;
};

struct rnic_guard {
	/*
	 * Puts the handlers in place, for good; further calls do nothing. Threads may call at once.
	 * -ENOTSUP: another library stands before librnic-guard.so and hides the application's
	 * calls of sigaction(); the handlers are gone again. -ENOSYS: no C library that the guard
	 * knows. -EPERM or another error of sigaction(): a filter of system calls forbids the
	 * handlers. After an error the caller must do without the guard.
	 */
	int (*install)(void);

	/*
	 * Encloses copies and atomics of the calling thread; turns nest. A turn costs a system
	 * call, so the caller moves many packets in one.
	 * -EBUSY: code that the guard cannot see takes the signals again and again. No turn is
	 * open; a copy may end the process. Later turns begin once that code has left the signals.
	 */
	int (*turn_begin)(struct rnic_guard_turn *turn);
	void (*turn_end)(const struct rnic_guard_turn *turn);

	/*
	 * Copies of any alignment, the ranges do not overlap. Each aligned word of 2, 4 or 8 bytes
	 * of the application is moved as a whole, a write goes upwards, and a processor that sees
	 * the last byte sees all bytes. 0, or -EFAULT: some of the bytes may have been moved.
	 */
	int (*write)(void *to, const void *private_from, size_t bytes);
	int (*read)(void *private_to, const void *from, size_t bytes);

	/*
	 * Atomic with the processor's own instructions. `word` is at a multiple of 8. 0, or
	 * -EFAULT: neither the word nor `*original` has changed.
	 */
	int (*fetch_add)(uint64_t *word, uint64_t add, uint64_t *original);
	int (*compare_swap)(uint64_t *word, uint64_t compare, uint64_t swap, uint64_t *original);

	/*
	 * Counts the application's changes of actions, of all signals, after each change. Code that
	 * the guard cannot see changes actions without a count.
	 */
	const atomic_uint *action_changes;
};

/*
 * Finds and installs the guard of this process. `*guard` belongs to the process and stays to its
 * end. -ENOENT: LD_PRELOAD lacks librnic-guard.so (or has one of another layout). Other errors:
 * those of `install`.
 */
int rnic_guard_open(const struct rnic_guard **guard);

#endif
