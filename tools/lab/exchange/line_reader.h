/* SPDX-License-Identifier: MIT */
/* Lines of a terminal, a pipe or a file; the reader also watches the peer and signals. */
#ifndef TOOLS_LAB_EXCHANGE_LINE_READER_H
#define TOOLS_LAB_EXCHANGE_LINE_READER_H

#include "tools/lab/exchange/lab_watch.h"

#include <stdbool.h>
#include <stddef.h>

struct line_reader {
	int fd;
	bool at_end;
	size_t room; /* of a line, without the newline */
	size_t filled;
	size_t start; /* of the next line */
	char *bytes;  /* room + 1 */
};

/* Reads lines of `fd`, at most `room` bytes each. -ENOMEM. */
int line_reader_init(struct line_reader *reader, int fd, size_t room);
void line_reader_fini(struct line_reader *reader);

/*
 * The next line without its newline, valid until the next call, with a zero behind it. Returns 1,
 * or 0 at the end. -EMSGSIZE: the line is longer than the room and was skipped. Else the errors of
 * lab_wait() and read(2).
 */
int line_reader_next(struct line_reader *reader, struct lab_watch *watch, char **line,
		     size_t *bytes);

#endif
