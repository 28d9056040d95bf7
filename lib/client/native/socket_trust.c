/* SPDX-License-Identifier: MIT */
#include "lib/client/native/socket_trust.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRUST_SHARED_PREFIX "/tmp/rnicd-" /* any user can make such a directory */
#define TRUST_ROOT_PLACE    "/run"
#define TRUST_ROOT_FOLDER   "/run/rnicd"

static bool trust_begins_with(const char *path, const char *prefix)
{
	return strncmp(path, prefix, strlen(prefix)) == 0;
}

static bool trust_is_in_runtime_folder(const char *path)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");

	return folder != NULL && folder[0] != '\0' && trust_begins_with(path, folder) &&
	       strcmp(path + strlen(folder), "/rnicd.sock") == 0;
}

static bool trust_is_own_folder(const char *path, uid_t owner)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == owner &&
	       (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Only root makes directories in a directory of root where nobody else may write. */
static bool trust_owns_root_folder(uid_t peer)
{
	struct stat status;

	return lstat(TRUST_ROOT_PLACE, &status) == 0 &&
	       trust_is_own_folder(TRUST_ROOT_PLACE, status.st_uid) &&
	       trust_is_own_folder(TRUST_ROOT_FOLDER, peer);
}

int rnic_socket_check_peer(int fd, const char *path, uid_t *owner)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);
	const bool is_below_root = trust_begins_with(path, TRUST_ROOT_FOLDER "/");

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
		return -errno;
	if (owner != NULL)
		*owner = peer.uid;
	if (peer.uid == 0 || peer.uid == geteuid())
		return 0;
	if (is_below_root)
		return trust_owns_root_folder(peer.uid) ? 0 : -EACCES;
	return trust_begins_with(path, TRUST_SHARED_PREFIX) || trust_is_in_runtime_folder(path)
		       ? -EACCES
		       : 0;
}
