/* SPDX-License-Identifier: MIT */
/*
 * The kernel ends a process whose thread faults with the signal blocked, handler or not. So a turn
 * opens the guard's signals where the application has blocked them. Signals that somebody sent
 * arrive meanwhile too; the thread holds them, and sends them on when the signals are blocked
 * again. So sigwait(), signalfd() and other threads get them.
 *
 * All of this is the calling thread's.
 */
#ifndef LIB_DROPIN_GUARD_HELD_SIGNALS_H
#define LIB_DROPIN_GUARD_HELD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/dropin/guard/guard.h"

/* Opens what is blocked. Only the thread itself changes its mask, so the answer stays right. */
void rnic_held_open(struct rnic_guard_turn *turn);

/* Blocks again what `turn` opened, and sends on. */
void rnic_held_close(const struct rnic_guard_turn *turn);

/* Whether the application has blocked the signal and a turn has opened it. */
bool rnic_held_is_open(unsigned index);

/*
 * Keeps a sent signal that arrived while it is open. The first one for the thread stays, and the
 * first one for the process, as in the kernel.
 */
void rnic_held_keep(unsigned index, const siginfo_t *info);

/* Whether this turn is the thread's first, or every 64th after that. */
bool rnic_held_is_time_to_look(void);

#endif
