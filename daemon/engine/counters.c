/* SPDX-License-Identifier: MIT */
#include "engine/counters.h"

#include <assert.h>

static const struct {
	const char *name;
	const char *help;
} counter_rows[COUNTER_COUNT] = {
#define COUNTER(identifier, name, help) [COUNTER_##identifier] = {name, help},
#include "engine/counters.def"
#undef COUNTER
};

const char *counter_name(enum counter counter)
{
	assert(counter < COUNTER_COUNT);
	return counter_rows[counter].name;
}

const char *counter_help(enum counter counter)
{
	assert(counter < COUNTER_COUNT);
	return counter_rows[counter].help;
}
