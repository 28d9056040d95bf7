/* SPDX-License-Identifier: MIT */
/*
 * The mappings in the daemon's address space for which a client is charged: the client's memfds,
 * and the regions that the daemon shares with the client.
 */
#include "daemon/device/session/session.h"

#include "daemon/shared/quota/quota.h"

#include <sys/mman.h>
#include <unistd.h>

/* Unmapping more bytes takes longer than handing the job to another thread. */
#define FEW_BYTES (UINT64_C(1) << 18)

void session_unmap(void *context, void *address, uint64_t bytes)
{
	struct session *session = context;

	if (bytes <= FEW_BYTES)
		munmap(address, bytes);
	else
		quota_defer_unmap(session->account, address, bytes);
}

int session_open_mapping(struct session *session, struct mapped_region *region, int fd,
			 uint64_t offset, uint64_t bytes)
{
	const struct mapped_files before = session->files;
	int result = mapped_region_open(region, &session->files, fd, offset, bytes);
	uint64_t files = session->files.count - before.count;
	uint64_t mapped_bytes = session->files.bytes - before.bytes;

	if (result != 0)
		return result;
	result = quota_charge(session->account, RESOURCE_MAPPED_FILES, files);
	if (result != 0)
		goto close_region;
	result = quota_charge(session->account, RESOURCE_MAPPINGS, files);
	if (result != 0)
		goto discharge_files;
	result = quota_charge(session->account, RESOURCE_MAPPED_BYTES, mapped_bytes);
	if (result != 0)
		goto discharge_mappings;
	return 0;

discharge_mappings:
	quota_discharge(session->account, RESOURCE_MAPPINGS, files);
discharge_files:
	quota_discharge(session->account, RESOURCE_MAPPED_FILES, files);
close_region:
	mapped_region_close(region);
	return result;
}

void session_close_mapping(struct session *session, struct mapped_region *region)
{
	const struct mapped_files before = session->files;

	mapped_region_close(region);
	quota_discharge(session->account, RESOURCE_MAPPED_BYTES,
			before.bytes - session->files.bytes);
	quota_discharge(session->account, RESOURCE_MAPPINGS, before.count - session->files.count);
	quota_discharge(session->account, RESOURCE_MAPPED_FILES,
			before.count - session->files.count);
}

int session_open_shared(struct session *session, struct shared_region *region,
			enum rnic_region_kind kind, uint64_t bytes, int *fd)
{
	int result = shared_region_create(region, kind, bytes, fd);

	if (result != 0)
		return result;
	result = quota_charge(session->account, RESOURCE_SHARED_BYTES, region->bytes);
	if (result != 0)
		goto close_region;
	result = quota_charge(session->account, RESOURCE_MAPPINGS, 1);
	if (result != 0)
		goto discharge_bytes;
	session->newest = *region;
	return 0;

discharge_bytes:
	quota_discharge(session->account, RESOURCE_SHARED_BYTES, region->bytes);
close_region:
	close(*fd);
	shared_region_close(region);
	return result;
}

void session_close_shared(struct session *session, struct shared_region *region)
{
	if (region->address == NULL)
		return;
	quota_discharge(session->account, RESOURCE_MAPPINGS, 1);
	quota_discharge(session->account, RESOURCE_SHARED_BYTES, region->bytes);
	session_unmap(session, region->address, region->bytes);
	if (session->newest.address == region->address)
		session->newest = (struct shared_region){0};
	*region = (struct shared_region){0};
}
