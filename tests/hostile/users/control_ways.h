/* SPDX-License-Identifier: MIT */
/* The ways of attack_ways.h that make work for the control plane alone. */
#ifndef TESTS_HOSTILE_USERS_CONTROL_WAYS_H
#define TESTS_HOSTILE_USERS_CONTROL_WAYS_H

#include "tests/hostile/users/attack_ways.h"

/* NULL: there is no such way. */
const struct attack_way *control_way_find(const char *name);

#endif
