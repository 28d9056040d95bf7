/* SPDX-License-Identifier: MIT */
/*
 * A library that stands before the guard's and goes past it: its sigaction() is the C library's.
 */
#include <signal.h>

#include "tests/unit/lib/dropin/guard/guard_fixture.h"

__attribute__((visibility("default"))) int sigaction(int signal_number, const struct sigaction *act,
						     struct sigaction *old)
{
	return sigaction_of_libc(signal_number, act, old);
}
