/* SPDX-License-Identifier: MIT */
/*
 * The functions that set an action, in front of the C library's: an application that set its own
 * past the guard would get the guard's faults. All of them are here, because the C library's own
 * call each other inside without coming here. They have no symbol versions: programs of all ages
 * come here, and librnic-guard.so is a library of its own because libibverbs must have versions.
 *
 * For other signals, and before the handlers are in place, the next library answers.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/dropin/guard/action_table.h"
#include "lib/dropin/guard/kernel_actions.h"

#define GUARD_API __attribute__((visibility("default")))

typedef void simple_handler(int);

/* As the C library has it for old programs; no header declares it any more. */
struct sigvec {
	simple_handler *sv_handler;
	int sv_mask;
	int sv_flags;
};

enum { OLD_ONSTACK = 1, OLD_INTERRUPT = 2, OLD_RESETHAND = 4 };

int __sigaction(int signal_number, const struct sigaction *act, struct sigaction *old);
simple_handler *bsd_signal(int signal_number, simple_handler *handler);
simple_handler *ssignal(int signal_number, simple_handler *handler);
simple_handler *sysv_signal(int signal_number, simple_handler *handler);
simple_handler *__sysv_signal(int signal_number, simple_handler *handler);
simple_handler *sigset(int signal_number, simple_handler *handler);
int sigignore(int signal_number);
int siginterrupt(int signal_number, int interrupts);
int sigvec(int signal_number, const struct sigvec *vector, struct sigvec *old);

typedef int action_call(int, const struct sigaction *, struct sigaction *);
typedef simple_handler *handler_call(int, simple_handler *);
typedef int ignore_call(int);
typedef int interrupt_call(int, int);
typedef int vector_call(int, const struct sigvec *, struct sigvec *);

enum next_name {
	NEXT_SIGACTION,
	NEXT_SIGNAL,
	NEXT_SYSV_SIGNAL,
	NEXT_SIGSET,
	NEXT_SIGIGNORE,
	NEXT_SIGINTERRUPT,
	NEXT_SIGVEC,
	NEXT_COUNT,
};

static const char *const next_names[NEXT_COUNT] = {
	[NEXT_SIGACTION] = "sigaction",
	[NEXT_SIGNAL] = "signal",
	[NEXT_SYSV_SIGNAL] = "__sysv_signal",
	[NEXT_SIGSET] = "sigset",
	[NEXT_SIGIGNORE] = "sigignore",
	[NEXT_SIGINTERRUPT] = "siginterrupt",
	[NEXT_SIGVEC] = "sigvec",
};

static _Atomic(void *) next_functions[NEXT_COUNT];

/* Signals of the guard, by index, for which siginterrupt() was called last with "yes". */
static atomic_bool interrupts_calls[GUARD_SIGNALS];

/* A signal handler may call sigaction(), but dlsym() takes locks and allocates. */
static __attribute__((constructor)) void find_next_functions(void)
{
	for (int name = 0; name < NEXT_COUNT; name++)
		atomic_store(&next_functions[name], dlsym(RTLD_NEXT, next_names[name]));
}

/* Constructors of other libraries come here before the one above. */
static void *next_function(enum next_name name)
{
	void *function = atomic_load(&next_functions[name]);

	if (function == NULL)
		function = dlsym(RTLD_NEXT, next_names[name]);
	if (function == NULL)
		errno = ENOSYS;
	return function;
}

/* Calls the next library's function, or returns `failure` where there is none. */
#define CALL_NEXT(name, type, failure, ...)                                                        \
	({                                                                                         \
		type *next = (type *)next_function(name);                                          \
                                                                                                   \
		next == NULL ? (failure) : next(__VA_ARGS__);                                      \
	})

/* The index of a signal whose action is the guard's business now, else -1. */
static int index_if_active(int signal_number)
{
	return rnic_actions_are_active() ? guard_index(signal_number) : -1;
}

/* The handlers may have come in place while the next library set an action, which hid them. */
static void look_after_change(int signal_number)
{
	atomic_fetch_add(&rnic_guard_table.action_changes, 1);
	if (index_if_active(signal_number) >= 0)
		rnic_actions_look();
}

static int change_action(int signal_number, const struct sigaction *act, struct sigaction *old)
{
	const int index = index_if_active(signal_number);
	int result;

	if (index >= 0)
		return rnic_actions_change((unsigned)index, act, old);
	result = CALL_NEXT(NEXT_SIGACTION, action_call, -1, signal_number, act, old);
	if (act != NULL)
		look_after_change(signal_number);
	return result;
}

GUARD_API int sigaction(int signal_number, const struct sigaction *act, struct sigaction *old)
{
	return change_action(signal_number, act, old);
}

GUARD_API int __sigaction(int signal_number, const struct sigaction *act, struct sigaction *old)
{
	return change_action(signal_number, act, old);
}

/* signal() and its like, as `name` says. `index` is index_if_active(). Returns the handler before.
 */
static simple_handler *change_handler(enum next_name name, int index, int signal_number,
				      const struct sigaction *act)
{
	struct sigaction before;

	if (index < 0) {
		before.sa_handler =
			CALL_NEXT(name, handler_call, SIG_ERR, signal_number, act->sa_handler);
		look_after_change(signal_number);
	} else if (act->sa_handler == SIG_ERR) {
		errno = EINVAL;
		before.sa_handler = SIG_ERR;
	} else if (rnic_actions_change((unsigned)index, act, &before) != 0) {
		before.sa_handler = SIG_ERR;
	}
	return before.sa_handler;
}

static simple_handler *change_as_bsd(int signal_number, simple_handler *handler)
{
	const int index = index_if_active(signal_number);
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	sigaddset(&action.sa_mask, signal_number);
	if (index >= 0 && atomic_load(&interrupts_calls[index]))
		action.sa_flags = 0;
	return change_handler(NEXT_SIGNAL, index, signal_number, &action);
}

GUARD_API simple_handler *signal(int signal_number, simple_handler *handler)
{
	return change_as_bsd(signal_number, handler);
}

GUARD_API simple_handler *bsd_signal(int signal_number, simple_handler *handler)
{
	return change_as_bsd(signal_number, handler);
}

GUARD_API simple_handler *ssignal(int signal_number, simple_handler *handler)
{
	return change_as_bsd(signal_number, handler);
}

static simple_handler *change_as_system_v(int signal_number, simple_handler *handler)
{
	const struct sigaction action = {.sa_handler = handler,
					 .sa_flags = (int)SA_RESETHAND | SA_NODEFER};

	return change_handler(NEXT_SYSV_SIGNAL, index_if_active(signal_number), signal_number,
			      &action);
}

GUARD_API simple_handler *sysv_signal(int signal_number, simple_handler *handler)
{
	return change_as_system_v(signal_number, handler);
}

GUARD_API simple_handler *__sysv_signal(int signal_number, simple_handler *handler)
{
	return change_as_system_v(signal_number, handler);
}

GUARD_API simple_handler *sigset(int signal_number, simple_handler *handler)
{
	const int index = index_if_active(signal_number);
	struct sigaction action = {.sa_handler = handler};
	simple_handler *before;
	sigset_t set;
	sigset_t mask_before;

	if (index < 0 || handler != SIG_HOLD) {
		before = change_handler(NEXT_SIGSET, index, signal_number, &action);
	} else {
		before = rnic_actions_change((unsigned)index, NULL, &action) == 0
				 ? action.sa_handler
				 : SIG_ERR;
	}
	if (index < 0 || before == SIG_ERR)
		return before;
	sigemptyset(&set);
	sigaddset(&set, signal_number);
	sigprocmask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &set, &mask_before);
	return sigismember(&mask_before, signal_number) == 1 ? SIG_HOLD : before;
}

GUARD_API int sigignore(int signal_number)
{
	const int index = index_if_active(signal_number);
	int result;

	if (index >= 0)
		return rnic_actions_change((unsigned)index,
					   &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	result = CALL_NEXT(NEXT_SIGIGNORE, ignore_call, -1, signal_number);
	look_after_change(signal_number);
	return result;
}

GUARD_API int siginterrupt(int signal_number, int interrupts)
{
	const int index = index_if_active(signal_number);
	struct sigaction action;
	int result;

	if (guard_index(signal_number) >= 0)
		atomic_store(&interrupts_calls[guard_index(signal_number)], interrupts != 0);
	if (index >= 0) {
		if (rnic_actions_change((unsigned)index, NULL, &action) != 0)
			return -1;
		action.sa_flags = interrupts != 0 ? action.sa_flags & ~SA_RESTART
						  : action.sa_flags | SA_RESTART;
		return rnic_actions_change((unsigned)index, &action, NULL);
	}
	result = CALL_NEXT(NEXT_SIGINTERRUPT, interrupt_call, -1, signal_number, interrupts);
	look_after_change(signal_number);
	return result;
}

/* The old mask names signals 1 to 32, one bit each. */
#define OLD_MASK_SIGNALS 32

static uint32_t old_mask(const sigset_t *set)
{
	uint32_t mask = 0;

	for (int number = 1; number <= OLD_MASK_SIGNALS; number++)
		if (sigismember(set, number) == 1)
			mask |= UINT32_C(1) << (number - 1);
	return mask;
}

/* The C library keeps some signals for itself, and does not add them. */
static void add_old_mask(sigset_t *set, uint32_t mask)
{
	for (int number = 1; number <= OLD_MASK_SIGNALS; number++)
		if ((mask >> (number - 1) & 1) != 0)
			sigaddset(set, number);
}

static void show_old_style(const struct sigaction *action, struct sigvec *vector)
{
	vector->sv_handler = action->sa_handler;
	vector->sv_mask = (int)old_mask(&action->sa_mask);
	vector->sv_flags = ((action->sa_flags & SA_ONSTACK) != 0 ? OLD_ONSTACK : 0) |
			   ((action->sa_flags & SA_RESTART) == 0 ? OLD_INTERRUPT : 0) |
			   ((action->sa_flags & SA_RESETHAND) != 0 ? OLD_RESETHAND : 0);
}

GUARD_API int sigvec(int signal_number, const struct sigvec *vector, struct sigvec *old)
{
	const int index = index_if_active(signal_number);
	struct sigaction action = {0};
	struct sigaction before;
	int result;

	if (index < 0) {
		result = CALL_NEXT(NEXT_SIGVEC, vector_call, -1, signal_number, vector, old);
		look_after_change(signal_number);
		return result;
	}
	if (vector != NULL) {
		action.sa_handler = vector->sv_handler;
		add_old_mask(&action.sa_mask, (uint32_t)vector->sv_mask);
		action.sa_flags = ((vector->sv_flags & OLD_ONSTACK) != 0 ? SA_ONSTACK : 0) |
				  ((vector->sv_flags & OLD_INTERRUPT) == 0 ? SA_RESTART : 0) |
				  ((vector->sv_flags & OLD_RESETHAND) != 0 ? (int)SA_RESETHAND : 0);
	}
	if (rnic_actions_change((unsigned)index, vector == NULL ? NULL : &action, &before) != 0)
		return -1;
	if (old != NULL)
		show_old_style(&before, old);
	return 0;
}
