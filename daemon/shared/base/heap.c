/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/heap.h"

#include <malloc.h>

void heap_limit_mappings(int mappings)
{
	mallopt(M_MMAP_MAX, mappings);
	mallopt(M_ARENA_MAX, 1);
}

void heap_give_back(void)
{
	if (mallinfo2().fordblks > HEAP_KEPT_BYTES)
		malloc_trim(0);
}
