/* SPDX-License-Identifier: MIT */
#include "tools/lab/link/segment_buffer.h"

#include "proto/base/bits.h"

#include <string.h>

/* The gap between two pieces, so that they are never one piece by accident. */
enum { GAP_BYTES = 64 };

static uint32_t segment_bytes(uint32_t bytes, uint32_t count)
{
	return (bytes + count - 1) / count;
}

static uint32_t stride(uint32_t bytes, uint32_t count)
{
	return (uint32_t)rnic_round_up(segment_bytes(bytes, count) + GAP_BYTES, GAP_BYTES);
}

size_t segment_buffer_block_bytes(uint32_t bytes, uint32_t count)
{
	return (size_t)stride(bytes, count) * count;
}

void segment_buffer_init(struct segment_buffer *buffer, uint8_t *block, uint32_t bytes,
			 uint32_t count)
{
	*buffer = (struct segment_buffer){
		.block = block,
		.count = count,
		.segment_bytes = segment_bytes(bytes, count),
		.stride = stride(bytes, count),
	};
}

uint32_t segment_buffer_list(const struct segment_buffer *buffer, uint32_t bytes,
			     struct segment segments[SEGMENTS_MAX])
{
	uint32_t used = 0;

	for (; bytes > 0 && used < buffer->count; used++) {
		segments[used].offset = (size_t)used * buffer->stride;
		segments[used].bytes =
			bytes < buffer->segment_bytes ? bytes : buffer->segment_bytes;
		bytes -= segments[used].bytes;
	}
	return used;
}

void segment_buffer_put(struct segment_buffer *buffer, const void *message, uint32_t bytes)
{
	struct segment segments[SEGMENTS_MAX];
	uint32_t count = segment_buffer_list(buffer, bytes, segments);
	const uint8_t *from = message;

	for (uint32_t i = 0; i < count; from += segments[i++].bytes)
		memcpy(buffer->block + segments[i].offset, from, segments[i].bytes);
}

void segment_buffer_get(const struct segment_buffer *buffer, void *message, uint32_t bytes)
{
	struct segment segments[SEGMENTS_MAX];
	uint32_t count = segment_buffer_list(buffer, bytes, segments);
	uint8_t *to = message;

	for (uint32_t i = 0; i < count; to += segments[i++].bytes)
		memcpy(to, buffer->block + segments[i].offset, segments[i].bytes);
}
