/* SPDX-License-Identifier: MIT */
/*
 * The calls of rdma-core 64 and later that allocate buffers for a device. This device takes memory
 * of any kind, so a buffer is plain pages of its own.
 */
#include "lib/dropin/verbs/ibv_objects.h"
#include "proto/base/checked.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

struct ibv_buf {
	struct ibv_pd *pd;
	void *address;
	size_t bytes;
};

/* The headers of this build may be older than these calls. */
RNIC_API void *ibv_alloc_buf(struct ibv_pd *pd, size_t bytes, struct ibv_buf **buffer);
RNIC_API void ibv_free_buf(struct ibv_buf *buffer);
RNIC_API struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buffer, void *address,
				       size_t length, int access);

void *ibv_alloc_buf(struct ibv_pd *pd, size_t bytes, struct ibv_buf **buffer)
{
	struct ibv_buf *made;

	if (pd == NULL || bytes == 0 || buffer == NULL) {
		errno = EINVAL;
		return NULL;
	}
	made = malloc(sizeof(*made));
	if (made == NULL)
		return NULL;
	made->pd = pd;
	made->bytes = bytes;
	made->address =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made->address == MAP_FAILED) {
		free(made);
		return NULL;
	}
	*buffer = made;
	return made->address;
}

void ibv_free_buf(struct ibv_buf *buffer)
{
	if (buffer == NULL)
		return;
	munmap(buffer->address, buffer->bytes);
	free(buffer);
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buffer, void *address,
			      size_t length, int access)
{
	if (buffer == NULL || buffer->pd != pd ||
	    !rnic_range_within((uintptr_t)address - (uintptr_t)buffer->address, length,
			       buffer->bytes)) {
		errno = EINVAL;
		return NULL;
	}
	return ibv_reg_mr(pd, address, length, access);
}
