/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/socket_path.h"

#include "daemon/control/server/socket_directory.h"
#include "daemon/shared/base/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SOCKET_BACKLOG	      128
#define SOCKET_LOCK_ATTEMPTS  200
#define SOCKET_LOCK_PAUSE_NS  10000000
#define SOCKET_DIRECTORY_ROOT "/run/rnicd"
#define SOCKET_DIRECTORY_USER "/tmp/rnicd-" /* and the user's number */
#define SOCKET_NAME	      "/rnicd.sock"

__attribute__((format(printf, 3, 4))) static int socket_path_fail(char *reason, int error,
								  const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, SOCKET_PATH_REASON_BYTES, format, arguments);
	va_end(arguments);
	return error;
}

/*
 * Makes `directory`, or accepts an existing one that belongs to us and that nobody else can write
 * to.
 */
static int socket_path_make_directory(const char *directory, mode_t mode, char *reason)
{
	struct stat status;

	if (mkdir(directory, mode) != 0 && errno != EEXIST)
		return socket_path_fail(reason, -errno, "cannot make the directory %s: %s",
					directory, strerror(errno));
	if (lstat(directory, &status) != 0)
		return socket_path_fail(reason, -errno, "cannot use the directory %s: %s",
					directory, strerror(errno));
	if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
	    (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return socket_path_fail(
			reason, -EPERM,
			"%s is not a directory of ours alone; remove it or use --socket",
			directory);
	return 0;
}

static int socket_path_print(char path[SOCKET_PATH_PATH_BYTES], char *reason, const char *directory,
			     const char *name)
{
	if (snprintf(path, SOCKET_PATH_PATH_BYTES, "%s%s", directory, name) >=
	    SOCKET_PATH_PATH_BYTES)
		return socket_path_fail(reason, -ENAMETOOLONG,
					"the socket path %s%s is longer than %d bytes", directory,
					name, SOCKET_PATH_PATH_BYTES - 1);
	return 0;
}

int socket_path_default(char path[SOCKET_PATH_PATH_BYTES], char reason[SOCKET_PATH_REASON_BYTES])
{
	const char *chosen = getenv("RNIC_SOCKET");
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char directory[64];

	if (chosen != NULL && strchr(chosen, ':') != NULL)
		return socket_path_fail(reason, -EINVAL,
					"RNIC_SOCKET names several sockets, and a daemon has one; "
					"give --socket");
	if (chosen != NULL && chosen[0] != '\0')
		return socket_path_print(path, reason, chosen, "");
	if (geteuid() == 0)
		return socket_path_print(path, reason, SOCKET_DIRECTORY_ROOT, SOCKET_NAME);
	if (runtime != NULL && runtime[0] != '\0')
		return socket_path_print(path, reason, runtime, SOCKET_NAME);
	snprintf(directory, sizeof(directory), SOCKET_DIRECTORY_USER "%u", (unsigned)geteuid());
	return socket_path_print(path, reason, directory, SOCKET_NAME);
}

/* Whether the directory is one that the daemon makes for itself. */
static bool socket_path_is_own_directory(const char *directory, mode_t *mode)
{
	char own[64];

	snprintf(own, sizeof(own), SOCKET_DIRECTORY_USER "%u", (unsigned)geteuid());
	*mode = geteuid() == 0 ? 0755 : 0700;
	return strcmp(directory, geteuid() == 0 ? SOCKET_DIRECTORY_ROOT : own) == 0;
}

/*
 * Makes `directory` for another user. Root makes the directory where no stranger can put another
 * one in its place, so what is chowned is what was made.
 */
static int socket_path_give_directory(char *directory, const struct identity *owner, char *reason)
{
	char above[SOCKET_PATH_PATH_BYTES];
	struct stat status;
	int result;

	if (lstat(directory, &status) == 0) {
		if (S_ISDIR(status.st_mode) && status.st_uid == owner->uid)
			return 0;
		return socket_path_fail(reason, -EPERM,
					"the directory %s does not belong to user %u; remove it, "
					"or give --socket another one",
					directory, (unsigned)owner->uid);
	}
	snprintf(above, sizeof(above), "%s", directory);
	result = socket_directory_check_way(dirname(above), reason, SOCKET_PATH_REASON_BYTES);
	if (result != 0)
		return result;
	if (mkdir(directory, 0755) != 0 || lchown(directory, owner->uid, owner->gid) != 0)
		return socket_path_fail(reason, -errno, "cannot make the directory %s: %s",
					directory, strerror(errno));
	return 0;
}

int socket_path_prepare(const char *path, const struct identity *owner,
			char reason[SOCKET_PATH_REASON_BYTES])
{
	char copy[SOCKET_PATH_PATH_BYTES];
	char *directory;
	mode_t mode;
	int result = socket_path_print(copy, reason, path, "");

	if (result != 0)
		return result;
	directory = dirname(copy);
	if (owner->uid != geteuid())
		return socket_path_give_directory(directory, owner, reason);
	if (!socket_path_is_own_directory(directory, &mode))
		return 0;
	return socket_path_make_directory(directory, mode, reason);
}

/* Stores the address of `path`. Root keeps no socket where a stranger could replace it. */
static int socket_path_resolve(const char *path, uid_t uid, struct sockaddr_un *address,
			       char *reason)
{
	char copy[SOCKET_PATH_PATH_BYTES];
	int result = socket_path_print(address->sun_path, reason, path, "");

	address->sun_family = AF_UNIX;
	if (result != 0 || uid != 0)
		return result;
	memcpy(copy, address->sun_path, sizeof(copy));
	return socket_directory_check(dirname(copy), reason, SOCKET_PATH_REASON_BYTES);
}

/*
 * Locks the directory of `path`: when two daemons start at once, one sees the other's socket.
 * Returns the descriptor to close, or a negative errno.
 */
static int socket_path_lock(const char *path, char *reason)
{
	const struct timespec pause = {.tv_nsec = SOCKET_LOCK_PAUSE_NS};
	char copy[SOCKET_PATH_PATH_BYTES];
	const char *directory;
	int fd;

	snprintf(copy, sizeof(copy), "%s", path);
	directory = dirname(copy);
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return socket_path_fail(reason, -errno, "cannot open the directory %s: %s",
					directory, strerror(errno));
	for (int i = 0; i < SOCKET_LOCK_ATTEMPTS; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		nanosleep(&pause, NULL);
	}
	close(fd);
	return socket_path_fail(reason, -EBUSY, "the directory %s is locked by another program",
				directory);
}

/* Returns whether no program serves the existing socket at `address`. */
static bool socket_path_is_stale(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool is_stale;

	if (fd < 0)
		return false;
	is_stale = connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
		   errno == ECONNREFUSED;
	close(fd);
	return is_stale;
}

/* Accepts a free path, and a socket that no program serves: then `is_stale` is set. */
static int socket_path_look(const struct sockaddr_un *address, bool *is_stale, char *reason)
{
	struct stat status;

	*is_stale = false;
	if (lstat(address->sun_path, &status) != 0)
		return errno == ENOENT ? 0
				       : socket_path_fail(reason, -errno, "cannot look at %s: %s",
							  address->sun_path, strerror(errno));
	if (!S_ISSOCK(status.st_mode))
		return socket_path_fail(reason, -EADDRINUSE, "%s exists and is not a socket",
					address->sun_path);
	if (!socket_path_is_stale(address))
		return socket_path_fail(
			reason, -EADDRINUSE,
			"another program already serves on %s; stop it or use --socket",
			address->sun_path);
	*is_stale = true;
	return 0;
}

/* Makes room for bind(). */
static int socket_path_clear(const struct sockaddr_un *address, char *reason)
{
	bool is_stale;
	int result = socket_path_look(address, &is_stale, reason);

	if (result == 0 && is_stale && unlink(address->sun_path) != 0)
		return socket_path_fail(reason, -errno, "cannot remove the stale socket %s: %s",
					address->sun_path, strerror(errno));
	return result;
}

/*
 * Binds so that the file has `mode` from the first moment on: the kernel takes the mode from the
 * socket itself. A chmod(2) of the path could meet another file there, or a link to one.
 */
static int socket_path_make_file(int fd, const struct sockaddr_un *address, mode_t mode)
{
	mode_t mask;
	int result;

	if (fchmod(fd, mode) != 0)
		return -errno;
	mask = umask(0);
	result = bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : -errno;
	umask(mask);
	return result;
}

static int socket_path_bind(const struct sockaddr_un *address, mode_t mode,
			    struct socket_path *place, char *reason)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat status;
	int result;

	if (fd < 0)
		return socket_path_fail(reason, -errno, "cannot make a socket: %s",
					strerror(errno));
	result = socket_path_make_file(fd, address, mode);
	if (result == 0 &&
	    (listen(fd, SOCKET_BACKLOG) != 0 || lstat(address->sun_path, &status) != 0))
		result = -errno;
	if (result != 0) {
		socket_path_fail(reason, result, "cannot listen on %s: %s", address->sun_path,
				 strerror(-result));
		close(fd);
		return result;
	}
	memcpy(place->path, address->sun_path, sizeof(place->path));
	place->device = status.st_dev;
	place->inode = status.st_ino;
	return fd;
}

int socket_path_check(const char *path, const struct identity *owner,
		      char reason[SOCKET_PATH_REASON_BYTES])
{
	struct sockaddr_un address = {0};
	bool is_stale;
	int result = socket_path_resolve(path, owner->uid, &address, reason);

	return result != 0 ? result : socket_path_look(&address, &is_stale, reason);
}

int socket_path_listen(const char *path, mode_t mode, struct socket_path *place,
		       char reason[SOCKET_PATH_REASON_BYTES])
{
	struct sockaddr_un address = {0};
	int lock;
	int result = socket_path_resolve(path, geteuid(), &address, reason);

	if (result != 0)
		return result;
	lock = socket_path_lock(path, reason);
	if (lock < 0)
		return lock;
	result = socket_path_clear(&address, reason);
	if (result == 0)
		result = socket_path_bind(&address, mode, place, reason);
	close(lock);
	return result;
}

static bool socket_path_has_option(int fd, int option, int wanted)
{
	socklen_t bytes = sizeof(int);
	int value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &bytes) == 0 && value == wanted;
}

/* Returns whether `fd` is a listening socket that is bound at `address`. */
static bool socket_path_is_bound(int fd, const struct sockaddr_un *address)
{
	struct sockaddr_un bound = {0};
	socklen_t bytes = sizeof(bound);

	return socket_path_has_option(fd, SO_DOMAIN, AF_UNIX) &&
	       socket_path_has_option(fd, SO_TYPE, SOCK_SEQPACKET) &&
	       socket_path_has_option(fd, SO_ACCEPTCONN, 1) &&
	       getsockname(fd, (struct sockaddr *)&bound, &bytes) == 0 &&
	       strncmp(bound.sun_path, address->sun_path, sizeof(bound.sun_path)) == 0;
}

int socket_path_adopt(int fd, const char *path, struct socket_path *place,
		      char reason[SOCKET_PATH_REASON_BYTES])
{
	struct sockaddr_un address = {0};
	int result = socket_path_resolve(path, geteuid(), &address, reason);

	if (result != 0)
		return result;
	if (!socket_path_is_bound(fd, &address))
		return socket_path_fail(reason, -EINVAL,
					"the service manager's socket does not listen at %s "
					"(ListenSequentialPacket=)",
					path);
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
		return socket_path_fail(reason, -errno, "cannot use the service manager's socket");
	*place = (struct socket_path){0};
	memcpy(place->path, address.sun_path, sizeof(place->path));
	return 0;
}

void socket_path_remove(const struct socket_path *place)
{
	struct stat status;

	if (place->inode != 0 && lstat(place->path, &status) == 0 &&
	    status.st_dev == place->device && status.st_ino == place->inode)
		unlink(place->path);
}
