/* SPDX-License-Identifier: MIT */
/*
 * Where registered memory lies in an address space whose mappings change: the pieces of ranges, in
 * order of address. A range begins as one piece. An unmap takes pieces away, and a move takes them
 * to another place. Pure: no system call but for the memory of the pieces, which comes by mmap(2).
 * malloc(3) waits for locks that a thread may hold while it unmaps.
 *
 * A piece covers whole pages, as changes of mappings do. All addresses and lengths that say "pages"
 * are multiples of the page size. The caller holds one lock over all calls for one struct.
 */
#ifndef DAEMON_DEVICE_MEMORY_WATCHED_PIECES_H
#define DAEMON_DEVICE_MEMORY_WATCHED_PIECES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct watched_piece;

/* A range as it was registered; the caller's. */
struct watched_range {
	uint64_t address;
	uint64_t bytes;
	struct watched_piece *pieces; /* of this range, in no order; NULL: all of it is gone */
	atomic_bool is_torn;	      /* the range is not one piece at `address` any more */
};

struct watched_pieces {
	struct watched_piece *root;
	struct watched_piece *unused;
	struct watched_chunk *chunks;
	uint64_t random_state;
	uint32_t run_count;	/* of pages without a gap */
	atomic_uint torn_count; /* of ranges; read without the lock */
};

/* Zeroed pieces are empty. Frees all pieces: no range is in them any more. */
void watched_pieces_fini(struct watched_pieces *pieces);

/*
 * Adds a range, whose address and bytes the caller has set. -ENOMEM. The range must stay where it
 * is until watched_pieces_remove() returns false.
 */
int watched_pieces_add(struct watched_pieces *pieces, struct watched_range *range);

/*
 * Removes one piece of a range, and stores which pages it covered. Returns false when there is no
 * piece any more: then the range is removed.
 */
bool watched_pieces_remove(struct watched_pieces *pieces, struct watched_range *range,
			   uint64_t *start, uint64_t *end);

/* The pages from `start` to `end` are no longer what they were. */
void watched_pieces_unmap(struct watched_pieces *pieces, uint64_t start, uint64_t end);

/* The pages from `from` on, `bytes` of them, are now those from `to` on. */
void watched_pieces_move(struct watched_pieces *pieces, uint64_t from, uint64_t to, uint64_t bytes);

/*
 * Finds where the byte at `offset` of the range lies now. Stores its address, and how many bytes
 * from there on lie in a row. Returns whether the byte is anywhere.
 */
bool watched_pieces_find(const struct watched_range *range, uint64_t offset, uint64_t *address,
			 uint64_t *bytes);

/*
 * Finds the first gap from the page at `start` on, before `end`: pages that no piece covers. Stores
 * the gap's ends. Returns false when there is none.
 */
bool watched_pieces_gap(const struct watched_pieces *pieces, uint64_t start, uint64_t end,
			uint64_t *gap_start, uint64_t *gap_end);

/* The size of a page, and the pages of a range as it was registered. */
uint64_t watched_page_bytes(void);
uint64_t watched_pages_start(const struct watched_range *range);
uint64_t watched_pages_end(const struct watched_range *range);

#endif
