/* SPDX-License-Identifier: MIT */
#include "lib/client/native/populate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* Kernels before 5.14: at least that every page is mapped. */
static int prove_mapped(uintptr_t start, size_t bytes, size_t page_bytes)
{
	unsigned char present[1024];

	for (size_t done = 0; done < bytes;) {
		size_t part = bytes - done;

		if (part > sizeof(present) * page_bytes)
			part = sizeof(present) * page_bytes;
		if (mincore((void *)(start + done), part, present) != 0)
			return errno == EAGAIN ? -EAGAIN : -EFAULT;
		done += part;
	}
	return 0;
}

/* Brings the pages from `start` to `end` into being. Both are multiples of a page. */
static int populate_pages(uintptr_t start, uintptr_t end, size_t page_bytes, bool for_writing)
{
	const int advice = for_writing ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	while (madvise((void *)start, end - start, advice) != 0) {
		switch (errno) {
		case EINTR:
			continue;
		case ENOMEM:
		case EFAULT:
			return -EFAULT;
		case EINVAL:
			/* The kernel does not know the advice, or the pages do not allow it. */
			if (madvise((void *)start, 0, advice) == 0)
				return -EFAULT;
			return prove_mapped(start, end - start, page_bytes);
		default:
			return -errno;
		}
	}
	return 0;
}

/*
 * Populates one page of each mapping between `start` and `end`: all pages of a mapping have the
 * same protection. `maps` is an open /proc/self/maps, whose lines come in ascending order.
 */
static int populate_one_page_each(FILE *maps, uintptr_t start, uintptr_t end, size_t page_bytes,
				  bool for_writing)
{
	uintptr_t proved = start;
	size_t line_bytes = 0;
	char *line = NULL;
	int error = 0;

	while (error == 0 && proved < end && getline(&line, &line_bytes, maps) >= 0) {
		uintptr_t from, to;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2 || to <= proved)
			continue;
		if (from > proved)
			break;
		error = populate_pages(proved, proved + page_bytes, page_bytes, for_writing);
		proved = to;
	}
	free(line);
	return error != 0 || proved >= end ? error : -EFAULT;
}

static int prove_mappings(uintptr_t start, uintptr_t end, size_t page_bytes, bool for_writing)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	int error;

	/* Without /proc nothing tells where a mapping ends, so each page is proved. */
	if (maps == NULL)
		return populate_pages(start, end, page_bytes, for_writing);
	error = populate_one_page_each(maps, start, end, page_bytes, for_writing);
	fclose(maps);
	return error;
}

int rnic_populate(const void *address, size_t length, bool for_writing, uint64_t populate_bytes)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	const uintptr_t start = (uintptr_t)address & ~(page_bytes - 1);
	uintptr_t end, bound;
	int error;

	if (__builtin_add_overflow((uintptr_t)address, length, &end) ||
	    __builtin_add_overflow(end, page_bytes - 1, &end))
		return -EINVAL;
	end &= ~(page_bytes - 1);
	bound = end - start < populate_bytes ? end : start + populate_bytes;
	error = populate_pages(start, bound, page_bytes, for_writing);
	if (error != 0 || bound == end)
		return error;
	return prove_mappings(bound, end, page_bytes, for_writing);
}
