/* SPDX-License-Identifier: MIT */
/*
 * A message in several pieces of memory that do not touch, for scatter and gather elements. The
 * pieces lie in one block of the caller's, which may be registered as a whole. Pure.
 */
#ifndef TOOLS_LAB_LINK_SEGMENT_BUFFER_H
#define TOOLS_LAB_LINK_SEGMENT_BUFFER_H

#include <stddef.h>
#include <stdint.h>

enum { SEGMENTS_MAX = 32 };

struct segment_buffer {
	uint8_t *block;
	uint32_t count;		/* of pieces */
	uint32_t segment_bytes; /* in a piece */
	uint32_t stride;	/* from one piece to the next */
};

/* The size of the block that holds `bytes` bytes in `count` pieces, 1 to SEGMENTS_MAX. */
size_t segment_buffer_block_bytes(uint32_t bytes, uint32_t count);

/* Lays the pieces out in `block`, which stays the caller's. */
void segment_buffer_init(struct segment_buffer *buffer, uint8_t *block, uint32_t bytes,
			 uint32_t count);

/* One piece with bytes of a message: its offset in the block, and the number of bytes. */
struct segment {
	size_t offset;
	uint32_t bytes;
};

/* Lists the pieces of a message of `bytes` bytes, none for 0 bytes; returns their number. */
uint32_t segment_buffer_list(const struct segment_buffer *buffer, uint32_t bytes,
			     struct segment segments[SEGMENTS_MAX]);

/* Copies a message in, or out. `bytes` is at most the buffer's size. */
void segment_buffer_put(struct segment_buffer *buffer, const void *message, uint32_t bytes);
void segment_buffer_get(const struct segment_buffer *buffer, void *message, uint32_t bytes);

#endif
