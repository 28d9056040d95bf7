/* SPDX-License-Identifier: MIT */
#include "daemon/device/memory/watched_memory.h"

#include "proto/base/bits.h"

#include <errno.h>

static struct remote_region *watched_region_of(struct client_region *region)
{
	return RNIC_CONTAINER_OF(region, struct remote_region, region);
}

/* --- where a part of the region lies elsewhere than it was registered --------------------------
 */

/*
 * Makes `view` a region in which the byte at `offset` lies where that of `region` lies now. Returns
 * how many bytes from there on lie in a row; 0: the byte is gone.
 */
static uint64_t view_of(struct remote_region *region, uint64_t offset, struct remote_region *view)
{
	uint64_t address, bytes;

	if (!memory_watch_find(&region->process->gate, &region->range, offset, &address, &bytes))
		return 0;
	*view = (struct remote_region){
		.region = region->region,
		.process = region->process,
		.address = address - offset,
		.guard = region->guard,
	};
	view->region.ops = region->inner;
	return bytes;
}

static bool try_move(const struct client_memory_ops *ops, bool is_write,
		     const struct memory_transfer *transfer, int *error)
{
	return (is_write ? ops->write : ops->read)(transfer, 1, error) == 1;
}

static bool try_move_parts(struct remote_region *region, bool is_write,
			   struct memory_transfer transfer, int *error)
{
	uint32_t left = transfer.length;
	struct remote_region view;

	while (left > 0) {
		const uint64_t bytes = view_of(region, transfer.offset, &view);

		if (bytes == 0) {
			*error = -EFAULT;
			return false;
		}
		transfer.region = &view.region;
		transfer.length = bytes < left ? (uint32_t)bytes : left;
		if (!try_move(region->inner, is_write, &transfer, error))
			return false;
		transfer.offset += transfer.length;
		transfer.bytes += transfer.length;
		left -= transfer.length;
	}
	return true;
}

static uint32_t move_one_by_one(bool is_write, const struct memory_transfer *transfers,
				uint32_t count, int *error)
{
	uint32_t done = 0;

	while (done < count) {
		struct remote_region *region = watched_region_of(transfers[done].region);
		const bool is_moved =
			region->range.is_torn
				? try_move_parts(region, is_write, transfers[done], error)
				: try_move(region->inner, is_write, &transfers[done], error);

		if (!is_moved)
			break;
		done++;
	}
	return done;
}

/* --- accesses --------------------------------------------------------------------------------- */

static uint32_t watched_move(bool is_write, const struct memory_transfer *transfers, uint32_t count,
			     int *error)
{
	struct remote_region *region = watched_region_of(transfers[0].region);
	struct memory_gate *gate = &region->process->gate;
	uint32_t done;

	if (!memory_gate_enter(gate))
		done = move_one_by_one(is_write, transfers, count, error);
	else if (is_write)
		done = region->inner->write(transfers, count, error);
	else
		done = region->inner->read(transfers, count, error);
	memory_gate_leave(gate);
	return done;
}

static uint32_t watched_read(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	return watched_move(false, transfers, count, error);
}

static uint32_t watched_write(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	return watched_move(true, transfers, count, error);
}

/* The access to a word, from word_enter() to word_leave(). */
struct watched_word {
	struct memory_gate *gate;
	const struct client_memory_ops *ops; /* of the memory itself */
	struct client_region *region;	     /* through which the word is reached */
	struct remote_region view;
};

/* Returns whether the word is still there. Either way word_leave() follows. */
static bool word_enter(struct watched_word *word, struct client_region *region, uint64_t offset)
{
	struct remote_region *watched = watched_region_of(region);

	word->gate = &watched->process->gate;
	word->ops = watched->inner;
	word->region = region;
	memory_gate_enter(word->gate);
	if (!watched->range.is_torn)
		return true;
	word->region = &word->view.region;
	return view_of(watched, offset, &word->view) >= sizeof(uint64_t);
}

static void word_leave(const struct watched_word *word)
{
	memory_gate_leave(word->gate);
}

static int watched_compare_swap(struct client_region *region, uint64_t offset, uint64_t compare,
				uint64_t swap, uint64_t *original)
{
	struct watched_word word;
	int result = -EFAULT;

	if (word_enter(&word, region, offset))
		result = word.ops->compare_swap(word.region, offset, compare, swap, original);
	word_leave(&word);
	return result;
}

static int watched_fetch_add(struct client_region *region, uint64_t offset, uint64_t add,
			     uint64_t *original)
{
	struct watched_word word;
	int result = -EFAULT;

	if (word_enter(&word, region, offset))
		result = word.ops->fetch_add(word.region, offset, add, original);
	word_leave(&word);
	return result;
}

static int watched_store(struct client_region *region, uint64_t offset, uint64_t value)
{
	struct watched_word word;
	int result = -EFAULT;

	if (word_enter(&word, region, offset))
		result = word.ops->store(word.region, offset, value);
	word_leave(&word);
	return result;
}

static const struct client_memory_ops watched_ops = {
	.read = watched_read,
	.write = watched_write,
	.compare_swap = watched_compare_swap,
	.fetch_add = watched_fetch_add,
	.store = watched_store,
};

void watched_region_open(struct remote_region *region)
{
	struct remote_process *process = region->process;

	region->watch = process->watch;
	if (region->is_on_demand)
		region->watch = RNIC_WATCH_NEEDLESS;
	if (region->watch != RNIC_WATCH_ON)
		return;
	region->range =
		(struct watched_range){.address = region->address, .bytes = region->region.bytes};
	region->watch = memory_watch_add(&process->gate, &region->range);
	if (region->watch != RNIC_WATCH_ON)
		return;
	region->inner = region->region.ops;
	region->region.ops = &watched_ops;
}

void watched_region_close(struct remote_region *region)
{
	if (region->watch != RNIC_WATCH_ON)
		return;
	memory_watch_remove(&region->process->gate, &region->range);
	region->region.ops = region->inner;
	region->watch = RNIC_WATCH_NEEDLESS;
}
