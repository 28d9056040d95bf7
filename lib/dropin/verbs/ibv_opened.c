/* SPDX-License-Identifier: MIT */
#include "lib/dropin/verbs/ibv_opened.h"

#include "lib/client/native/fork_list.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct rnic_verbs_opened {
	struct rnic_verbs_opened *next;
	struct rnic_verbs_device *device;
	struct rnic_context *native;
	dev_t file_device;
	ino_t file_inode;
	unsigned references;
	uint32_t last_handle; /* of device memory */
	bool is_importer;
	size_t dm_bytes;
	struct rnic_verbs_export *exports;
};

/*
 * Guards the list and all that changes in it. No thread holds the lock during a call into the
 * daemon.
 */
static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_verbs_opened *all_opened;

static void lock_opened(void)
{
	pthread_mutex_lock(&opened_lock);
}

static void unlock_opened(void)
{
	pthread_mutex_unlock(&opened_lock);
}

static struct rnic_fork_entry opened_fork_entry = {
	.before = lock_opened,
	.in_parent = unlock_opened,
	.in_child = unlock_opened,
};

/*
 * An empty file. Descriptors of the same file mean the same opened device, to this process and the
 * daemon.
 */
static int create_cmd_file(struct rnic_context *native, int *cmd_fd)
{
	int error;
	int fd = memfd_create("rnic-cmd", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	error = rnic_share(native, fd);
	/* A daemon that serves no imports still serves all else. */
	if (error != 0 && error != -EOPNOTSUPP) {
		close(fd);
		return error;
	}
	*cmd_fd = fd;
	return 0;
}

/* Opens the device; the result is in no list yet. */
static int verbs_opened_create(struct rnic_verbs_device *device, struct rnic_verbs_opened **created)
{
	struct rnic_verbs_opened *opened = calloc(1, sizeof(*opened));
	int error;

	if (opened == NULL)
		return -ENOMEM;
	error = rnic_open(device->socket_path, &opened->native);
	if (error != 0) {
		free(opened);
		return error;
	}
	opened->device = device;
	opened->references = 1;
	*created = opened;
	return 0;
}

/* Makes `opened` the one that cmd_fd means in this process. */
static int opened_enlist(struct rnic_verbs_opened *opened, int cmd_fd)
{
	struct stat status;

	if (fstat(cmd_fd, &status) != 0)
		return -errno;
	opened->file_device = status.st_dev;
	opened->file_inode = status.st_ino;
	rnic_fork_list_add(&opened_fork_entry);
	lock_opened();
	opened->next = all_opened;
	all_opened = opened;
	unlock_opened();
	return 0;
}

int rnic_verbs_opened_create(struct rnic_verbs_device *device, struct rnic_verbs_opened **made,
			     int *cmd_fd)
{
	struct rnic_verbs_opened *opened;
	int error = verbs_opened_create(device, &opened);

	if (error != 0)
		return error;
	error = create_cmd_file(opened->native, cmd_fd);
	if (error != 0)
		goto close_native;
	error = opened_enlist(opened, *cmd_fd);
	if (error != 0)
		goto close_file;
	*made = opened;
	return 0;

close_file:
	close(*cmd_fd);
close_native:
	rnic_close(opened->native);
	free(opened);
	return error;
}

int rnic_verbs_opened_import(struct rnic_verbs_device *device, int cmd_fd,
			     struct rnic_verbs_opened **imported)
{
	struct rnic_verbs_opened *opened;
	int error = verbs_opened_create(device, &opened);

	if (error != 0)
		return error;
	opened->is_importer = true;
	error = rnic_import(opened->native, cmd_fd);
	if (error == 0)
		error = opened_enlist(opened, cmd_fd);
	if (error != 0) {
		rnic_close(opened->native);
		free(opened);
		return error == -ENOENT || error == -EINVAL ? -EOPNOTSUPP : error;
	}
	*imported = opened;
	return 0;
}

int rnic_verbs_opened_find(int cmd_fd, struct rnic_verbs_opened **found)
{
	struct rnic_verbs_opened *opened;
	struct stat status;

	if (fstat(cmd_fd, &status) != 0)
		return -errno;
	lock_opened();
	opened = all_opened;
	while (opened != NULL &&
	       (opened->file_device != status.st_dev || opened->file_inode != status.st_ino))
		opened = opened->next;
	if (opened != NULL)
		opened->references++;
	unlock_opened();
	if (opened == NULL)
		return -EOPNOTSUPP;
	*found = opened;
	return 0;
}

void rnic_verbs_opened_release(struct rnic_verbs_opened *opened)
{
	struct rnic_verbs_opened **link = &all_opened;
	bool is_last;

	lock_opened();
	is_last = --opened->references == 0;
	if (is_last) {
		while (*link != opened)
			link = &(*link)->next;
		*link = opened->next;
	}
	unlock_opened();
	if (!is_last)
		return;
	rnic_close(opened->native);
	free(opened);
}

struct rnic_context *rnic_verbs_opened_native(const struct rnic_verbs_opened *opened)
{
	return opened->native;
}

bool rnic_verbs_is_importer(struct ibv_context *context)
{
	return rnic_verbs_context(context)->opened->is_importer;
}

struct rnic_verbs_device *rnic_verbs_opened_device(const struct rnic_verbs_opened *opened)
{
	return opened->device;
}

void rnic_verbs_export_add(struct ibv_context *context, struct rnic_verbs_export *export,
			   enum rnic_verbs_export_kind kind, uint32_t handle, uint32_t key)
{
	struct rnic_verbs_opened *opened = rnic_verbs_context(context)->opened;

	lock_opened();
	export->kind = kind;
	export->handle = kind == RNIC_VERBS_EXPORT_DM ? ++opened->last_handle : handle;
	export->key = key;
	export->next = opened->exports;
	export->link = &opened->exports;
	if (export->next != NULL)
		export->next->link = &export->next;
	opened->exports = export;
	unlock_opened();
}

void rnic_verbs_export_remove(struct rnic_verbs_export *export)
{
	lock_opened();
	if (export->link != NULL) {
		*export->link = export->next;
		if (export->next != NULL)
			export->next->link = export->link;
		export->link = NULL;
	}
	unlock_opened();
}

struct rnic_verbs_export *rnic_verbs_export_find(struct ibv_context *context,
						 enum rnic_verbs_export_kind kind, uint32_t handle)
{
	struct rnic_verbs_export *export;

	lock_opened();
	export = rnic_verbs_context(context)->opened->exports;
	while (export != NULL && (export->kind != kind || export->handle != handle))
		export = export->next;
	unlock_opened();
	return export;
}

struct rnic_verbs_mr *rnic_verbs_mr_of_key(struct ibv_context *context, uint32_t lkey)
{
	struct rnic_verbs_export *export;

	lock_opened();
	export = rnic_verbs_context(context)->opened->exports;
	while (export != NULL && (export->kind != RNIC_VERBS_EXPORT_MR || export->key != lkey))
		export = export->next;
	unlock_opened();
	return export == NULL ? NULL : RNIC_CONTAINER_OF(export, struct rnic_verbs_mr, export);
}

int rnic_verbs_dm_take(struct ibv_context *context, size_t bytes)
{
	struct rnic_verbs_opened *opened = rnic_verbs_context(context)->opened;
	bool has_room;

	lock_opened();
	has_room = bytes <= RNIC_VERBS_DM_BYTES_MAX - opened->dm_bytes;
	if (has_room)
		opened->dm_bytes += bytes;
	unlock_opened();
	return has_room ? 0 : -ENOMEM;
}

void rnic_verbs_dm_give_back(struct ibv_context *context, size_t bytes)
{
	lock_opened();
	rnic_verbs_context(context)->opened->dm_bytes -= bytes;
	unlock_opened();
}
