/* SPDX-License-Identifier: MIT */
/*
 * The application's actions for the two signals of the guard, one table a process. The kernel has
 * the guard's handler in the application's flags and mask; the table has the handler in its place.
 *
 * A signal has one handler of the guard, and one entry in the table, for each level. A level is
 * added when code that called the kernel directly is found in front: that code may call the
 * guard's handler of before as "the action before mine", which then stands for the action before.
 * One entry for all would send the signal back to that code, without end.
 */
#ifndef LIB_DROPIN_GUARD_ACTION_TABLE_H
#define LIB_DROPIN_GUARD_ACTION_TABLE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/dropin/guard/bare_calls.h"

#define GUARD_SIGNALS 2
#define GUARD_LEVELS  8

/* What SA_... bits of the kernel's action differ from those of the application's. */
#define GUARD_OWN_FLAGS (SA_SIGINFO | SA_RESETHAND | SA_ONSTACK | SA_RESTART)

/*
 * Handlers of signals read without a lock, so a change is a store of one word. SA_RESETHAND in the
 * flags sends the reader through the lock; a change sets that bit first.
 */
struct guard_action {
	_Atomic uintptr_t handler;
	_Atomic int flags;
};

struct guard_table {
	struct guard_action actions[GUARD_SIGNALS][GUARD_LEVELS];
	_Atomic unsigned top[GUARD_SIGNALS]; /* the level of the handler that stands in front */
	/* The C library's own sigaction(), whoever interposes: gdb and unwinders know its restorer.
	 */
	int (*libc_sigaction)(int, const struct sigaction *, struct sigaction *);
	_Atomic pid_t owner;	    /* a vfork() child shares this table, but not the kernel's */
	atomic_bool is_active;	    /* the handlers are in place */
	atomic_bool must_look;	    /* a handler has put the kernel's action back to SIG_DFL */
	atomic_uint action_changes; /* of all signals, as far as seen */
};

extern struct guard_table rnic_guard_table;

/* SIGSEGV and SIGBUS have an index into the table; for other signals -1. */
static inline int guard_index(int signal)
{
	return signal == SIGSEGV ? 0 : signal == SIGBUS ? 1 : -1;
}

static inline int guard_signal(unsigned index)
{
	return index == 0 ? SIGSEGV : SIGBUS;
}

/*
 * The lock is taken with all signals blocked. A handler takes the lock too, and would wait for ever
 * for the thread that the handler interrupts. Returns the mask for rnic_table_unlock().
 */
rnic_signal_mask rnic_table_lock(void);
void rnic_table_unlock(rnic_signal_mask before);

/*
 * Hold the lock from before fork() until after fork(), in the parent and in the child. Other
 * libraries' fork handlers run meanwhile in this thread: they may set actions, take signals and
 * make threads. So this thread passes the lock, and has its own signal mask.
 */
void rnic_table_lock_for_fork(void);
void rnic_table_unlock_after_fork(void);

/*
 * Whether this process is a child of vfork(), whose table is its parent's. A child of fork() has a
 * table of its own, even before the guard's fork handler has run there.
 */
bool rnic_table_is_of_parent(void);

/* Puts an action of the application into the table. The lock is held. */
void rnic_action_store(unsigned index, unsigned level, uintptr_t handler, int flags);

/*
 * The handler that a signal calls now, with SA_RESETHAND carried out: the kernel does that for
 * others, but its action must stay the guard's. A handler may call.
 */
uintptr_t rnic_action_take(unsigned index, unsigned level);

#endif
