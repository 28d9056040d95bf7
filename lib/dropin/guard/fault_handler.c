/* SPDX-License-Identifier: MIT */
#include "lib/dropin/guard/fault_handler.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "lib/dropin/guard/action_table.h"
#include "lib/dropin/guard/bare_calls.h"
#include "lib/dropin/guard/code_ranges.h"
#include "lib/dropin/guard/held_signals.h"

#ifndef SEGV_MTEAERR
#define SEGV_MTEAERR 8
#endif

static uintptr_t context_pc(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
	return context->uc_mcontext.pc;
#endif
}

static void set_context_pc(ucontext_t *context, uintptr_t pc)
{
#if defined(__x86_64__)
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
#else
	context->uc_mcontext.pc = pc;
#endif
}

/*
 * Whether the instruction at the program counter caused the signal. A sent signal has a code of 0
 * or below. A memory error that the kernel noticed, and an asynchronous tag fault, have nothing to
 * do with the program counter.
 */
static bool is_fault(int signal, const siginfo_t *info)
{
	if (signal == SIGBUS)
		return info->si_code > 0 && info->si_code != BUS_MCEERR_AO;
	return info->si_code > 0 && info->si_code != SEGV_MTEAERR;
}

/* Whether the fault is the guard's; then the thread continues with the error. */
static inline bool answer_guarded_fault(int signal, const siginfo_t *info, ucontext_t *context)
{
	const uintptr_t fixup = is_fault(signal, info) ? rnic_code_fixup(context_pc(context)) : 0;

	if (fixup != 0)
		set_context_pc(context, fixup);
	return fixup != 0;
}

/*
 * Without a handler of the application the process ends as it would have ended. A fault repeats
 * after SIG_DFL, so that the core dump is at the right place; queueing the fault again would
 * confuse valgrind and qemu. A sent signal is queued again to this thread, and is delivered when
 * this handler returns. The kernel spares the first process of a container; then the next turn
 * finds the handlers gone.
 */
static void end_by_default(int signal, const siginfo_t *info)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};

	rnic_guard_table.libc_sigaction(signal, &by_default, NULL);
	atomic_store(&rnic_guard_table.must_look, true);
	if (!is_fault(signal, info))
		rnic_bare_queue_to_thread(signal, info);
}

/* The kernel's answer to a signal that a turn has opened, had the signal stayed blocked. */
static void answer_blocked(unsigned index, int signal, const siginfo_t *info)
{
	if (is_fault(signal, info))
		end_by_default(signal, info);
	else
		rnic_held_keep(index, info);
}

/* Deals with any other signal. Returns the application's handler where that is to be called. */
static __attribute__((noinline)) rnic_signal_handler *answer_signal(unsigned level, int signal,
								    const siginfo_t *info)
{
	const int index = guard_index(signal);
	const int error = errno;
	uintptr_t handler = 0;

	if (index < 0)
		return NULL;
	if (rnic_held_is_open((unsigned)index)) {
		answer_blocked((unsigned)index, signal, info);
	} else {
		handler = rnic_action_take((unsigned)index, level);
		/* The kernel ignores SIG_IGN for a fault. */
		if (handler == (uintptr_t)SIG_DFL ||
		    (handler == (uintptr_t)SIG_IGN && is_fault(signal, info)))
			end_by_default(signal, info);
	}
	errno = error;
	if (handler == (uintptr_t)SIG_DFL || handler == (uintptr_t)SIG_IGN)
		return NULL;
	return (rnic_signal_handler *)handler;
}

/*
 * The application's handler is a tail call, so that the frame of the handler here is gone
 * and a backtrace, an exception or a longjmp() from there meets the kernel's frame next. A handler
 * with one parameter ignores the others.
 */
#define HANDLER(level)                                                                             \
	static void fault_handler_##level(int signal, siginfo_t *info, void *context)              \
	{                                                                                          \
		rnic_signal_handler *handler;                                                      \
                                                                                                   \
		if (answer_guarded_fault(signal, info, context))                                   \
			return;                                                                    \
		handler = answer_signal(level, signal, info);                                      \
		if (handler != NULL)                                                               \
			handler(signal, info, context);                                            \
	}

HANDLER(0)
HANDLER(1)
HANDLER(2)
HANDLER(3)
HANDLER(4)
HANDLER(5)
HANDLER(6)
HANDLER(7)

static rnic_signal_handler *const handlers[] = {
	fault_handler_0, fault_handler_1, fault_handler_2, fault_handler_3,
	fault_handler_4, fault_handler_5, fault_handler_6, fault_handler_7,
};

_Static_assert(sizeof(handlers) / sizeof(handlers[0]) == GUARD_LEVELS, "a handler for each level");

rnic_signal_handler *rnic_fault_handler(unsigned level)
{
	return handlers[level];
}

int rnic_fault_handler_level(const struct sigaction *action)
{
	for (unsigned level = 0; level < GUARD_LEVELS; level++)
		if (action->sa_sigaction == handlers[level])
			return (int)level;
	return -1;
}
