/* SPDX-License-Identifier: MIT */
/* What librnic-guard.so shows to rnic_guard_open(). */
#include "lib/dropin/guard/guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>

#include "lib/dropin/guard/action_table.h"
#include "lib/dropin/guard/fault_handler.h"
#include "lib/dropin/guard/guarded_copy.h"
#include "lib/dropin/guard/held_signals.h"
#include "lib/dropin/guard/kernel_actions.h"

extern const struct rnic_guard RNIC_GUARD_SYMBOL;

/*
 * A program that sees the guard's handler could set its own in the guard's place, and the next
 * guarded fault would be the program's. That is so where another library stands in front and goes
 * past this one. Sanitizers stand in front and call the next.
 */
static bool application_sees_guard(void)
{
	int (*first)(int, const struct sigaction *, struct sigaction *) = NULL;
	struct sigaction seen;

	*(void **)&first = dlsym(RTLD_DEFAULT, "sigaction");
	return first == NULL || first(SIGSEGV, NULL, &seen) != 0 ||
	       rnic_fault_handler_level(&seen) >= 0;
}

static int guard_install(void)
{
	int error = rnic_actions_install();

	if (error == 0 && application_sees_guard())
		error = -ENOTSUP;
	if (error != 0 && error != -ENOSYS)
		rnic_actions_remove();
	return error;
}

static int guard_turn_begin(struct rnic_guard_turn *turn)
{
	const bool is_time = rnic_held_is_time_to_look();

	if (is_time || atomic_load_explicit(&rnic_guard_table.must_look, memory_order_relaxed)) {
		int error = rnic_actions_look();

		if (error != 0)
			return error;
	}
	rnic_held_open(turn);
	return 0;
}

const struct rnic_guard RNIC_GUARD_SYMBOL __attribute__((visibility("default"))) = {
	.install = guard_install,
	.turn_begin = guard_turn_begin,
	.turn_end = rnic_held_close,
	.write = rnic_guarded_write,
	.read = rnic_guarded_read,
	.fetch_add = rnic_guarded_fetch_add,
	.compare_swap = rnic_guarded_compare_swap,
	.action_changes = &rnic_guard_table.action_changes,
};
