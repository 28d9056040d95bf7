/* SPDX-License-Identifier: MIT */
#include "tools/support/install_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes the real path of `relative`, a path from the directory of this program. */
static int install_tree_resolve(const char *relative, char path[PATH_MAX])
{
	char program[PATH_MAX], joined[2 * PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (length < 0)
		return -errno;
	program[length] = '\0';
	*strrchr(program, '/') = '\0';
	snprintf(joined, sizeof(joined), "%s/%s", program, relative);
	return realpath(joined, path) ? 0 : -errno;
}

/* Writes the path of a program beside this one. */
static int install_tree_find_program(const char *name, char path[PATH_MAX])
{
	int error = install_tree_resolve(name, path);

	if (error)
		return error;
	return access(path, X_OK) == 0 ? 0 : -errno;
}

int install_tree_daemon(char path[PATH_MAX])
{
	return install_tree_find_program("rnicd", path);
}

int install_tree_control(char path[PATH_MAX])
{
	return install_tree_find_program("rnicctl", path);
}

int install_tree_helper(const char *name, char path[PATH_MAX])
{
	char relative[PATH_MAX];

	snprintf(relative, sizeof(relative), "../libexec/rnic/%s", name);
	return install_tree_resolve(relative, path);
}

/*
 * Writes the directory that holds `file`: the first of the candidates, which are relative to this
 * program, or none.
 */
static int find_directory(const char *folder, const char *file, char path[PATH_MAX])
{
	static const char *const candidates[] = {"../lib", "../" INSTALLED_LIBRARIES};
	char directory[PATH_MAX], whole[PATH_MAX + 64];

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		snprintf(directory, sizeof(directory), "%s/%s", candidates[i], folder);
		snprintf(whole, sizeof(whole), "%s/%s", directory, file);
		if (install_tree_resolve(whole, path) == 0)
			return install_tree_resolve(directory, path);
	}
	return -ENOENT;
}

int install_tree_verbs_directory(char path[PATH_MAX])
{
	return find_directory("verbs", "libibverbs.so.1", path);
}

int install_tree_view_directory(char path[PATH_MAX])
{
	return find_directory(".", "librnic-view.so", path);
}
