/* SPDX-License-Identifier: MIT */
#include "lib/client/native/populate.h"

#include <errno.h>
#include <stdint.h>
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

int rnic_populate(const void *address, size_t length, bool for_writing)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	const int advice = for_writing ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	const uintptr_t start = (uintptr_t)address & ~(page_bytes - 1);
	uintptr_t end;

	if (__builtin_add_overflow((uintptr_t)address, length, &end) ||
	    __builtin_add_overflow(end, page_bytes - 1, &end))
		return -EINVAL;
	end &= ~(page_bytes - 1);
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
