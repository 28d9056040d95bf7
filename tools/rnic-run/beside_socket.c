/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/beside_socket.h"

#include "tools/rnic-run/complaint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BESIDE_SHARED_PREFIX "/tmp/rnicd-" /* any user can make such a directory */

/* Looks at what is at the path, where nobody serves. */
static int beside_check_file(const char *socket)
{
	struct stat status;

	if (lstat(socket, &status) != 0)
		return 0;
	if (!S_ISSOCK(status.st_mode)) {
		complain("%s exists and is no socket; give another --socket", socket);
		return -ENOTSOCK;
	}
	if (status.st_uid != geteuid()) {
		complain("%s is a socket of user %u, and nobody serves there; give another "
			 "--socket",
			 socket, (unsigned)status.st_uid);
		return -EACCES;
	}
	return 0;
}

/* Looks at a directory that exists. The directory of an ordinary user is the user's choice. */
static int beside_check_directory(const char *directory)
{
	const int is_shared =
		strncmp(directory, BESIDE_SHARED_PREFIX, strlen(BESIDE_SHARED_PREFIX)) == 0;
	struct stat status;

	if ((is_shared ? lstat(directory, &status) : stat(directory, &status)) != 0 ||
	    !S_ISDIR(status.st_mode)) {
		complain("%s is no directory that can hold a socket; give --socket", directory);
		return -EACCES;
	}
	if (!is_shared && geteuid() != 0)
		return 0;
	if (status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return 0;
	complain("%s belongs to user %u, or others may write there: no socket of user %u is safe "
		 "there; give --socket",
		 directory, (unsigned)status.st_uid, (unsigned)geteuid());
	return -EACCES;
}

int beside_socket_prepare(const char *socket)
{
	char directory[PATH_MAX];
	int error = beside_check_file(socket);

	if (error)
		return error;
	snprintf(directory, sizeof(directory), "%s", socket);
	*strrchr(directory, '/') = '\0';
	if (directory[0] == '\0')
		return 0;
	if (mkdir(directory, strcmp(directory, "/run/rnicd") == 0 ? 0755 : 0700) == 0)
		return 0;
	if (errno == EEXIST)
		return beside_check_directory(directory);
	error = -errno;
	complain("cannot make the directory %s: %s", directory, strerror(-error));
	return error;
}

/* A file with a second name may be somebody's whom the other name concerns. */
static int beside_check_own(int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -errno;
	return S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1
		       ? 0
		       : -EEXIST;
}

int beside_socket_open(const char *socket, const char *suffix, int flags)
{
	char path[PATH_MAX];
	int fd, error;

	snprintf(path, sizeof(path), "%s%s", socket, suffix);
	fd = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	error = fd < 0 ? -errno : beside_check_own(fd);
	if (!error)
		return fd;
	if (fd >= 0)
		close(fd);
	complain("cannot write %s: %s; start rnicd there yourself, or give --socket", path,
		 strerror(-error));
	return error;
}
