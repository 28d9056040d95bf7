/* SPDX-License-Identifier: MIT */
/* Lines of a terminal, a pipe or a file, read while the peer and signals are watched. */
#ifndef TOOLS_RNIC_LAB_EXCHANGE_LINE_READER_H
#define TOOLS_RNIC_LAB_EXCHANGE_LINE_READER_H

#include "exchange/lab_watch.h"

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

/* Lines of `fd`, at most `room` bytes each. -ENOMEM. */
int line_reader_init(struct line_reader *reader, int fd, size_t room);
void line_reader_fini(struct line_reader *reader);

/*
 * The next line without its newline, valid until the next call, with a zero behind it. Returns 1,
 * or 0 at the end. -EMSGSIZE: the line is longer than the room; it was skipped. Else what
 * lab_wait() and read(2) return.
 */
int line_reader_next(struct line_reader *reader, struct lab_watch *watch, char **line,
		     size_t *bytes);

#endif
