/* SPDX-License-Identifier: MIT */
/*
 * A login often permits 1024 descriptors and more on demand (`ulimit -n`, `ulimit -Hn`). The daemon
 * reckons with the hard limit: tests that open as much as the daemon permits need the same.
 */
#ifndef TESTS_UNIT_ALL_DESCRIPTORS_H
#define TESTS_UNIT_ALL_DESCRIPTORS_H

#include <stdbool.h>
#include <sys/resource.h>

/* Raises this process's limit of descriptors to the hard limit. False with errno. */
static inline bool take_all_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

#endif
