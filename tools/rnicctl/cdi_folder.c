/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/cdi_folder.h"

#include "lib/client/admin/admin_link.h"

#include <dirent.h>
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

struct cdi_folder {
	const char *path;
	uid_t owner; /* of the daemon */
	uid_t host;  /* owner of "/", who can replace everything */
};

__attribute__((format(printf, 2, 3))) static int folder_refuse(const struct cdi_folder *folder,
							       const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "rnicctl: containers would get the folder %s, but ", folder->path);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "; give the socket a folder of its own\n");
	return -EPERM;
}

static int folder_fail(const char *path, int error)
{
	fprintf(stderr, "rnicctl: %s: %s\n", path, strerror(-error));
	return error;
}

static bool folder_is_strangers(const struct cdi_folder *folder, uid_t user)
{
	return user != 0 && user != geteuid() && user != folder->owner && user != folder->host;
}

/* In a directory with the sticky bit, others cannot replace what is not theirs. */
static int folder_check_directory(const struct cdi_folder *folder, const char *path,
				  mode_t safe_bits)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return folder_fail(path, -errno);
	if (folder_is_strangers(folder, status.st_uid))
		return folder_refuse(folder, "user %u owns %s", (unsigned)status.st_uid, path);
	if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & safe_bits) == 0)
		return folder_refuse(folder, "other users may write in %s", path);
	return 0;
}

/* The folder, and each one above it. */
static int folder_check_way(const struct cdi_folder *folder)
{
	char path[PATH_MAX];
	int error;

	snprintf(path, sizeof(path), "%s", folder->path);
	error = folder_check_directory(folder, path, 0);
	while (error == 0 && strcmp(path, "/") != 0)
		error = folder_check_directory(folder, dirname(path), S_ISVTX);
	return error;
}

static int folder_check_socket(const struct cdi_folder *folder, const char *name)
{
	char path[PATH_MAX];
	struct admin_link link;
	int error;

	if (snprintf(path, sizeof(path), "%s/%s", folder->path, name) >= (int)sizeof(path))
		return folder_fail(folder->path, -ENAMETOOLONG);
	error = admin_link_open(&link, path, "rnicctl");
	if (error < 0)
		return folder_refuse(folder, "no rnicd answers on %s in it (%s)", name,
				     strerror(-error));
	admin_link_close(&link);
	return 0;
}

/*
 * Whether rnicd or rnic-run makes a file of this name and type beside a socket that is there. The
 * socket is checked in its own turn.
 */
static bool folder_belongs_to_socket(int directory_fd, const char *name, mode_t mode)
{
	static const struct {
		const char *suffix;
		mode_t type;
	} companions[] = {{".view", S_IFDIR}, {".log", S_IFREG}, {".lock", S_IFREG}};
	const char *suffix = strrchr(name, '.');
	char socket[NAME_MAX + 1];
	struct stat status;

	if (suffix == NULL)
		return false;
	snprintf(socket, sizeof(socket), "%.*s", (int)(suffix - name), name);
	for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++)
		if (strcmp(suffix, companions[i].suffix) == 0)
			return (mode & S_IFMT) == companions[i].type &&
			       fstatat(directory_fd, socket, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
			       S_ISSOCK(status.st_mode);
	return false;
}

static int folder_check_entry(const struct cdi_folder *folder, int directory_fd, const char *name)
{
	struct stat status;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return folder_fail(name, -errno);
	if (S_ISSOCK(status.st_mode))
		return folder_check_socket(folder, name);
	if (folder_belongs_to_socket(directory_fd, name, status.st_mode))
		return 0;
	return folder_refuse(folder, "%s in it is not of rnicd", name);
}

static int folder_check_entries(const struct cdi_folder *folder)
{
	DIR *directory = opendir(folder->path);
	const struct dirent *entry;
	int error = 0;

	if (directory == NULL)
		return folder_fail(folder->path, -errno);
	while (error == 0) {
		errno = 0;
		entry = readdir(directory);
		if (entry != NULL)
			error = folder_check_entry(folder, dirfd(directory), entry->d_name);
		else if (errno != 0)
			error = folder_fail(folder->path, -errno);
		else
			break;
	}
	closedir(directory);
	return error;
}

int cdi_folder_check(const char *path, uid_t owner)
{
	struct cdi_folder folder = {.path = path, .owner = owner};
	struct stat top;
	int error;

	if (stat("/", &top) < 0)
		return folder_fail("/", -errno);
	folder.host = top.st_uid;
	error = folder_check_way(&folder);
	return error ? error : folder_check_entries(&folder);
}
