/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/socket_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY_LINKS_MAX 40 /* as the kernel follows */
#define DIRECTORY_ADVICE    "root's files are not safe there; choose another directory"

/* A walk from "/" to the directory, name by name. */
struct directory_walk {
	int fd;		     /* of the directory that is reached */
	struct stat status;  /* of the same */
	uid_t host;	     /* owner of "/" */
	unsigned link_count; /* followed so far */
	char rest[PATH_MAX]; /* of the path, to go yet */
	const char *wanted;  /* the whole path, for sentences */
	char *reason;
	size_t reason_bytes;
};

__attribute__((format(printf, 3, 4))) static int
directory_refuse(const struct directory_walk *walk, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(walk->reason, walk->reason_bytes, format, arguments);
	va_end(arguments);
	return error;
}

static int directory_fail(const struct directory_walk *walk, int error)
{
	return directory_refuse(walk, error, "cannot open the directory %s: %s", walk->wanted,
				strerror(-error));
}

/* Enters the directory or link `fd`, which the walk owns from now on. */
static int directory_enter(struct directory_walk *walk, int fd)
{
	if (fd < 0)
		return directory_fail(walk, -errno);
	if (walk->fd >= 0)
		close(walk->fd);
	walk->fd = fd;
	return fstat(fd, &walk->status) == 0 ? 0 : directory_fail(walk, -errno);
}

static int directory_enter_top(struct directory_walk *walk)
{
	return directory_enter(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Puts `target`, the content of a link, before the rest of the path. */
static int directory_follow(struct directory_walk *walk, const char *target)
{
	char joined[PATH_MAX];

	if (++walk->link_count > DIRECTORY_LINKS_MAX)
		return directory_fail(walk, -ELOOP);
	if (snprintf(joined, sizeof(joined), "%s/%s", target, walk->rest) >= (int)sizeof(joined))
		return directory_fail(walk, -ENAMETOOLONG);
	memcpy(walk->rest, joined, sizeof(joined));
	return target[0] == '/' ? directory_enter_top(walk) : 0;
}

static bool directory_is_strangers(const struct directory_walk *walk, const struct stat *status)
{
	return status->st_uid != geteuid() && status->st_uid != 0 && status->st_uid != walk->host;
}

static int directory_check_owner(const struct directory_walk *walk, const struct stat *status,
				 const char *name)
{
	if (!directory_is_strangers(walk, status))
		return 0;
	return directory_refuse(walk, -EPERM,
				"%.80s, on the way to %.80s, belongs to user %u; " DIRECTORY_ADVICE,
				name, walk->wanted, (unsigned)status->st_uid);
}

/* Takes the first name off the rest of the path; false: nothing is left. */
static bool directory_take_name(struct directory_walk *walk, char name[PATH_MAX])
{
	const char *start = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(start, "/");

	if (length == 0)
		return false;
	memcpy(name, start, length);
	name[length] = '\0';
	memmove(walk->rest, start + length, strlen(start + length) + 1);
	return true;
}

/* Whether others can change what is in the directory. One of `safe_bits` of its mode forbids it. */
static bool directory_others_write(const struct directory_walk *walk, mode_t safe_bits)
{
	const mode_t mode = walk->status.st_mode;

	return (mode & (S_IWGRP | S_IWOTH)) != 0 && (mode & safe_bits) == 0;
}

/* Goes on to `name`. The directory that holds the name decides who may replace it. */
static int directory_step(struct directory_walk *walk, const char *name)
{
	char target[PATH_MAX];
	struct stat status;
	ssize_t length;
	int fd, result;

	if (directory_others_write(walk, S_ISVTX))
		return directory_refuse(walk, -EPERM,
					"others may write in the directory of %.80s, on the way to "
					"%.80s; " DIRECTORY_ADVICE,
					name, walk->wanted);
	fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return directory_fail(walk, -errno);
	result = fstat(fd, &status) == 0 ? directory_check_owner(walk, &status, name)
					 : directory_fail(walk, -errno);
	if (result == 0 && S_ISDIR(status.st_mode))
		return directory_enter(walk, fd);
	if (result == 0 && !S_ISLNK(status.st_mode))
		result = directory_fail(walk, -ENOTDIR);
	length = result == 0 ? readlinkat(fd, "", target, sizeof(target) - 1) : 0;
	close(fd);
	if (result != 0)
		return result;
	if (length < 0)
		return directory_fail(walk, -errno);
	target[length] = '\0';
	return directory_follow(walk, target);
}

static int directory_begin(struct directory_walk *walk)
{
	char start[PATH_MAX] = "";

	if (walk->wanted[0] != '/' && getcwd(start, sizeof(start)) == NULL)
		return directory_fail(walk, -errno);
	if (strlen(start) + 1 + strlen(walk->wanted) >= sizeof(walk->rest))
		return directory_fail(walk, -ENAMETOOLONG);
	memcpy(walk->rest, start, strlen(start) + 1);
	snprintf(walk->rest + strlen(start), sizeof(walk->rest) - strlen(start), "/%s",
		 walk->wanted);
	return 0;
}

static int directory_check(const char *directory, mode_t safe_bits, char *reason,
			   size_t reason_bytes)
{
	struct directory_walk walk = {
		.fd = -1,
		.wanted = directory,
		.reason = reason,
		.reason_bytes = reason_bytes,
	};
	char name[PATH_MAX];
	int result = directory_begin(&walk);

	if (result == 0)
		result = directory_enter_top(&walk);
	walk.host = walk.status.st_uid;
	while (result == 0 && directory_take_name(&walk, name))
		result = directory_step(&walk, name);
	if (result == 0 && directory_others_write(&walk, safe_bits))
		result = directory_refuse(
			&walk, -EPERM,
			"others may write in the directory %.120s; " DIRECTORY_ADVICE, directory);
	if (walk.fd >= 0)
		close(walk.fd);
	return result;
}

int socket_directory_check(const char *directory, char *reason, size_t reason_bytes)
{
	return directory_check(directory, 0, reason, reason_bytes);
}

int socket_directory_check_file(const char *path, char *reason, size_t reason_bytes)
{
	char directory[PATH_MAX];

	if (snprintf(directory, sizeof(directory), "%s", path) >= (int)sizeof(directory)) {
		snprintf(reason, reason_bytes, "the path %.80s... is too long", path);
		return -ENAMETOOLONG;
	}
	return socket_directory_check_way(dirname(directory), reason, reason_bytes);
}

int socket_directory_check_way(const char *directory, char *reason, size_t reason_bytes)
{
	return directory_check(directory, S_ISVTX, reason, reason_bytes);
}
