/* SPDX-License-Identifier: MIT */
#include "lib/nic/mem/client_memory.h"

#include <string.h>

static uint32_t null_read(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	(void)error;
	for (uint32_t i = 0; i < count; i++)
		memset(transfers[i].bytes, 0, transfers[i].length);
	return count;
}

static uint32_t null_write(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	(void)transfers;
	(void)error;
	return count;
}

static int null_compare_swap(struct client_region *region, uint64_t offset, uint64_t compare,
			     uint64_t swap, uint64_t *original)
{
	(void)region;
	(void)offset;
	(void)compare;
	(void)swap;
	*original = 0;
	return 0;
}

static int null_fetch_add(struct client_region *region, uint64_t offset, uint64_t add,
			  uint64_t *original)
{
	(void)region;
	(void)offset;
	(void)add;
	*original = 0;
	return 0;
}

static int null_store(struct client_region *region, uint64_t offset, uint64_t value)
{
	(void)region;
	(void)offset;
	(void)value;
	return 0;
}

static const struct client_memory_ops null_ops = {
	.read = null_read,
	.write = null_write,
	.compare_swap = null_compare_swap,
	.fetch_add = null_fetch_add,
	.store = null_store,
};

void null_region_init(struct client_region *region)
{
	*region = (struct client_region){
		.ops = &null_ops, .space = &null_ops, .bytes = UINT64_MAX, .direct = true};
}
