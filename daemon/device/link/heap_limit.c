/* SPDX-License-Identifier: MIT */
#include "daemon/device/link/heap_limit.h"

#include <errno.h>
#include <sys/resource.h>

uint64_t heap_limit_part(uint64_t budget_bytes)
{
	return budget_bytes / HEAP_LIMIT_PARTS;
}

#ifdef RNIC_SANITIZED

int heap_limit_set(uint64_t bytes)
{
	(void)bytes;
	return 0;
}

#else

int heap_limit_set(uint64_t bytes)
{
	const uint64_t most = bytes > RLIM_INFINITY - HEAP_LIMIT_PROCESS_BYTES
				      ? RLIM_INFINITY
				      : bytes + HEAP_LIMIT_PROCESS_BYTES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit) != 0)
		return -errno;
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_DATA, &limit) == 0 ? 0 : -errno;
}

#endif
