/* SPDX-License-Identifier: MIT */
/*
 * Client memory that the daemon has mapped: a region of a memfd from the client. An access is a
 * copy in ascending order that keeps aligned words whole (ordered_copy.h), and atomics are real
 * ones, also against the client's own instructions.
 *
 * A memfd is mapped once for all regions in it. struct mapped_files, one for each client, finds the
 * mapping by inode, and counts mappings and bytes for the code that bounds them. A file of up to
 * MAPPED_CHUNK_BYTES is mapped whole; of a larger file the chunks that contain the region are
 * mapped. A mapping lives while a region refers to it. The mapping keeps the inode, so that the
 * inode number cannot come to mean another file.
 *
 * Invariant: a mapped file cannot shrink. Touching it raises SIGBUS only where the machine has no
 * page for a hole in the file; the owner of the process handles that signal.
 */
#ifndef DAEMON_DEVICE_MEMORY_MAPPED_MEMORY_H
#define DAEMON_DEVICE_MEMORY_MAPPED_MEMORY_H

#include "lib/nic/mem/client_memory.h"

#include <stdint.h>

struct mapped_file;

#define MAPPED_CHUNK_BYTES (UINT64_C(1) << 30)

struct mapped_files {
	struct mapped_file *first;
	uint64_t count; /* of mappings */
	uint64_t bytes; /* of address space in the mappings */
	/* Unmaps a mapping without references, now or later. NULL: munmap(2). */
	void (*unmap)(void *context, void *address, uint64_t bytes);
	void *unmap_context;
};

struct mapped_region {
	struct client_region region;
	struct mapped_files *files;
	struct mapped_file *file;
	uint8_t *bytes; /* the region's first byte */
};

/*
 * Makes `region` of `bytes` bytes at `offset` of the memfd `fd`. The caller may close `fd`
 * afterwards.
 *
 * Errors: -EPERM the descriptor is no memfd of ordinary pages, has no seal against shrinking, or
 * forbids writing: use remote memory; -EINVAL the range is empty or not within the file; -ENOMEM.
 */
int mapped_region_open(struct mapped_region *region, struct mapped_files *files, int fd,
		       uint64_t offset, uint64_t bytes);

void mapped_region_close(struct mapped_region *region);

/* Returns whether the address is in one of the mappings. */
bool mapped_files_hold(const struct mapped_files *files, const void *address);

#endif
