/* SPDX-License-Identifier: MIT */
/*
 * The kernel's action is a handler of the guard in the application's flags and mask. So the kernel
 * carries out SA_ONSTACK, SA_NODEFER, SA_RESTART and sa_mask as the application wishes.
 *
 * Code that calls rt_sigaction itself, or the C library past the interposition (RTLD_DEEPBIND),
 * replaces that action unseen. Now and then a turn looks, takes what it finds for the
 * application's, and puts a handler in front. Until then theirs gets the guard's faults, and passes
 * them on at best.
 *
 * Two neighbouring levels, a pair, are for one stranger. The stranger's "action before mine" may be
 * any level below, and both of the pair below, so all of these lead to the action before. When the
 * same stranger sets his action again, his action before may be the front as well, and the pair
 * changes sides.
 */
#include "lib/dropin/guard/kernel_actions.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/dropin/guard/action_table.h"
#include "lib/dropin/guard/fault_handler.h"

#define TWIN(level) ((level) ^ 1U)

/*
 * So often a stranger may take the front again, beyond the looks that found the guard in front
 * meanwhile. The kernel's actions are a race by then.
 */
#define FIGHTS_MAX 1000

static struct guard_table *const table = &rnic_guard_table;
static _Atomic unsigned fights[GUARD_SIGNALS];

static bool is_handler(uintptr_t handler)
{
	return handler != (uintptr_t)SIG_DFL && handler != (uintptr_t)SIG_IGN;
}

/* What the application sees in place of the kernel's action, which is of a level of the guard. */
static void show(unsigned index, unsigned level, struct sigaction *action)
{
	const struct guard_action *own = &table->actions[index][level];
	const int flags = atomic_load(&own->flags);

	action->sa_sigaction = (rnic_signal_handler *)atomic_load(&own->handler);
	action->sa_flags = (action->sa_flags & ~GUARD_OWN_FLAGS) | (flags & GUARD_OWN_FLAGS);
}

/*
 * Makes the guard's handler of the level the kernel's action, with `action` as the application's.
 * `*found` is the kernel's action of before. The lock is held. The table comes first: another
 * thread may fault as soon as the kernel knows the handler. A filter of system calls may forbid the
 * change; then nothing has changed, and the result is an error of sigaction().
 *
 * Where the application has no handler, the guard's runs on the alternate stack if there is one,
 * and a sent signal that is ignored interrupts no system call.
 */
static int set_front(unsigned index, unsigned level, const struct sigaction *action,
		     struct sigaction *found)
{
	const struct guard_action *entry = &table->actions[index][level];
	const uintptr_t handler_before = atomic_load(&entry->handler);
	const int flags_before = atomic_load(&entry->flags);
	struct sigaction front = *action;

	front.sa_sigaction = rnic_fault_handler(level);
	front.sa_flags = (action->sa_flags & ~SA_RESETHAND) | SA_SIGINFO;
	if (!is_handler((uintptr_t)action->sa_sigaction))
		front.sa_flags |= SA_ONSTACK | SA_RESTART;
	rnic_action_store(index, level, (uintptr_t)action->sa_sigaction, action->sa_flags);
	if (table->libc_sigaction(guard_signal(index), &front, found) != 0) {
		rnic_action_store(index, level, handler_before, flags_before);
		return -errno;
	}
	atomic_store(&table->top[index], level);
	return 0;
}

static void copy_action(unsigned index, unsigned to, unsigned from)
{
	const struct guard_action *action = &table->actions[index][from];

	rnic_action_store(index, to, atomic_load(&action->handler), atomic_load(&action->flags));
}

/* A level in front of a stranger who was not in front before, or -EBUSY: there are too many. */
static int level_before_new(unsigned index, unsigned top)
{
	const unsigned next_pair = (top | 1U) + 1;

	if (next_pair == GUARD_LEVELS)
		return -EBUSY;
	copy_action(index, TWIN(top), top);
	return (int)next_pair;
}

/* A level in front of the stranger for whom `top` stood in front. */
static int level_before_same(unsigned index, unsigned top)
{
	if (top < 2)
		rnic_action_store(index, top, (uintptr_t)SIG_DFL, 0);
	else
		copy_action(index, top, (top & ~1U) - 1);
	return (int)TWIN(top);
}

/* Makes room for a level in front of a stranger's action. The lock is held. */
static int level_before(unsigned index, const struct sigaction *stranger)
{
	const uintptr_t handler = (uintptr_t)stranger->sa_sigaction;
	const unsigned top = atomic_load(&table->top[index]);

	if (!is_handler(handler))
		return (int)top;
	if (atomic_load(&table->actions[index][top].handler) == handler)
		return level_before_same(index, top);
	return level_before_new(index, top);
}

static int step_in_front(unsigned index, const struct sigaction *stranger)
{
	struct sigaction action = *stranger;
	struct sigaction found = *stranger;

	do {
		int level = level_before(index, &found);
		int error;

		if (level < 0)
			return level;
		action = found;
		error = set_front(index, (unsigned)level, &action, &found);
		if (error != 0)
			return error;
	} while (found.sa_sigaction != action.sa_sigaction && rnic_fault_handler_level(&found) < 0);
	return 0;
}

static int install_signal(unsigned index)
{
	struct sigaction action;
	struct sigaction found;
	int error;

	if (table->libc_sigaction(guard_signal(index), NULL, &found) != 0)
		return -errno;
	do {
		action = found;
		error = set_front(index, 0, &action, &found);
	} while (error == 0 && found.sa_sigaction != action.sa_sigaction);
	return error;
}

/*
 * The lock is held across fork(), or a child would inherit a lock whose holder does not exist
 * there. A library whose constructor runs before the guard's may have registered its fork handlers
 * earlier: they run while the lock is held.
 */
static void after_fork_in_child(void)
{
	atomic_store(&table->owner, rnic_bare_getpid());
	rnic_table_unlock_after_fork();
}

static void find_c_library(void)
{
	void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	if (library == NULL)
		return;
	*(void **)&table->libc_sigaction = dlsym(library, "sigaction");
	pthread_atfork(rnic_table_lock_for_fork, rnic_table_unlock_after_fork, after_fork_in_child);
}

/* The constructor of another library may need the guard before the constructor here has run. */
static __attribute__((constructor)) void prepare_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_c_library);
}

int rnic_actions_install(void)
{
	rnic_signal_mask before;
	int error = 0;

	prepare_once();
	if (table->libc_sigaction == NULL)
		return -ENOSYS;
	before = rnic_table_lock();
	if (!atomic_load(&table->is_active)) {
		atomic_store(&table->owner, rnic_bare_getpid());
		for (unsigned index = 0; index < GUARD_SIGNALS && error == 0; index++)
			error = install_signal(index);
		atomic_store(&table->is_active, error == 0);
	}
	rnic_table_unlock(before);
	return error;
}

void rnic_actions_remove(void)
{
	const rnic_signal_mask before = rnic_table_lock();

	for (unsigned index = 0; index < GUARD_SIGNALS; index++) {
		struct sigaction action;
		int level;

		if (table->libc_sigaction(guard_signal(index), NULL, &action) != 0)
			continue;
		level = rnic_fault_handler_level(&action);
		if (level < 0)
			continue;
		show(index, (unsigned)level, &action);
		table->libc_sigaction(guard_signal(index), &action, NULL);
	}
	atomic_store(&table->is_active, false);
	rnic_table_unlock(before);
}

bool rnic_actions_are_active(void)
{
	return atomic_load(&rnic_guard_table.is_active);
}

/*
 * A child of vfork() has the parent's memory and a kernel's table of its own. It changes
 * the latter alone, and sees the application's handler where the kernel still has the guard's.
 */
static int change_in_child(unsigned index, const struct sigaction *act, struct sigaction *old)
{
	int level;

	if (table->libc_sigaction(guard_signal(index), act, old) != 0)
		return -errno;
	level = rnic_fault_handler_level(old);
	if (level >= 0)
		show(index, (unsigned)level, old);
	return 0;
}

static int change_locked(unsigned index, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction found;
	int level;

	if (table->libc_sigaction(guard_signal(index), NULL, old) != 0)
		return -errno;
	level = rnic_fault_handler_level(old);
	if (level >= 0)
		show(index, (unsigned)level, old);
	if (act == NULL)
		return 0;
	/* The application takes the place of a stranger, who may be the action before its own. */
	if (level < 0)
		level = level_before(index, old);
	if (level < 0)
		level = (int)atomic_load(&table->top[index]);
	return set_front(index, (unsigned)level, act, &found);
}

int rnic_actions_change(unsigned index, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction action = {0};
	struct sigaction replaced;
	rnic_signal_mask before;
	int error = 0;

	/* A bad pointer of the application faults without the lock. */
	if (act != NULL)
		action = *act;
	act = act == NULL ? NULL : &action;
	if (rnic_table_is_of_parent()) {
		error = change_in_child(index, act, &replaced);
	} else {
		before = rnic_table_lock();
		error = change_locked(index, act, &replaced);
		rnic_table_unlock(before);
	}
	if (error != 0) {
		errno = -error;
		return -1;
	}
	if (old != NULL)
		*old = replaced;
	return 0;
}

/* Where another thread counts at the same moment, that look counts for nothing. */
static void count_peace(unsigned index)
{
	unsigned count = atomic_load(&fights[index]);

	if (count > 0)
		atomic_compare_exchange_strong(&fights[index], &count, count - 1);
}

/* Looks at one signal once more, with the lock. */
static int regain_front(unsigned index)
{
	const rnic_signal_mask before = rnic_table_lock();
	struct sigaction found;
	int level;
	int error = 0;

	if (table->libc_sigaction(guard_signal(index), NULL, &found) != 0) {
		error = -errno;
		goto unlock;
	}
	level = rnic_fault_handler_level(&found);
	if (level >= 0) {
		/* A stranger has gone again, and put back what he had found. */
		atomic_store(&table->top[index], (unsigned)level);
		count_peace(index);
	} else if (atomic_load(&fights[index]) >= FIGHTS_MAX) {
		error = -EBUSY;
	} else {
		atomic_fetch_add(&fights[index], 1);
		error = step_in_front(index, &found);
	}
unlock:
	rnic_table_unlock(before);
	return error;
}

int rnic_actions_look(void)
{
	int error = 0;

	atomic_store(&table->must_look, false);
	for (unsigned index = 0; index < GUARD_SIGNALS && error == 0; index++) {
		struct sigaction found;

		/* A filter that forbids the question forbids changes as well. */
		if (table->libc_sigaction(guard_signal(index), NULL, &found) != 0)
			continue;
		if (found.sa_sigaction != rnic_fault_handler(atomic_load(&table->top[index])))
			error = regain_front(index);
		else
			count_peace(index);
	}
	/* Every later turn looks, until a look succeeds. */
	if (error != 0)
		atomic_store(&table->must_look, true);
	return error;
}
