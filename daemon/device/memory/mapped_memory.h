/* SPDX-License-Identifier: MIT */
/*
 * Client memory that we have mapped: a region of a memfd that the client handed over. Access is a
 * memcpy, and atomics are real ones, also against the client's own instructions.
 *
 * A memfd is mapped once, however many regions lie in it: struct mapped_files, one for each client,
 * finds the mapping by inode, and counts what there is for whoever bounds it. A file is mapped
 * whole up to MAPPED_CHUNK_BYTES, else the chunks that the region lies in. A mapping lives while a
 * region refers to it, which keeps the inode, so that its number cannot come to mean another file.
 *
 * Invariant: a mapped file cannot shrink under us, so that touching it raises SIGBUS only where the
 * machine has no page for a hole in it, which is for whoever owns the process to handle.
 */
#ifndef DAEMON_DEVICE_MEMORY_MAPPED_MEMORY_H
#define DAEMON_DEVICE_MEMORY_MAPPED_MEMORY_H

#include "mem/client_memory.h"

#include <stdint.h>

struct mapped_file;

#define MAPPED_CHUNK_BYTES (UINT64_C(1) << 30)

struct mapped_files {
	struct mapped_file *first;
	uint64_t count; /* of mappings */
	uint64_t bytes; /* of address space that they take */
	/* Unmaps, now or later, what nothing refers to any more. NULL: munmap(2). */
	void (*unmap)(void *context, void *address, uint64_t bytes);
	void *unmap_context;
};

struct mapped_region {
	struct client_region region;
	struct mapped_files *files;
	struct mapped_file *file;
	uint8_t *bytes; /* of the region's first byte */
};

/*
 * Makes `region` of `bytes` bytes at `offset` of the memfd `fd`, which the caller may close
 * afterwards.
 *
 * Errors: -EPERM the descriptor is no memfd of ordinary pages, is not sealed against shrinking, or
 * may not be written: use remote memory; -EINVAL the range is not within the file, or empty;
 * -ENOMEM.
 */
int mapped_region_open(struct mapped_region *region, struct mapped_files *files, int fd,
		       uint64_t offset, uint64_t bytes);

void mapped_region_close(struct mapped_region *region);

/* Whether the address is of one of the mappings. */
bool mapped_files_hold(const struct mapped_files *files, const void *address);

#endif
