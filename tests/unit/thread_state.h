/* SPDX-License-Identifier: MIT */
/* What the kernel says of a thread of this process. */
#ifndef TESTS_UNIT_THREAD_STATE_H
#define TESTS_UNIT_THREAD_STATE_H

#include "tests/unit/unit_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Opens a file of the thread in /proc, to be closed by the caller. */
static inline FILE *thread_open(pid_t thread, const char *name)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)thread, name);
	file = fopen(path, "re");
	assert_non_null(file);
	return file;
}

static inline bool thread_is_asleep(pid_t thread)
{
	FILE *file = thread_open(thread, "stat");
	char state = 0;

	assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state == 'S';
}

#endif
