/* SPDX-License-Identifier: MIT */
/*
 * Prints rows of the control protocol as text or JSON. One table of columns describes a kind of
 * row; the columns point into the row's struct. Text and JSON both come from that table, so they
 * agree.
 */
#ifndef TOOLS_RNICCTL_ROW_PRINTER_H
#define TOOLS_RNICCTL_ROW_PRINTER_H

#include "proto/ctl/ctl_message.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum column_type {
	COLUMN_TEXT, /* char[], with a final zero or `bytes` long */
	COLUMN_U32,
	COLUMN_U64,
	COLUMN_HEX32,
	COLUMN_ACCESS, /* a uint32_t of enum rnic_access */
	COLUMN_HEX64,
	COLUMN_GID,	  /* struct rnic_gid; "-" when zero */
	COLUMN_NAMED_U32, /* a number that `name` turns into a word */
	COLUMN_GIDS,	  /* struct rnic_ctl_gids_reply */
	COLUMN_SENTENCE,  /* char[], below its row and only when not empty */
};

struct column {
	const char *key;     /* in JSON */
	const char *heading; /* in text; NULL: only in JSON */
	enum column_type type;
	size_t offset;
	size_t bytes;
	const char *(*name)(uint32_t value);
};

enum row_layout {
	ROW_LAYOUT_TABLE,  /* one line a row under a heading; a JSON array of objects */
	ROW_LAYOUT_RECORD, /* one row, one line per column; a JSON object */
	ROW_LAYOUT_PAIRS,  /* column 0 has the name, column 1 the count; a JSON object */
};

struct row_kind {
	uint32_t kind; /* enum rnic_show_kind */
	const char *name;
	size_t row_bytes;
	enum row_layout layout;
	const struct column *columns;
	size_t column_count;
};

enum { ROW_CELL_BYTES = RNIC_CTL_TEXT_BYTES + 1 };

/* Writes the cell as one line of printable ASCII. */
void row_cell_text(const struct column *column, const void *row, char text[ROW_CELL_BYTES]);

/* Whether the column holds counts, and the count in a row. */
bool row_cell_is_number(const struct column *column);
uint64_t row_cell_number(const struct column *column, const void *row);

/* Prints `count` rows of `kind`; "no qps" and the like when there are none. */
void row_print_text(FILE *to, const struct row_kind *kind, const void *rows, size_t count);

/* Returns the rows as a new JSON value, which the caller owns; NULL when memory is short. */
json_t *row_json(const struct row_kind *kind, const void *rows, size_t count);

#endif
