/* SPDX-License-Identifier: MIT */
/*
 * A message in several pieces of memory that do not touch, as scatter and gather elements see it.
 * The pieces lie in one block of the caller's, which may be registered as a whole. Pure.
 */
#ifndef TOOLS_RNIC_LAB_LINK_SEGMENT_BUFFER_H
#define TOOLS_RNIC_LAB_LINK_SEGMENT_BUFFER_H

#include <stddef.h>
#include <stdint.h>

enum { SEGMENTS_MAX = 32 };

struct segment_buffer {
	uint8_t *block;
	uint32_t count;		/* of pieces */
	uint32_t segment_bytes; /* in a piece */
	uint32_t stride;	/* from one piece to the next */
};

/* How large the block is that holds `bytes` bytes in `count` pieces, 1 to SEGMENTS_MAX. */
size_t segment_buffer_block_bytes(uint32_t bytes, uint32_t count);

/* Lays the pieces out in `block`, which stays the caller's. */
void segment_buffer_init(struct segment_buffer *buffer, uint8_t *block, uint32_t bytes,
			 uint32_t count);

/* One piece that `bytes` bytes of a message are in: its offset in the block, and how many. */
struct segment {
	size_t offset;
	uint32_t bytes;
};

/* The pieces that a message of `bytes` bytes takes, none for none; returns how many. */
uint32_t segment_buffer_list(const struct segment_buffer *buffer, uint32_t bytes,
			     struct segment segments[SEGMENTS_MAX]);

/* Copies a message in, or out. `bytes` is at most what the buffer was made for. */
void segment_buffer_put(struct segment_buffer *buffer, const void *message, uint32_t bytes);
void segment_buffer_get(const struct segment_buffer *buffer, void *message, uint32_t bytes);

#endif
