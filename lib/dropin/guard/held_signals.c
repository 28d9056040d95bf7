/* SPDX-License-Identifier: MIT */
#include "lib/dropin/guard/held_signals.h"

#include "lib/dropin/guard/action_table.h"
#include "lib/dropin/guard/bare_calls.h"

#define TURNS_PER_LOOK 64

#define BIT(index) (UINT32_C(1) << (index))

/* The kernel has a signal pending for a thread and for the process, once each. */
enum pending_queue { PENDING_OF_THREAD, PENDING_OF_PROCESS, PENDING_QUEUES };

/*
 * A preloaded library has its thread-local memory from the start of a thread on: a handler cannot
 * wait for an allocation. A handler writes `held` and `kept` only while the signal is open.
 */
static _Thread_local struct {
	uint32_t turns;
	volatile uint32_t opened; /* bits of indices */
	volatile uint32_t held[PENDING_QUEUES];
	siginfo_t kept[PENDING_QUEUES][GUARD_SIGNALS];
} thread __attribute__((tls_model("initial-exec")));

static rnic_signal_mask signals_of(uint32_t bits)
{
	rnic_signal_mask mask = 0;

	for (unsigned index = 0; index < GUARD_SIGNALS; index++)
		if ((bits & BIT(index)) != 0)
			mask |= RNIC_SIGNAL_BIT(guard_signal(index));
	return mask;
}

void rnic_held_open(struct rnic_guard_turn *turn)
{
	rnic_signal_mask mask = rnic_bare_mask_change(SIG_BLOCK, NULL);

	turn->opened = 0;
	turn->outer = thread.opened;
	for (unsigned index = 0; index < GUARD_SIGNALS; index++)
		if ((mask & RNIC_SIGNAL_BIT(guard_signal(index))) != 0)
			turn->opened |= BIT(index);
	if (turn->opened == 0)
		return;
	thread.opened |= turn->opened;
	mask = signals_of(turn->opened);
	rnic_bare_mask_change(SIG_UNBLOCK, &mask);
}

/*
 * A signal from tgkill() was for this thread. All others were for the process, as far as known:
 * pthread_sigqueue() and a timer with SIGEV_THREAD_ID leave the codes of sigqueue() and of a timer.
 */
static enum pending_queue queue_of(const siginfo_t *info)
{
	return info->si_code == SI_TKILL ? PENDING_OF_THREAD : PENDING_OF_PROCESS;
}

static void send_on(enum pending_queue queue, unsigned index)
{
	const siginfo_t *info = &thread.kept[queue][index];

	if (queue == PENDING_OF_THREAD)
		rnic_bare_queue_to_thread(guard_signal(index), info);
	else
		rnic_bare_queue_to_process(guard_signal(index), info);
}

void rnic_held_close(const struct rnic_guard_turn *turn)
{
	rnic_signal_mask mask = signals_of(turn->opened);

	if (turn->opened == 0)
		return;
	rnic_bare_mask_change(SIG_BLOCK, &mask);
	thread.opened = turn->outer;
	for (enum pending_queue queue = 0; queue < PENDING_QUEUES; queue++) {
		const uint32_t held = thread.held[queue] & turn->opened;

		thread.held[queue] &= ~held;
		for (unsigned index = 0; index < GUARD_SIGNALS; index++)
			if ((held & BIT(index)) != 0)
				send_on(queue, index);
	}
}

bool rnic_held_is_open(unsigned index)
{
	return (thread.opened & BIT(index)) != 0;
}

void rnic_held_keep(unsigned index, const siginfo_t *info)
{
	const enum pending_queue queue = queue_of(info);

	if ((thread.held[queue] & BIT(index)) != 0)
		return;
	thread.kept[queue][index] = *info;
	thread.held[queue] |= BIT(index);
}

bool rnic_held_is_time_to_look(void)
{
	return thread.turns++ % TURNS_PER_LOOK == 0;
}
