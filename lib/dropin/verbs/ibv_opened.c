/* SPDX-License-Identifier: MIT */
#include "lib/dropin/verbs/ibv_opened.h"

#include "lib/client/native/fork_list.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct rnic_verbs_session {
	struct rnic_verbs_session *next;
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
static pthread_mutex_t sessions_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_verbs_session *sessions;

static void lock_sessions(void)
{
	pthread_mutex_lock(&sessions_lock);
}

static void unlock_sessions(void)
{
	pthread_mutex_unlock(&sessions_lock);
}

static struct rnic_fork_entry sessions_fork_entry = {
	.before = lock_sessions,
	.in_parent = unlock_sessions,
	.in_child = unlock_sessions,
};

/*
 * An empty file. Descriptors of the same file mean the same session, to this process and to the
 * daemon.
 */
static int create_cmd_file(struct rnic_context *native, int *cmd_fd)
{
	int error;
	int fd = memfd_create("rnic-session", MFD_CLOEXEC);

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

/* A session on the device, in no list yet. */
static int verbs_session_create(struct rnic_verbs_device *device,
				struct rnic_verbs_session **created)
{
	struct rnic_verbs_session *session = calloc(1, sizeof(*session));
	int error;

	if (session == NULL)
		return -ENOMEM;
	error = rnic_open(device->socket_path, &session->native);
	if (error != 0) {
		free(session);
		return error;
	}
	session->device = device;
	session->references = 1;
	*created = session;
	return 0;
}

/* Makes `session` the one that cmd_fd means in this process. */
static int session_enlist(struct rnic_verbs_session *session, int cmd_fd)
{
	struct stat status;

	if (fstat(cmd_fd, &status) != 0)
		return -errno;
	session->file_device = status.st_dev;
	session->file_inode = status.st_ino;
	rnic_fork_list_add(&sessions_fork_entry);
	lock_sessions();
	session->next = sessions;
	sessions = session;
	unlock_sessions();
	return 0;
}

int rnic_verbs_session_open(struct rnic_verbs_device *device, struct rnic_verbs_session **opened,
			    int *cmd_fd)
{
	struct rnic_verbs_session *session;
	int error = verbs_session_create(device, &session);

	if (error != 0)
		return error;
	error = create_cmd_file(session->native, cmd_fd);
	if (error != 0)
		goto close_native;
	error = session_enlist(session, *cmd_fd);
	if (error != 0)
		goto close_file;
	*opened = session;
	return 0;

close_file:
	close(*cmd_fd);
close_native:
	rnic_close(session->native);
	free(session);
	return error;
}

int rnic_verbs_session_import(struct rnic_verbs_device *device, int cmd_fd,
			      struct rnic_verbs_session **imported)
{
	struct rnic_verbs_session *session;
	int error = verbs_session_create(device, &session);

	if (error != 0)
		return error;
	session->is_importer = true;
	error = rnic_import(session->native, cmd_fd);
	if (error == 0)
		error = session_enlist(session, cmd_fd);
	if (error != 0) {
		rnic_close(session->native);
		free(session);
		return error == -ENOENT || error == -EINVAL ? -EOPNOTSUPP : error;
	}
	*imported = session;
	return 0;
}

int rnic_verbs_session_find(int cmd_fd, struct rnic_verbs_session **found)
{
	struct rnic_verbs_session *session;
	struct stat status;

	if (fstat(cmd_fd, &status) != 0)
		return -errno;
	lock_sessions();
	session = sessions;
	while (session != NULL &&
	       (session->file_device != status.st_dev || session->file_inode != status.st_ino))
		session = session->next;
	if (session != NULL)
		session->references++;
	unlock_sessions();
	if (session == NULL)
		return -EOPNOTSUPP;
	*found = session;
	return 0;
}

void rnic_verbs_session_release(struct rnic_verbs_session *session)
{
	struct rnic_verbs_session **link = &sessions;
	bool is_last;

	lock_sessions();
	is_last = --session->references == 0;
	if (is_last) {
		while (*link != session)
			link = &(*link)->next;
		*link = session->next;
	}
	unlock_sessions();
	if (!is_last)
		return;
	rnic_close(session->native);
	free(session);
}

struct rnic_context *rnic_verbs_session_native(const struct rnic_verbs_session *session)
{
	return session->native;
}

bool rnic_verbs_is_importer(struct ibv_context *context)
{
	return rnic_verbs_context(context)->session->is_importer;
}

struct rnic_verbs_device *rnic_verbs_session_device(const struct rnic_verbs_session *session)
{
	return session->device;
}

void rnic_verbs_export_add(struct ibv_context *context, struct rnic_verbs_export *export,
			   enum rnic_verbs_export_kind kind, uint32_t handle, uint32_t key)
{
	struct rnic_verbs_session *session = rnic_verbs_context(context)->session;

	lock_sessions();
	export->kind = kind;
	export->handle = kind == RNIC_VERBS_EXPORT_DM ? ++session->last_handle : handle;
	export->key = key;
	export->next = session->exports;
	export->link = &session->exports;
	if (export->next != NULL)
		export->next->link = &export->next;
	session->exports = export;
	unlock_sessions();
}

void rnic_verbs_export_remove(struct rnic_verbs_export *export)
{
	lock_sessions();
	if (export->link != NULL) {
		*export->link = export->next;
		if (export->next != NULL)
			export->next->link = export->link;
		export->link = NULL;
	}
	unlock_sessions();
}

struct rnic_verbs_export *rnic_verbs_export_find(struct ibv_context *context,
						 enum rnic_verbs_export_kind kind, uint32_t handle)
{
	struct rnic_verbs_export *export;

	lock_sessions();
	export = rnic_verbs_context(context)->session->exports;
	while (export != NULL && (export->kind != kind || export->handle != handle))
		export = export->next;
	unlock_sessions();
	return export;
}

struct rnic_verbs_mr *rnic_verbs_mr_of_key(struct ibv_context *context, uint32_t lkey)
{
	struct rnic_verbs_export *export;

	lock_sessions();
	export = rnic_verbs_context(context)->session->exports;
	while (export != NULL && (export->kind != RNIC_VERBS_EXPORT_MR || export->key != lkey))
		export = export->next;
	unlock_sessions();
	return export == NULL ? NULL : RNIC_CONTAINER_OF(export, struct rnic_verbs_mr, export);
}

int rnic_verbs_dm_take(struct ibv_context *context, size_t bytes)
{
	struct rnic_verbs_session *session = rnic_verbs_context(context)->session;
	bool has_room;

	lock_sessions();
	has_room = bytes <= RNIC_VERBS_DM_BYTES_MAX - session->dm_bytes;
	if (has_room)
		session->dm_bytes += bytes;
	unlock_sessions();
	return has_room ? 0 : -ENOMEM;
}

void rnic_verbs_dm_give_back(struct ibv_context *context, size_t bytes)
{
	lock_sessions();
	rnic_verbs_context(context)->session->dm_bytes -= bytes;
	unlock_sessions();
}
