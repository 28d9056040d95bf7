/* SPDX-License-Identifier: MIT */
#include "install_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes the real path of `relative`, seen from the directory of this program. */
static int resolve(const char *relative, char path[PATH_MAX])
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

int install_tree_daemon(char path[PATH_MAX])
{
	int error = resolve("rnicd", path);

	if (error)
		return error;
	return access(path, X_OK) == 0 ? 0 : -errno;
}

int install_tree_verbs_directory(char path[PATH_MAX])
{
	static const char *const candidates[] = {"../lib/verbs", "../" INSTALLED_VERBS_DIRECTORY};
	char library[PATH_MAX];

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		snprintf(library, sizeof(library), "%s/libibverbs.so.1", candidates[i]);
		if (resolve(library, path) == 0)
			return resolve(candidates[i], path);
	}
	return -ENOENT;
}
