/* SPDX-License-Identifier: MIT */
/*
 * Access to client memory, as the engine sees it: regions of bytes that can be read, written and
 * changed atomically at an offset. The maker of the region knows how to reach the bytes (a mapping,
 * /proc/PID/mem, process_vm_readv).
 *
 * The caller has checked every range against the region; an access can still fail, because the
 * memory belongs to a process that may unmap it or die.
 */
#ifndef LIB_NIC_MEM_CLIENT_MEMORY_H
#define LIB_NIC_MEM_CLIENT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct client_region;

/* One movement between a region and our own memory. */
struct memory_transfer {
	struct client_region *region;
	uint64_t offset; /* in the region */
	uint8_t *bytes;	 /* ours: source of a write, destination of a read */
	uint32_t length;
};

struct client_memory_ops {
	/*
	 * Move `count` transfers in order, all of regions with the same `space`. Return how many
	 * were moved whole; when fewer, the next one failed with -EFAULT (unmapped) or -ESRCH
	 * (process gone) stored at *error, and what lies behind it was not tried.
	 */
	uint32_t (*read)(const struct memory_transfer *transfers, uint32_t count, int *error);
	uint32_t (*write)(const struct memory_transfer *transfers, uint32_t count, int *error);
	/*
	 * Replace the aligned 64-bit word (client's byte order) at `offset` by `swap_or_add` when
	 * it equals `compare`, or add `swap_or_add` to it; `*original` is the value before. 0,
	 * -EFAULT or -ESRCH. Atomic against other atomics of this device; against the client's own
	 * instructions when mapped.
	 */
	int (*compare_swap)(struct client_region *region, uint64_t offset, uint64_t compare,
			    uint64_t swap, uint64_t *original);
	int (*fetch_add)(struct client_region *region, uint64_t offset, uint64_t add,
			 uint64_t *original);
	/* Replaces the aligned 64-bit word at `offset`, atomic and failing in the same way. */
	int (*store)(struct client_region *region, uint64_t offset, uint64_t value);
};

/* Embedded by the implementations. */
struct client_region {
	const struct client_memory_ops *ops;
	const void *space; /* transfers of regions with the same space can go in one call */
	uint64_t bytes;
	bool direct; /* an access is a memcpy: batching it gains nothing */
};

/*
 * Memory that is not there: reads give zeros, and writes are lost. Every offset exists, so the
 * memory stands for all addresses at once.
 */
void null_region_init(struct client_region *region);

#endif
