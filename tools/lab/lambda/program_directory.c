/* SPDX-License-Identifier: MIT */
#include "tools/lab/lambda/program_directory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int program_directory(char path[PROGRAM_DIRECTORY_BYTES])
{
	ssize_t length = readlink("/proc/self/exe", path, PROGRAM_DIRECTORY_BYTES - 1);

	if (length < 0)
		return -errno;
	path[length] = '\0';
	*strrchr(path, '/') = '\0';
	return 0;
}
