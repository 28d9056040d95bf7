/* SPDX-License-Identifier: MIT */
/*
 * The ways in which user_attacker makes work. A way that cannot do what it wants ends the process
 * with status 1 and says why: an attack that did not happen proves nothing.
 */
#ifndef TESTS_HOSTILE_USERS_ATTACK_WAYS_H
#define TESTS_HOSTILE_USERS_ATTACK_WAYS_H

#include "tests/interop/verbs/verbs_bench.h"

#include <stdbool.h>

struct attack_way {
	const char *name;
	bool needs_bench;
	void (*prepare)(struct bench *bench, unsigned amount); /* NULL: nothing */
	void (*turn)(struct bench *bench);
};

/* NULL: there is no such way. */
const struct attack_way *attack_way_find(const char *name);

#endif
