/* SPDX-License-Identifier: MIT */
#include "daemon/device/memory/own_memory.h"

#include "lib/dropin/guard/guard.h"
#include "proto/base/bits.h"

static const struct remote_region *own_region_of(const struct client_region *region)
{
	return RNIC_CONTAINER_OF(region, const struct remote_region, region);
}

static void *own_address(const struct client_region *region, uint64_t offset)
{
	return (void *)(uintptr_t)(own_region_of(region)->address + offset);
}

static bool try_own_read(const struct rnic_guard *guard, const struct memory_transfer *transfer)
{
	return guard->read(transfer->bytes, own_address(transfer->region, transfer->offset),
			   transfer->length) == 0;
}

static bool try_own_write(const struct rnic_guard *guard, const struct memory_transfer *transfer)
{
	return guard->write(own_address(transfer->region, transfer->offset), transfer->bytes,
			    transfer->length) == 0;
}

/* A transfer that the guard does not move may be of pages that the program has protected since. */
static uint32_t own_read(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	const struct rnic_guard *guard = own_region_of(transfers[0].region)->guard;
	struct rnic_guard_turn turn;
	uint32_t done = 0;

	if (guard->turn_begin(&turn) != 0)
		return remote_memory_ops.read(transfers, count, error);
	while (done < count && (try_own_read(guard, &transfers[done]) ||
				remote_memory_ops.read(&transfers[done], 1, error) == 1))
		done++;
	guard->turn_end(&turn);
	return done;
}

static uint32_t own_write(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	const struct rnic_guard *guard = own_region_of(transfers[0].region)->guard;
	struct rnic_guard_turn turn;
	uint32_t done = 0;

	if (guard->turn_begin(&turn) != 0)
		return remote_memory_ops.write(transfers, count, error);
	while (done < count && (try_own_write(guard, &transfers[done]) ||
				remote_memory_ops.write(&transfers[done], 1, error) == 1))
		done++;
	guard->turn_end(&turn);
	return done;
}

static int own_compare_swap(struct client_region *region, uint64_t offset, uint64_t compare,
			    uint64_t swap, uint64_t *original)
{
	const struct rnic_guard *guard = own_region_of(region)->guard;
	struct rnic_guard_turn turn;
	int result;

	if (guard->turn_begin(&turn) != 0)
		return remote_memory_ops.compare_swap(region, offset, compare, swap, original);
	result = guard->compare_swap(own_address(region, offset), compare, swap, original);
	if (result != 0)
		result = remote_memory_ops.compare_swap(region, offset, compare, swap, original);
	guard->turn_end(&turn);
	return result;
}

static int own_fetch_add(struct client_region *region, uint64_t offset, uint64_t add,
			 uint64_t *original)
{
	const struct rnic_guard *guard = own_region_of(region)->guard;
	struct rnic_guard_turn turn;
	int result;

	if (guard->turn_begin(&turn) != 0)
		return remote_memory_ops.fetch_add(region, offset, add, original);
	result = guard->fetch_add(own_address(region, offset), add, original);
	if (result != 0)
		result = remote_memory_ops.fetch_add(region, offset, add, original);
	guard->turn_end(&turn);
	return result;
}

static int own_store(struct client_region *region, uint64_t offset, uint64_t value)
{
	const struct memory_transfer transfer = {
		.region = region,
		.offset = offset,
		.bytes = (uint8_t *)&value,
		.length = sizeof(value),
	};
	int error = 0;

	return own_write(&transfer, 1, &error) == 1 ? 0 : error;
}

static const struct client_memory_ops own_ops = {
	.read = own_read,
	.write = own_write,
	.compare_swap = own_compare_swap,
	.fetch_add = own_fetch_add,
	.store = own_store,
};

void own_region_init(struct remote_region *region, const struct rnic_guard *guard)
{
	region->guard = guard;
	region->region.ops = &own_ops;
}
