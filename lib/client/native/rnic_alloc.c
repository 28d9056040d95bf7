/* SPDX-License-Identifier: MIT */
/* Blocks of memory that the daemon can map. */
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"
#include "proto/base/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int create_memfd(size_t bytes)
{
	int error;
	int fd = memfd_create("rnic-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

int rnic_alloc(struct rnic_context *context, size_t bytes, void **memory)
{
	RNIC_REFUSE_NULL(context, memory);
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct rnic_block *block;
	void *mapped;
	int error;
	int fd;

	if (bytes == 0)
		return -EINVAL;
	if (bytes > SIZE_MAX / 4)
		return -ENOMEM;
	bytes = rnic_round_up(bytes, page_bytes);
	block = malloc(sizeof(*block));
	if (block == NULL)
		return -ENOMEM;
	fd = create_memfd(bytes);
	if (fd < 0) {
		error = fd;
		goto free_block;
	}
	mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		error = -errno;
		goto close_memfd;
	}
	pthread_mutex_lock(&context->objects_lock);
	*block = (struct rnic_block){
		.next = context->blocks, .memory = mapped, .bytes = bytes, .fd = fd};
	context->blocks = block;
	pthread_mutex_unlock(&context->objects_lock);
	*memory = mapped;
	return 0;

close_memfd:
	close(fd);
free_block:
	free(block);
	return error;
}

static void block_release(struct rnic_block *block)
{
	munmap(block->memory, block->bytes);
	close(block->fd);
	free(block);
}

int rnic_free(struct rnic_context *context, void *memory)
{
	RNIC_REFUSE_NULL(context);
	struct rnic_block *block = NULL;

	pthread_mutex_lock(&context->objects_lock);
	for (struct rnic_block **link = &context->blocks; *link != NULL; link = &(*link)->next) {
		if ((*link)->memory == memory) {
			block = *link;
			*link = block->next;
			break;
		}
	}
	pthread_mutex_unlock(&context->objects_lock);
	if (block == NULL)
		return -EINVAL;
	block_release(block);
	return 0;
}

void rnic_blocks_release(struct rnic_context *context)
{
	while (context->blocks != NULL) {
		struct rnic_block *block = context->blocks;

		context->blocks = block->next;
		block_release(block);
	}
}

const struct rnic_block *rnic_block_find(const struct rnic_context *context, const void *address,
					 size_t length)
{
	const uintptr_t start = (uintptr_t)address;

	for (const struct rnic_block *block = context->blocks; block != NULL; block = block->next) {
		uintptr_t memory = (uintptr_t)block->memory;

		if (start >= memory && start - memory <= block->bytes &&
		    length <= block->bytes - (start - memory))
			return block;
	}
	return NULL;
}
