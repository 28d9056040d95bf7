/* SPDX-License-Identifier: MIT */
#include "daemon/device/session/shared_region.h"

#include "proto/base/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux 5.1; headers of older C libraries lack the constant. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SHARED_REGION_PAGE_BYTES 4096

static const struct {
	const char *name;
	bool client_writes;
} shared_region_kinds[] = {
	[RNIC_REGION_SESSION] = {"rnic-session", true},
	[RNIC_REGION_STATUS] = {"rnic-status", false},
	[RNIC_REGION_QUEUES] = {"rnic-queues", true},
	[RNIC_REGION_CQ] = {"rnic-cq", false},
	[RNIC_REGION_SRQ] = {"rnic-srq", true},
};

/*
 * Writes with a system call, not through the mapping: a machine without memory then fails the call.
 */
static bool shared_region_write_header(int memfd, enum rnic_region_kind kind, uint64_t bytes)
{
	const struct rnic_region_header header = {
		.magic = RNIC_REGION_MAGIC,
		.version = RNIC_SHM_VERSION,
		.kind = (uint16_t)kind,
		.bytes = bytes,
	};

	return pwrite(memfd, &header, sizeof(header), 0) == (ssize_t)sizeof(header);
}

int shared_region_create(struct shared_region *region, enum rnic_region_kind kind, uint64_t bytes,
			 int *fd)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	void *address;
	int memfd, result;

	bytes = rnic_round_up(bytes, SHARED_REGION_PAGE_BYTES);
	memfd = memfd_create(shared_region_kinds[kind].name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memfd < 0)
		return -errno;
	if (ftruncate(memfd, (off_t)bytes) != 0)
		goto close_memfd;
	if (rnic_region_has_header(kind) && !shared_region_write_header(memfd, kind, bytes))
		goto close_memfd;
	address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (address == MAP_FAILED)
		goto close_memfd;
	if (!shared_region_kinds[kind].client_writes)
		seals |= F_SEAL_FUTURE_WRITE;
	if (fcntl(memfd, F_ADD_SEALS, seals) != 0)
		goto unmap;

	region->address = address;
	region->bytes = bytes;
	*fd = memfd;
	return 0;

unmap:
	result = -errno;
	munmap(address, bytes);
	close(memfd);
	return result;
close_memfd:
	result = -errno;
	close(memfd);
	return result;
}

void shared_region_close(struct shared_region *region)
{
	if (region->address != NULL)
		munmap(region->address, region->bytes);
	*region = (struct shared_region){0};
}
