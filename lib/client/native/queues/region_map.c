/* SPDX-License-Identifier: MIT */
#include "lib/client/native/queues/region_map.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

static bool is_client_written(enum rnic_region_kind kind)
{
	return kind == RNIC_REGION_SESSION || kind == RNIC_REGION_QUEUES || kind == RNIC_REGION_SRQ;
}

static bool is_header_right(const struct rnic_region_header *header, enum rnic_region_kind kind,
			    uint64_t bytes)
{
	return header->magic == RNIC_REGION_MAGIC && header->version == RNIC_SHM_VERSION &&
	       header->kind == kind && header->bytes >= bytes;
}

int rnic_region_map(int fd, enum rnic_region_kind kind, uint64_t bytes, void **region)
{
	const int rights = is_client_written(kind) ? PROT_READ | PROT_WRITE : PROT_READ;
	struct stat status;
	void *mapped;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (status.st_size < 0 || (uint64_t)status.st_size < bytes)
		return -EIO;
	mapped = mmap(NULL, bytes, rights, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	if (rnic_region_has_header(kind) && !is_header_right(mapped, kind, bytes)) {
		munmap(mapped, bytes);
		return -EIO;
	}
	*region = mapped;
	return 0;
}

void rnic_region_unmap(const void *region, uint64_t bytes)
{
	if (region != NULL)
		munmap((void *)region, bytes);
}
