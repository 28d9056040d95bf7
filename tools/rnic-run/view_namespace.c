/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/view_namespace.h"

#include "proto/base/bits.h"
#include "proto/base/path_view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define VIEW_DIRECTORY_MODE 0755

static int view_namespace_refuse(const char *what, const char *path)
{
	fprintf(stderr, "rnic-run: --ns: cannot %s%s%s: %s\n", what, path[0] != '\0' ? " " : "",
		path, strerror(errno));
	return -1;
}

/* ---- the namespaces ---- */

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t length = (ssize_t)strlen(text);
	bool is_written;

	if (fd < 0)
		return -1;
	is_written = write(fd, text, (size_t)length) == length;
	close(fd);
	return is_written ? 0 : -1;
}

/* User and group keep their numbers. */
static int map_identity(uid_t uid, gid_t gid)
{
	char users[32], groups[32];

	snprintf(users, sizeof(users), "%u %u 1", uid, uid);
	snprintf(groups, sizeof(groups), "%u %u 1", gid, gid);
	if (write_file("/proc/self/setgroups", "deny") < 0 ||
	    write_file("/proc/self/uid_map", users) < 0 ||
	    write_file("/proc/self/gid_map", groups) < 0)
		return view_namespace_refuse("keep user and group in a user namespace", "");
	return 0;
}

static int enter_namespaces(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWNS) == 0)
		return 0;
	if (errno != EPERM || unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return view_namespace_refuse(
			"make a user and mount namespace (does the kernel permit "
			"unprivileged ones here?)",
			"");
	return map_identity(uid, gid);
}

/* ---- the mounts ---- */

static int bind_path(const char *source, const char *target)
{
	return mount(source, target, NULL, MS_BIND | MS_REC, NULL);
}

/* Puts the entry `name` of the directory `from` at `target`, which does not exist. */
static int mirror_entry(int from, const char *name, const char *target)
{
	char source[PATH_MAX], link[PATH_MAX];
	struct stat status;
	ssize_t length;
	int fd;

	if (fstatat(from, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISLNK(status.st_mode)) {
		length = readlinkat(from, name, link, sizeof(link) - 1);
		if (length < 0)
			return -1;
		link[length] = '\0';
		return symlink(link, target);
	}
	if (S_ISDIR(status.st_mode)) {
		if (mkdir(target, VIEW_DIRECTORY_MODE) < 0)
			return -1;
	} else {
		fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0)
			return -1;
		close(fd);
	}
	snprintf(source, sizeof(source), "/proc/self/fd/%d/%s", from, name);
	return bind_path(source, target);
}

/*
 * Covers the directory `path`, of a file system in which nobody can make an entry, by a directory
 * that takes new entries and still shows all old ones.
 */
static int cover_directory(const char *path)
{
	DIR *below = opendir(path);
	const struct dirent *entry;
	char target[PATH_MAX];
	int result = 0;

	if (below == NULL)
		return view_namespace_refuse("open", path);
	if (mount("rnic-run", path, "tmpfs", MS_NOSUID, "mode=755,size=1m") < 0) {
		closedir(below);
		return view_namespace_refuse("mount over", path);
	}
	while (result == 0 && (entry = readdir(below)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(target, sizeof(target), "%.255s/%.255s", path, entry->d_name);
		/* Ignores an entry that went away meanwhile. */
		if (mirror_entry(dirfd(below), entry->d_name, target) < 0 && errno != ENOENT)
			result = view_namespace_refuse("keep", target);
	}
	closedir(below);
	return result;
}

/* Makes the directory, below one that no directory can be made in if need be. */
static int make_place(const char *path)
{
	char parent[PATH_MAX];

	if (access(path, F_OK) == 0 || mkdir(path, VIEW_DIRECTORY_MODE) == 0)
		return 0;
	snprintf(parent, sizeof(parent), "%s", path);
	*strrchr(parent, '/') = '\0';
	if (make_place(parent) < 0)
		return -1;
	if (mkdir(path, VIEW_DIRECTORY_MODE) == 0)
		return 0;
	if (cover_directory(parent) < 0)
		return -1;
	return mkdir(path, VIEW_DIRECTORY_MODE) < 0 ? view_namespace_refuse("make", path) : 0;
}

/* Shows the copy of the directory `root` at `root`. */
static int show_root(const char *tree, const char *root)
{
	char source[PATH_MAX];

	snprintf(source, sizeof(source), "%s%s", tree, root);
	if (make_place(root) < 0)
		return -1;
	return bind_path(source, root) < 0 ? view_namespace_refuse("show", source) : 0;
}

/* Shows what the directory `folder` of the tree has and the kernel's has not. */
static int show_missing(const char *tree, const char *folder, const char *prefix)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	DIR *directory;
	int result = 0;

	snprintf(path, sizeof(path), "%s%s", tree, folder);
	directory = opendir(path);
	while (result == 0 && directory != NULL && (entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		snprintf(path, sizeof(path), "%.255s/%.255s", folder, entry->d_name);
		if (access(path, F_OK) != 0)
			result = show_root(tree, path);
		else if (prefix[0] != '\0')
			result = show_missing(tree, path, "");
	}
	if (directory != NULL)
		closedir(directory);
	return result;
}

/* Shows the PCI devices, if there are any in the view. */
static int show_pci(const char *tree)
{
	static const char *const listings[] = {RNIC_VIEW_PCI_DEVICES, RNIC_VIEW_PCI_DRIVERS,
					       RNIC_VIEW_PCI_BUSES};
	char path[PATH_MAX];
	int result = 0;

	snprintf(path, sizeof(path), "%s" RNIC_VIEW_PCI_DEVICES, tree);
	if (access(path, F_OK) != 0)
		return 0;
	for (size_t i = 0; result == 0 && i < RNIC_COUNT_OF(listings); i++)
		result = show_root(tree, listings[i]);
	return result == 0 ? show_missing(tree, "/sys/devices", RNIC_VIEW_PCI_MARK) : result;
}

int view_namespace_enter(const char *tree)
{
	static const char *const roots[] = {RNIC_VIEW_ROOTS};
	mode_t mask;
	int result = 0;

	if (enter_namespaces() < 0)
		return -1;
	/* Mounts made here stay here; unmounts elsewhere take effect here too. */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return view_namespace_refuse("make mounts private", "");
	mask = umask(022);
	for (size_t i = 0; result == 0 && i < RNIC_COUNT_OF(roots); i++)
		result = show_root(tree, roots[i]);
	if (result == 0)
		result = show_pci(tree);
	umask(mask);
	return result;
}
