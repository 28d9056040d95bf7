/* SPDX-License-Identifier: MIT */
#include "view_namespace.h"

#include "base/bits.h"
#include "base/path_view.h"

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

/* Shows the copy of the directory `root` at `root`. */
static int show_root(const char *tree, const char *root)
{
	char source[PATH_MAX], parent[PATH_MAX];

	snprintf(source, sizeof(source), "%s%s", tree, root);
	snprintf(parent, sizeof(parent), "%s", root);
	*strrchr(parent, '/') = '\0';
	if (access(root, F_OK) < 0) {
		if (mkdir(root, VIEW_DIRECTORY_MODE) < 0) {
			if (cover_directory(parent) < 0)
				return -1;
			if (mkdir(root, VIEW_DIRECTORY_MODE) < 0)
				return view_namespace_refuse("make", root);
		}
	}
	return bind_path(source, root) < 0 ? view_namespace_refuse("show", source) : 0;
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
	umask(mask);
	return result;
}
