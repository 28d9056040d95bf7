/* SPDX-License-Identifier: MIT */
/* What several ways of attack_ways.h need. */
#ifndef TESTS_HOSTILE_USERS_ATTACK_TOOLS_H
#define TESTS_HOSTILE_USERS_ATTACK_TOOLS_H

#include <stdnoreturn.h>

#define ATTACK_WATCH_SETS_MAX 5000

/* Says what failed, and why, and ends the process with status 1. */
noreturn void attack_die(const char *what);

/*
 * Watches `fd` by `amount` entries of epoll, a thousand in each set: whoever makes `fd` readable
 * pays for each watch. Stores the descriptors of the sets, at most ATTACK_WATCH_SETS_MAX, and
 * returns their number.
 */
unsigned attack_watch_descriptor(int fd, unsigned amount, int sets[ATTACK_WATCH_SETS_MAX]);

#endif
