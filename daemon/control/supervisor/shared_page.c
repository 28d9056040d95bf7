/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/shared_page.h"

#include "proto/base/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux 5.1; headers of older C libraries lack the constant. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define PAGE_BYTES 4096

/* Writes by a system call, not through a mapping: without memory the call fails. */
static int shared_page_fill(int fd, size_t bytes)
{
	static const uint8_t zeroes[PAGE_BYTES];

	if (ftruncate(fd, (off_t)bytes) != 0)
		return -errno;
	for (size_t done = 0; done < bytes; done += sizeof(zeroes)) {
		ssize_t written = pwrite(fd, zeroes, sizeof(zeroes), (off_t)done);

		if (written != (ssize_t)sizeof(zeroes))
			return written < 0 ? -errno : -ENOSPC;
	}
	return 0;
}

static int shared_page_map(struct shared_page *page, enum shared_page_writer writer)
{
	const bool is_written_here = writer == SHARED_PAGE_OF_CONTROL;
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL |
			  (is_written_here ? F_SEAL_FUTURE_WRITE : 0);
	int result = shared_page_fill(page->fd, page->bytes);

	if (result != 0)
		return result;
	page->address =
		mmap(NULL, page->bytes, is_written_here ? PROT_READ | PROT_WRITE : PROT_READ,
		     MAP_SHARED, page->fd, 0);
	if (page->address == MAP_FAILED) {
		page->address = NULL;
		return -errno;
	}
	return fcntl(page->fd, F_ADD_SEALS, seals) == 0 ? 0 : -errno;
}

int shared_page_open(struct shared_page *page, const char *name, size_t bytes,
		     enum shared_page_writer writer)
{
	int result;

	*page = (struct shared_page){.bytes = rnic_round_up(bytes, PAGE_BYTES), .fd = -1};
	page->fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (page->fd < 0)
		return -errno;
	result = shared_page_map(page, writer);
	if (result != 0)
		shared_page_close(page);
	return result;
}

void shared_page_close_fd(struct shared_page *page)
{
	if (page->fd >= 0)
		close(page->fd);
	page->fd = -1;
}

void shared_page_close(struct shared_page *page)
{
	shared_page_close_fd(page);
	if (page->address != NULL)
		munmap(page->address, page->bytes);
	page->address = NULL;
}
