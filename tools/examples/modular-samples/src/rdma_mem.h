/* SPDX-License-Identifier: MIT */
/*
 * Buffers: page-aligned registered memory with a local and a remote key, and patterns that show
 * whether bytes arrived at their place.
 */
#ifndef RDMA_MEM_H
#define RDMA_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "rdma_ctx.h"

struct rdma_buffer {
	uint8_t *bytes;
	size_t length;
	struct ibv_mr *mr; /* its lkey is for work requests here, its rkey for the peer's */
};

/*
 * Allocates and registers `length` zeroed bytes for `access` (enum ibv_access_flags). Returns 0, or
 * -1 after a line with the reason; mem_release() is then allowed, and does nothing.
 */
int mem_register(const struct rdma_ctx *ctx, size_t length, int access, struct rdma_buffer *buffer);

/* Releases a buffer. Call it before the protection domain ends. */
void mem_release(struct rdma_buffer *buffer);

/* Writes the pattern of that seed. */
void mem_fill(uint8_t *bytes, size_t length, uint32_t seed);

/* Whether the pattern of that seed is there; prints the first difference. */
bool mem_verify(const uint8_t *bytes, size_t length, uint32_t seed);

/* Returns a seed that nobody used before. */
uint32_t mem_new_seed(void);

#endif
