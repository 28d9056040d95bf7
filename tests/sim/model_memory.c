/* SPDX-License-Identifier: MIT */
#include "tests/sim/model_memory.h"

#include "proto/base/bits.h"
#include "proto/base/checked.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static uint64_t pattern_word(uint64_t index)
{
	return (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void pattern_fill(uint64_t offset, uint8_t *bytes, uint32_t length)
{
	for (uint32_t done = 0; done < length;) {
		uint64_t word = pattern_word((offset + done) / 8);
		uint32_t skip = (uint32_t)((offset + done) % 8);
		uint32_t count = length - done < 8 - skip ? length - done : 8 - skip;

		memcpy(bytes + done, (const uint8_t *)&word + skip, count);
		done += count;
	}
}

static void pattern_check(struct model_memory *memory, uint64_t offset, const uint8_t *bytes,
			  uint32_t length)
{
	uint8_t expected[4096];

	if (offset > memory->pattern_end)
		memory->pattern_wrong += offset - memory->pattern_end;
	for (uint32_t done = 0; done < length;) {
		uint32_t count =
			length - done < sizeof(expected) ? length - done : sizeof(expected);

		pattern_fill(offset + done, expected, count);
		memory->pattern_wrong += memcmp(expected, bytes + done, count) != 0;
		done += count;
	}
	if (offset + length > memory->pattern_end)
		memory->pattern_end = offset + length;
}

static struct model_memory *memory_of(struct client_region *region)
{
	return RNIC_CONTAINER_OF(region, struct model_memory, region);
}

/* 0, or the error that an access to these bytes meets. */
static int access_error(const struct model_memory *memory, uint64_t offset, uint64_t length)
{
	assert(rnic_range_within(offset, length, memory->region.bytes));
	if (memory->error != 0)
		return memory->error;
	return offset < memory->gone_from ? 0 : -EFAULT;
}

static uint32_t memory_read(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct memory_transfer *transfer = &transfers[i];
		struct model_memory *memory = memory_of(transfer->region);
		int failure = access_error(memory, transfer->offset, transfer->length);

		if (failure != 0) {
			*error = failure;
			return i;
		}
		if (memory->bytes == NULL)
			pattern_fill(transfer->offset, transfer->bytes, transfer->length);
		else
			memcpy(transfer->bytes, memory->bytes + transfer->offset, transfer->length);
	}
	return count;
}

static uint32_t memory_write(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct memory_transfer *transfer = &transfers[i];
		struct model_memory *memory = memory_of(transfer->region);
		uint64_t length = transfer->length;
		int failure = access_error(memory, transfer->offset, transfer->length);

		if (failure != 0) {
			*error = failure;
			return i;
		}
		if (memory->bytes == NULL) {
			pattern_check(memory, transfer->offset, transfer->bytes, transfer->length);
			continue;
		}
		length -= length < memory->skip_bytes ? length : memory->skip_bytes;
		memcpy(memory->bytes + transfer->offset, transfer->bytes, length);
	}
	return count;
}

/* Stores the word at `offset` at *word, and the region at *memory. */
static int atomic_start(struct client_region *region, uint64_t offset, struct model_memory **memory,
			uint64_t *word)
{
	struct model_memory *ours = memory_of(region);
	int failure = access_error(ours, offset, sizeof(*word));

	assert(offset % sizeof(*word) == 0);
	if (failure != 0)
		return failure;
	if (ours->bytes == NULL)
		return -EFAULT;
	ours->atomics++;
	memcpy(word, ours->bytes + offset, sizeof(*word));
	*memory = ours;
	return 0;
}

static int memory_compare_swap(struct client_region *region, uint64_t offset, uint64_t compare,
			       uint64_t swap, uint64_t *original)
{
	struct model_memory *memory;
	int failure = atomic_start(region, offset, &memory, original);

	if (failure == 0 && *original == compare)
		memcpy(memory->bytes + offset, &swap, sizeof(swap));
	return failure;
}

static int memory_fetch_add(struct client_region *region, uint64_t offset, uint64_t add,
			    uint64_t *original)
{
	struct model_memory *memory;
	uint64_t sum;
	int failure = atomic_start(region, offset, &memory, original);

	if (failure != 0)
		return failure;
	sum = *original + add * memory->atomic_executions;
	memcpy(memory->bytes + offset, &sum, sizeof(sum));
	return 0;
}

static int memory_store(struct client_region *region, uint64_t offset, uint64_t value)
{
	struct model_memory *memory;
	uint64_t original;
	int failure = atomic_start(region, offset, &memory, &original);

	if (failure == 0)
		memcpy(memory->bytes + offset, &value, sizeof(value));
	return failure;
}

static const struct client_memory_ops memory_ops = {
	.read = memory_read,
	.write = memory_write,
	.compare_swap = memory_compare_swap,
	.fetch_add = memory_fetch_add,
	.store = memory_store,
};

void model_memory_init(struct model_memory *memory, uint8_t *bytes, uint64_t length, bool is_direct)
{
	*memory = (struct model_memory){
		.region = {.ops = &memory_ops,
			   .space = memory,
			   .bytes = length,
			   .direct = is_direct},
		.bytes = bytes,
		.gone_from = UINT64_MAX,
		.atomic_executions = 1,
	};
}
