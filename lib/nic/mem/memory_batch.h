/* SPDX-License-Identifier: MIT */
/*
 * Transfers collected so that many go in one system call. Pure: the batch only calls the regions'
 * ops.
 *
 * Order is kept among the transfers that wait. Regions that are `direct` are moved at once: a
 * caller that needs the order first flushes what waits of the same owner (memory_batch_has()).
 * `bytes` of a waiting transfer must stay valid until the flush. A waiting transfer carries an
 * owner and a tag, by which the caller finds the object that a failure concerns.
 */
#ifndef LIB_NIC_MEM_MEMORY_BATCH_H
#define LIB_NIC_MEM_MEMORY_BATCH_H

#include "lib/nic/mem/client_memory.h"

#define MEMORY_BATCH_TRANSFERS 256

enum memory_direction { MEMORY_READ, MEMORY_WRITE };

/* The batch calls this for a transfer that failed at a flush. Later transfers of the same owner are
 * not moved. */
typedef void memory_batch_failed(void *context, void *owner, uint64_t tag, int error);

struct memory_batch {
	enum memory_direction direction;
	memory_batch_failed *failed;
	void *context;
	uint32_t count;
	struct memory_transfer transfers[MEMORY_BATCH_TRANSFERS];
	struct {
		void *owner;
		uint64_t tag;
	} origins[MEMORY_BATCH_TRANSFERS];
};

void memory_batch_init(struct memory_batch *batch, enum memory_direction direction,
		       memory_batch_failed *failed, void *context);

/*
 * Adds a transfer; a full batch is flushed first. Returns 0 (moved, or waiting), or the error of a
 * direct region's transfer, for which `failed` is not called.
 */
int memory_batch_add(struct memory_batch *batch, const struct memory_transfer *transfer,
		     void *owner, uint64_t tag);

/* Moves all that waits. Calls `failed` once for each transfer that failed. */
void memory_batch_flush(struct memory_batch *batch);

static inline bool memory_batch_is_empty(const struct memory_batch *batch)
{
	return batch->count == 0;
}

/* Whether a transfer of `owner` waits. Looked for from the end, where it is likely to be. */
bool memory_batch_has(const struct memory_batch *batch, const void *owner);

static inline bool memory_batch_is_full(const struct memory_batch *batch)
{
	return batch->count == MEMORY_BATCH_TRANSFERS;
}

#endif
