/* SPDX-License-Identifier: MIT */
#include "tools/lab/lambda/file_bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Reads to the end, because a pipe does not know its size. */
static int read_all(FILE *file, size_t max_bytes, uint8_t **bytes, size_t *count)
{
	size_t room = 4096, filled = 0;
	uint8_t *buffer = malloc(room), *larger;

	while (buffer) {
		filled += fread(buffer + filled, 1, room - filled, file);
		if (filled > max_bytes || ferror(file)) {
			free(buffer);
			return filled > max_bytes ? -EFBIG : -EIO;
		}
		if (feof(file)) {
			*bytes = buffer;
			*count = filled;
			return 0;
		}
		room *= 2;
		larger = realloc(buffer, room);
		if (!larger)
			free(buffer);
		buffer = larger;
	}
	return -ENOMEM;
}

int file_bytes_read(const char *path, size_t max_bytes, uint8_t **bytes, size_t *count)
{
	FILE *file = fopen(path, "rbe");
	int error;

	if (!file)
		return -errno;
	error = read_all(file, max_bytes, bytes, count);
	fclose(file);
	return error;
}
