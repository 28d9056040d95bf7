/* SPDX-License-Identifier: MIT */
/* The kernel's actions for the guard's signals: put in place, changed, and kept in front. */
#ifndef LIB_DROPIN_GUARD_KERNEL_ACTIONS_H
#define LIB_DROPIN_GUARD_KERNEL_ACTIONS_H

#include <signal.h>
#include <stdbool.h>

/*
 * Puts the handlers in front of the application's, once. 0, or -ENOSYS: no known C library.
 * Other errors: those of sigaction(), where a filter of system calls forbids the change;
 * rnic_actions_remove() takes back what stands.
 */
int rnic_actions_install(void);

/* Gives the application's handlers back to the kernel. */
void rnic_actions_remove(void);

/* Whether the handlers are in place. */
bool rnic_actions_are_active(void);

/*
 * sigaction() for a signal of the guard once the handlers are in place: the application sees and
 * changes its own action alone. NULL for `act` and `old` as there, and results as there.
 */
int rnic_actions_change(unsigned index, const struct sigaction *act, struct sigaction *old);

/*
 * Looks whether somebody else has put himself in front by calling the kernel directly, and steps
 * in front of him again. -EBUSY: he comes back too often, or too many have come; a later look
 * succeeds once he is gone. Other errors: those of sigaction().
 */
int rnic_actions_look(void);

#endif
