/* SPDX-License-Identifier: MIT */
#include "rdma_mem.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "rdma_builders.h"

int mem_register(const struct rdma_ctx *ctx, size_t length, int access, struct rdma_buffer *buffer)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t rounded = (length + page - 1) / page * page;
	struct ibv_mr *mr;
	void *bytes = aligned_alloc(page, rounded);

	*buffer = (struct rdma_buffer){0};
	if (!CHECK(bytes != NULL, "%zu bytes of memory", rounded))
		return -1;
	memset(bytes, 0, rounded);
	mr = ibv_reg_mr(ctx->pd, bytes, length, access);
	if (!CHECK(mr != NULL, "ibv_reg_mr of %zu bytes", length)) {
		free(bytes);
		return -1;
	}
	*buffer = (struct rdma_buffer){.bytes = bytes, .length = length, .mr = mr};
	if (ctx->dump)
		dump_mr(mr);
	return 0;
}

void mem_release(struct rdma_buffer *buffer)
{
	if (buffer->mr != NULL)
		(void)CHECK_NUMBER(ibv_dereg_mr(buffer->mr), "ibv_dereg_mr");
	free(buffer->bytes);
	*buffer = (struct rdma_buffer){0};
}

/* A byte that differs from its neighbours, from block to block and from seed to seed. */
static uint8_t pattern_at(size_t index, uint32_t seed)
{
	return (uint8_t)(((uint32_t)index + seed) * 2654435761u >> 24);
}

void mem_fill(uint8_t *bytes, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = pattern_at(i, seed);
}

bool mem_verify(const uint8_t *bytes, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] != pattern_at(i, seed)) {
			LOG("byte %zu of %zu is %#x and should be %#x", i, length, bytes[i],
			    pattern_at(i, seed));
			return false;
		}
	}
	return true;
}

uint32_t mem_new_seed(void)
{
	uint32_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = (uint32_t)time(NULL) ^ (uint32_t)getpid();
	return seed;
}
