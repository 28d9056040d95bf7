/* SPDX-License-Identifier: MIT */
/*
 * The rows of one reply to SHOW; both halves add rows in turn. Rows are numbered over all clients;
 * the request's cursor is the number of the next row. A reader may miss a row that comes or goes
 * between two requests, or see it twice; a listing allows that.
 */
#ifndef DAEMON_SHARED_REPORTS_SHOW_ROWS_H
#define DAEMON_SHARED_REPORTS_SHOW_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct show_rows {
	uint32_t skip;	/* rows before the next requested row */
	uint32_t count; /* rows in the reply */
	uint32_t max;
	uint32_t row_bytes;
	uint8_t *rows;
	bool has_more;
};

/* How long a viewer waits for the device process that it lists now. Zeroed: it lists none. */
struct show_patience {
	uint8_t lane;
	uint64_t until_ns;
};

/* Room for the next row, zeroed. NULL: the row is before the cursor, or the reply is full. */
void *show_rows_add(struct show_rows *rows);

#endif
