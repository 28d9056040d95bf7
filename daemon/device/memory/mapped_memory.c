/* SPDX-License-Identifier: MIT */
#include "daemon/device/memory/mapped_memory.h"

#include "lib/nic/mem/ordered_copy.h"
#include "proto/base/bits.h"
#include "proto/base/checked.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* Linux 5.1; headers of older C libraries lack the constant. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct mapped_file {
	struct mapped_file *next;
	dev_t device;
	ino_t inode;
	uint32_t references;
	uint64_t offset; /* of the mapping, in the file */
	uint8_t *bytes;
	uint64_t length;
};

static uint8_t *mapped_memory_at(const struct client_region *region, uint64_t offset,
				 uint64_t length)
{
	const struct mapped_region *mapped =
		RNIC_CONTAINER_OF(region, const struct mapped_region, region);

	assert(rnic_range_within(offset, length, region->bytes));
	return mapped->bytes + offset;
}

static uint32_t mapped_read(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	(void)error;
	for (uint32_t i = 0; i < count; i++)
		ordered_read(transfers[i].bytes,
			     mapped_memory_at(transfers[i].region, transfers[i].offset,
					      transfers[i].length),
			     transfers[i].length);
	return count;
}

static uint32_t mapped_write(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	(void)error;
	for (uint32_t i = 0; i < count; i++)
		ordered_write(mapped_memory_at(transfers[i].region, transfers[i].offset,
					       transfers[i].length),
			      transfers[i].bytes, transfers[i].length);
	return count;
}

/* Returns NULL when the registration maps aligned iovas to unaligned addresses. */
static uint64_t *word_at(const struct client_region *region, uint64_t offset)
{
	uint8_t *bytes = mapped_memory_at(region, offset, sizeof(uint64_t));

	return (uintptr_t)bytes % sizeof(uint64_t) == 0 ? (uint64_t *)(void *)bytes : NULL;
}

static int mapped_compare_swap(struct client_region *region, uint64_t offset, uint64_t compare,
			       uint64_t swap, uint64_t *original)
{
	uint64_t *word = word_at(region, offset);

	if (word == NULL)
		return -EFAULT;
	/* The exchange leaves the original value in `compare`: on failure the found value, on
	 * success the equal one. */
	__atomic_compare_exchange_n(word, &compare, swap, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	*original = compare;
	return 0;
}

static int mapped_fetch_add(struct client_region *region, uint64_t offset, uint64_t add,
			    uint64_t *original)
{
	uint64_t *word = word_at(region, offset);

	if (word == NULL)
		return -EFAULT;
	*original = __atomic_fetch_add(word, add, __ATOMIC_SEQ_CST);
	return 0;
}

static int mapped_store(struct client_region *region, uint64_t offset, uint64_t value)
{
	uint64_t *word = word_at(region, offset);

	if (word == NULL)
		return -EFAULT;
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
	return 0;
}

static const struct client_memory_ops mapped_ops = {
	.read = mapped_read,
	.write = mapped_write,
	.compare_swap = mapped_compare_swap,
	.fetch_add = mapped_fetch_add,
	.store = mapped_store,
};

/* Maps the chunks of the file that contain [offset, offset + bytes). */
static int file_open(struct mapped_files *files, int fd, const struct stat *status, uint64_t offset,
		     uint64_t region_bytes, struct mapped_file **out)
{
	const uint64_t start = offset & ~(MAPPED_CHUNK_BYTES - 1);
	const uint64_t last = (offset + region_bytes - 1) | (MAPPED_CHUNK_BYTES - 1);
	const uint64_t file_bytes = (uint64_t)status->st_size;
	const uint64_t length = (last < file_bytes ? last + 1 : file_bytes) - start;
	struct mapped_file *file = calloc(1, sizeof(*file));
	void *bytes;
	int ret;

	if (file == NULL)
		return -ENOMEM;
	bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)start);
	if (bytes == MAP_FAILED) {
		ret = errno == ENOMEM ? -ENOMEM : -EPERM;
		goto free_file;
	}
	*file = (struct mapped_file){
		.next = files->first,
		.device = status->st_dev,
		.inode = status->st_ino,
		.offset = start,
		.bytes = bytes,
		.length = length,
	};
	files->first = file;
	files->count++;
	files->bytes += length;
	*out = file;
	return 0;

free_file:
	free(file);
	return ret;
}

/*
 * Finds a mapping of the file. The file may have grown since it was mapped, so the mapping must
 * also be long enough.
 */
static struct mapped_file *file_find(const struct mapped_files *files, const struct stat *status,
				     uint64_t offset, uint64_t bytes)
{
	for (struct mapped_file *file = files->first; file != NULL; file = file->next) {
		if (file->device == status->st_dev && file->inode == status->st_ino &&
		    offset >= file->offset &&
		    rnic_range_within(offset - file->offset, bytes, file->length))
			return file;
	}
	return NULL;
}

bool mapped_files_hold(const struct mapped_files *files, const void *address)
{
	for (const struct mapped_file *file = files->first; file != NULL; file = file->next) {
		const uint8_t *byte = address;

		if (byte >= file->bytes && (uint64_t)(byte - file->bytes) < file->length)
			return true;
	}
	return false;
}

static void file_close(struct mapped_files *files, struct mapped_file *file)
{
	struct mapped_file **link = &files->first;

	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	files->count--;
	files->bytes -= file->length;
	if (files->unmap != NULL)
		files->unmap(files->unmap_context, file->bytes, file->length);
	else
		munmap(file->bytes, file->length);
	free(file);
}

/*
 * Returns whether a mapping of `fd` cannot disappear, and whether the seals allow writing: an
 * existing mapping of the daemon may be older than a seal against writing. Huge pages are not
 * trustworthy: after a hole is punched into them, there may be no page to fill the hole again, on
 * any machine.
 */
static bool is_trustworthy(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs filesystem;

	return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 &&
	       (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) == 0 &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR && fstatfs(fd, &filesystem) == 0 &&
	       filesystem.f_type == TMPFS_MAGIC;
}

int mapped_region_open(struct mapped_region *region, struct mapped_files *files, int fd,
		       uint64_t offset, uint64_t bytes)
{
	struct mapped_file *file;
	struct stat status;
	int ret;

	if (!is_trustworthy(fd) || fstat(fd, &status) < 0)
		return -EPERM;
	if (bytes == 0 || !rnic_range_within(offset, bytes, (uint64_t)status.st_size))
		return -EINVAL;
	file = file_find(files, &status, offset, bytes);
	if (file == NULL) {
		ret = file_open(files, fd, &status, offset, bytes, &file);
		if (ret < 0)
			return ret;
	}
	file->references++;
	*region = (struct mapped_region){
		.region = {.ops = &mapped_ops, .space = files, .bytes = bytes, .direct = true},
		.files = files,
		.file = file,
		.bytes = file->bytes + (offset - file->offset),
	};
	return 0;
}

void mapped_region_close(struct mapped_region *region)
{
	assert(region->file->references > 0);
	if (--region->file->references == 0)
		file_close(region->files, region->file);
	*region = (struct mapped_region){0};
}
