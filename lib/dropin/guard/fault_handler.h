/* SPDX-License-Identifier: MIT */
/* The guard's handlers, one for each level of action_table.h; the same for both signals. */
#ifndef LIB_DROPIN_GUARD_FAULT_HANDLER_H
#define LIB_DROPIN_GUARD_FAULT_HANDLER_H

#include <signal.h>

typedef void rnic_signal_handler(int signal, siginfo_t *info, void *context);

rnic_signal_handler *rnic_fault_handler(unsigned level);

/* The level of a handler, or -1: somebody else's. */
int rnic_fault_handler_level(const struct sigaction *action);

#endif
