/* SPDX-License-Identifier: MIT */
#include "daemon/control/view/view_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VIEW_TREE_DEPTH_MAX  16
#define VIEW_TREE_TEXT_BYTES 256    /* longer texts are always written */
#define VIEW_TREE_NEW	     ".new" /* in the directory itself, where no program looks */

static int view_tree_fail(char *reason, int error, const char *path)
{
	snprintf(reason, VIEW_TREE_REASON_BYTES, "cannot write the path view %.120s: %s", path,
		 strerror(-error));
	return error;
}

static bool is_dot_name(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Removes the content of the directory `fd`, and closes `fd`. */
static void view_tree_empty(int fd, unsigned depth)
{
	DIR *directory = fdopendir(fd);
	struct dirent *entry;

	if (directory == NULL) {
		close(fd);
		return;
	}
	while ((entry = readdir(directory)) != NULL) {
		int child;

		if (is_dot_name(entry->d_name) ||
		    unlinkat(dirfd(directory), entry->d_name, 0) == 0 ||
		    depth == VIEW_TREE_DEPTH_MAX)
			continue;
		child = openat(dirfd(directory), entry->d_name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child < 0)
			continue;
		view_tree_empty(child, depth + 1);
		unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
	}
	closedir(directory);
}

/* Opens the directory at `path` if it is ours alone; negative errno. */
static int view_tree_open_own(const char *path, struct stat *status)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -ENOENT : -EEXIST;
	if (fstat(fd, status) == 0 && status->st_uid == geteuid() &&
	    (status->st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return fd;
	close(fd);
	return -EEXIST;
}

/*
 * Removes a dead daemon's directory at `path`. Only the socket's owner calls this, so that daemon
 * is dead.
 */
static int view_tree_clear(const char *path)
{
	struct stat status;
	int fd = view_tree_open_own(path, &status);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	view_tree_empty(fd, 0);
	return rmdir(path) == 0 ? 0 : -errno;
}

int view_tree_create(struct view_tree *tree, const char *path, mode_t mode,
		     char reason[VIEW_TREE_REASON_BYTES])
{
	struct stat status;
	int error, fd;

	if (snprintf(tree->path, sizeof(tree->path), "%s", path) >= (int)sizeof(tree->path))
		return view_tree_fail(reason, -ENAMETOOLONG, path);
	error = view_tree_clear(path);
	if (error == 0 && mkdir(path, 0700) != 0)
		error = -errno;
	if (error != 0)
		return view_tree_fail(reason, error, path);
	fd = view_tree_open_own(path, &status);
	if (fd < 0)
		return view_tree_fail(reason, fd, path);
	if (fchmod(fd, mode) != 0) {
		error = view_tree_fail(reason, -errno, path);
		close(fd);
		rmdir(path);
		return error;
	}
	tree->device = status.st_dev;
	tree->inode = status.st_ino;
	tree->fd = fd;
	return 0;
}

void view_tree_remove(struct view_tree *tree)
{
	struct stat status;
	bool is_there = lstat(tree->path, &status) == 0 && status.st_dev == tree->device &&
			status.st_ino == tree->inode;

	view_tree_empty(tree->fd, 0);
	if (is_there)
		rmdir(tree->path);
}

int view_tree_add_directory(const struct view_tree *tree, const char *path)
{
	if (mkdirat(tree->fd, path, 0755) != 0)
		return errno == EEXIST ? 0 : -errno;
	return fchmodat(tree->fd, path, 0755, 0) == 0 ? 0 : -errno;
}

/*
 * Renames the finished file or link VIEW_TREE_NEW to its place, so that no reader sees half of it.
 */
static int view_tree_publish(const struct view_tree *tree, const char *path)
{
	return renameat(tree->fd, VIEW_TREE_NEW, tree->fd, path) == 0 ? 0 : -errno;
}

int view_tree_add_link(const struct view_tree *tree, const char *path, const char *target)
{
	if (symlinkat(target, tree->fd, VIEW_TREE_NEW) != 0)
		return -errno;
	return view_tree_publish(tree, path);
}

int view_tree_add_open(const struct view_tree *tree, const char *path, const char *text)
{
	int fd = openat(tree->fd, VIEW_TREE_NEW, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t length = (ssize_t)strlen(text);
	int error;

	if (fd < 0)
		return -errno;
	if (pwrite(fd, text, (size_t)length, 0) != length || fchmod(fd, 0444) != 0)
		error = errno != 0 ? -errno : -ENOSPC;
	else
		error = view_tree_publish(tree, path);
	if (error == 0)
		return fd;
	close(fd);
	unlinkat(tree->fd, VIEW_TREE_NEW, 0);
	return error;
}

static bool view_tree_has_text(const struct view_tree *tree, const char *path, const char *text)
{
	int fd = openat(tree->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char found[VIEW_TREE_TEXT_BYTES];
	ssize_t length;

	if (fd < 0)
		return false;
	length = read(fd, found, sizeof(found));
	close(fd);
	return length >= 0 && (size_t)length == strlen(text) &&
	       memcmp(found, text, (size_t)length) == 0;
}

int view_tree_add_text(const struct view_tree *tree, const char *path, const char *text)
{
	int fd;

	if (view_tree_has_text(tree, path, text))
		return 0;
	fd = view_tree_add_open(tree, path, text);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int view_tree_drop(const struct view_tree *tree, const char *path)
{
	return unlinkat(tree->fd, path, 0) == 0 || errno == ENOENT ? 0 : -errno;
}
