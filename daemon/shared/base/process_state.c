/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/process_state.h"

#include <stdio.h>
#include <string.h>

char process_state(pid_t pid)
{
	char path[64], line[512] = "";
	const char *end;
	FILE *file;

	if (pid <= 0) /* of another PID namespace */
		return PROCESS_STATE_UNKNOWN;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return PROCESS_STATE_UNKNOWN;
	line[fread(line, 1, sizeof(line) - 1, file)] = '\0';
	fclose(file);
	/* The state follows the program's name in parentheses, which may have any characters. */
	end = strrchr(line, ')');
	return end != NULL && end[1] == ' ' && end[2] != '\0' ? end[2] : PROCESS_STATE_UNKNOWN;
}
