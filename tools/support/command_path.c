/* SPDX-License-Identifier: MIT */
#include "tools/support/command_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USUAL_PATH "/bin:/usr/bin" /* of execvp(3), where PATH is not set */

static bool has_type(const char *path, mode_t type)
{
	struct stat status;

	return stat(path, &status) == 0 && (status.st_mode & S_IFMT) == type;
}

/* An empty folder of PATH is the current one. */
static bool is_in_folders(const char *command, const char *folders)
{
	char path[PATH_MAX];

	for (;; folders++) {
		const size_t length = strcspn(folders, ":");

		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)length, folders,
			     length > 0 ? "/" : "", command) < (int)sizeof(path) &&
		    has_type(path, S_IFREG))
			return true;
		folders += length;
		if (*folders == '\0')
			return false;
	}
}

int command_path_check(const char *command, char text[COMMAND_PATH_TEXT_BYTES])
{
	const char *folders = getenv("PATH");
	const bool is_path = strchr(command, '/') != NULL;
	const bool is_here = has_type(command, S_IFREG) && access(command, X_OK) == 0;
	int error = -ENOENT;

	if (is_path ? access(command, F_OK) == 0 && !has_type(command, S_IFSOCK)
		    : is_in_folders(command, folders != NULL ? folders : USUAL_PATH))
		return 0;
	if (has_type(command, S_IFSOCK)) {
		snprintf(text, COMMAND_PATH_TEXT_BYTES,
			 "%s is a socket, not a command; give it behind --socket", command);
		return -EACCES;
	}
	if (is_path) {
		error = -errno;
		snprintf(text, COMMAND_PATH_TEXT_BYTES, "%s: %s", command, strerror(-error));
	} else {
		snprintf(text, COMMAND_PATH_TEXT_BYTES, "there is no command %s in the PATH%s%s%s",
			 command, is_here ? "; ./" : "", is_here ? command : "",
			 is_here ? " is in this folder" : "");
	}
	return error;
}
