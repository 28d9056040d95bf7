/* SPDX-License-Identifier: MIT */
/*
 * Buffers: memory at a page of its own, registered, so that it has a local and a remote key, and
 * patterns that tell whether bytes arrived where they should.
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
 * Allocates and registers `length` bytes for `access` (enum ibv_access_flags), all zero. Returns
 * 0, or -1 after saying why; mem_release() is then allowed, and does nothing.
 */
int mem_register(const struct rdma_ctx *ctx, size_t length, int access, struct rdma_buffer *buffer);

/* The region must be gone before the protection domain is. */
void mem_release(struct rdma_buffer *buffer);

/* Writes the pattern of that seed. */
void mem_fill(uint8_t *bytes, size_t length, uint32_t seed);

/* Whether the pattern of that seed is there; says where it is not. */
bool mem_verify(const uint8_t *bytes, size_t length, uint32_t seed);

/* A seed that nobody used before. */
uint32_t mem_new_seed(void);

#endif
