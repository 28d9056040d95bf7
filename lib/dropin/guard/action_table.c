/* SPDX-License-Identifier: MIT */
#include "lib/dropin/guard/action_table.h"

#include <stddef.h>

struct guard_table rnic_guard_table;

/* 0: free, 1: held, 2: held and somebody may wait. */
static _Atomic uint32_t lock_word;

/* So many calls of fork() of this thread hold the lock; a handler may fork inside one. */
static _Thread_local unsigned forks __attribute__((tls_model("initial-exec")));

rnic_signal_mask rnic_table_lock(void)
{
	const rnic_signal_mask all = ~UINT64_C(0);
	rnic_signal_mask before = rnic_bare_mask_change(SIG_SETMASK, &all);
	uint32_t expected = 0;

	if (forks == 0 && !atomic_compare_exchange_strong(&lock_word, &expected, 1))
		while (atomic_exchange(&lock_word, 2) != 0)
			rnic_bare_futex_wait(&lock_word, 2);
	return before;
}

void rnic_table_unlock(rnic_signal_mask before)
{
	if (forks == 0 && atomic_exchange(&lock_word, 0) == 2)
		rnic_bare_futex_wake(&lock_word);
	rnic_bare_mask_change(SIG_SETMASK, &before);
}

void rnic_table_lock_for_fork(void)
{
	const rnic_signal_mask before = rnic_table_lock();

	forks++;
	rnic_bare_mask_change(SIG_SETMASK, &before);
}

void rnic_table_unlock_after_fork(void)
{
	const rnic_signal_mask all = ~UINT64_C(0);
	const rnic_signal_mask before = rnic_bare_mask_change(SIG_SETMASK, &all);

	forks--;
	rnic_table_unlock(before);
}

bool rnic_table_is_of_parent(void)
{
	return rnic_bare_getpid() != atomic_load(&rnic_guard_table.owner) && forks == 0;
}

void rnic_action_store(unsigned index, unsigned level, uintptr_t handler, int flags)
{
	struct guard_action *action = &rnic_guard_table.actions[index][level];

	atomic_store(&action->flags, flags | SA_RESETHAND);
	atomic_store(&action->handler, handler);
	atomic_store(&action->flags, flags);
}

/* A vfork() child has a kernel's table of its own, and must not change its parent's in memory. */
static uintptr_t take_in_child(unsigned index, const struct guard_action *action)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};

	rnic_guard_table.libc_sigaction(guard_signal(index), &by_default, NULL);
	return atomic_load(&action->handler);
}

uintptr_t rnic_action_take(unsigned index, unsigned level)
{
	struct guard_action *action = &rnic_guard_table.actions[index][level];
	uintptr_t handler = atomic_load(&action->handler);
	rnic_signal_mask before;

	if ((atomic_load(&action->flags) & SA_RESETHAND) == 0)
		return handler;
	if (rnic_table_is_of_parent())
		return take_in_child(index, action);
	before = rnic_table_lock();
	handler = atomic_load(&action->handler);
	if ((atomic_load(&action->flags) & SA_RESETHAND) != 0 && handler != (uintptr_t)SIG_IGN)
		atomic_store(&action->handler, (uintptr_t)SIG_DFL);
	rnic_table_unlock(before);
	return handler;
}
