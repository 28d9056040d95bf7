/* SPDX-License-Identifier: MIT */
#include "tools/lab/exchange/line_reader.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int line_reader_init(struct line_reader *reader, int fd, size_t room)
{
	*reader = (struct line_reader){.fd = fd, .room = room, .bytes = malloc(room + 1)};
	return reader->bytes ? 0 : -ENOMEM;
}

void line_reader_fini(struct line_reader *reader)
{
	free(reader->bytes);
}

/* Adds the available bytes. The buffer has room. */
static int line_reader_fill(struct line_reader *reader, struct lab_watch *watch)
{
	int error = lab_wait(watch, reader->fd, POLLIN, LAB_FOREVER);
	ssize_t count;

	if (error)
		return error;
	count = read(reader->fd, reader->bytes + reader->filled, reader->room + 1 - reader->filled);
	if (count < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (count == 0)
		reader->at_end = true;
	reader->filled += (size_t)count;
	return 0;
}

static void forget_before(struct line_reader *reader, size_t start)
{
	reader->filled -= start;
	memmove(reader->bytes, reader->bytes + start, reader->filled);
	reader->start = 0;
}

static void line_reader_give(struct line_reader *reader, size_t length, char **line, size_t *bytes)
{
	*line = reader->bytes;
	*bytes = length;
	reader->bytes[length] = '\0';
	reader->start = length + 1 < reader->filled ? length + 1 : reader->filled;
}

int line_reader_next(struct line_reader *reader, struct lab_watch *watch, char **line,
		     size_t *bytes)
{
	bool is_too_long = false;
	int error;

	forget_before(reader, reader->start);
	for (;;) {
		char *newline = memchr(reader->bytes, '\n', reader->filled);
		size_t length = newline ? (size_t)(newline - reader->bytes) : reader->filled;

		if (newline || (reader->at_end && length > 0 && length <= reader->room)) {
			line_reader_give(reader, length, line, bytes);
			return is_too_long ? -EMSGSIZE : 1;
		}
		if (length > reader->room) {
			is_too_long = true;
			reader->filled = 0;
		}
		if (reader->at_end)
			return is_too_long ? -EMSGSIZE : 0;
		error = line_reader_fill(reader, watch);
		if (error)
			return error;
	}
}
