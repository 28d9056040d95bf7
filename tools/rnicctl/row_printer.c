/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/row_printer.h"

#include "proto/ctl/ctl_message.h"
#include "proto/wire/gid.h"

#include <inttypes.h>
#include <string.h>

enum {
	CELL_BYTES = ROW_CELL_BYTES,
	COLUMNS_MAX = 32,
};

static const void *cell_at(const struct column *column, const void *row)
{
	return (const uint8_t *)row + column->offset;
}

static uint32_t cell_u32(const struct column *column, const void *row)
{
	uint32_t value;

	if (column->bytes == sizeof(uint8_t))
		return *(const uint8_t *)cell_at(column, row);
	memcpy(&value, cell_at(column, row), sizeof(value));
	return value;
}

static uint64_t cell_u64(const struct column *column, const void *row)
{
	uint64_t value;

	memcpy(&value, cell_at(column, row), sizeof(value));
	return value;
}

/* Bytes other than printable ASCII come from a client's program name and never reach a terminal. */
static void cell_characters(const struct column *column, const void *row, char text[CELL_BYTES])
{
	const char *from = cell_at(column, row);
	size_t length = strnlen(from, column->bytes);

	for (size_t i = 0; i < length; i++)
		text[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
	text[length] = '\0';
}

static void cell_gid(const struct rnic_gid *gid, char text[CELL_BYTES])
{
	if (rnic_gid_is_zero(gid))
		strncpy(text, "-", CELL_BYTES);
	else
		rnic_gid_text(gid, text);
}

/* "local_write,remote_read"; "-" for none, and hexadecimal for flags without a name. */
static void cell_access(uint32_t access, char text[CELL_BYTES])
{
	static const char *const names[] = {
		"local_write", "remote_write", "remote_read", "remote_atomic", "mw_bind",
		"zero_based",  "on_demand",    "hugetlb",     "flush_global",  "flush_persistent",
	};
	const uint32_t named = (UINT32_C(1) << sizeof(names) / sizeof(names[0])) - 1;
	size_t length = 0;

	strncpy(text, "-", CELL_BYTES);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (access & UINT32_C(1) << i)
			length += (size_t)snprintf(text + length, CELL_BYTES - length, "%s%s",
						   length > 0 ? "," : "", names[i]);
	if (access & ~named)
		snprintf(text + length, CELL_BYTES - length, "%s0x%" PRIx32, length > 0 ? "," : "",
			 access & ~named);
}

void row_cell_text(const struct column *column, const void *row, char text[ROW_CELL_BYTES])
{
	switch (column->type) {
	case COLUMN_TEXT:
	case COLUMN_SENTENCE:
		cell_characters(column, row, text);
		break;
	case COLUMN_U32:
		snprintf(text, CELL_BYTES, "%" PRIu32, cell_u32(column, row));
		break;
	case COLUMN_U64:
		snprintf(text, CELL_BYTES, "%" PRIu64, cell_u64(column, row));
		break;
	case COLUMN_HEX32:
		snprintf(text, CELL_BYTES, "0x%06" PRIx32, cell_u32(column, row));
		break;
	case COLUMN_ACCESS:
		cell_access(cell_u32(column, row), text);
		break;
	case COLUMN_HEX64:
		snprintf(text, CELL_BYTES, "0x%" PRIx64, cell_u64(column, row));
		break;
	case COLUMN_GID:
		cell_gid(cell_at(column, row), text);
		break;
	case COLUMN_NAMED_U32:
		snprintf(text, CELL_BYTES, "%s", column->name(cell_u32(column, row)));
		break;
	case COLUMN_GIDS:
		text[0] = '\0';
		break;
	}
}

bool row_cell_is_number(const struct column *column)
{
	return column->type == COLUMN_U32 || column->type == COLUMN_U64;
}

uint64_t row_cell_number(const struct column *column, const void *row)
{
	return column->bytes == sizeof(uint64_t) ? cell_u64(column, row) : cell_u32(column, row);
}

/* ---- text ---- */

static bool in_table(const struct column *column)
{
	return column->heading && column->type != COLUMN_SENTENCE;
}

static void print_gids(FILE *to, const struct column *column, const void *row)
{
	const struct rnic_ctl_gids_reply *gids = cell_at(column, row);
	char text[CELL_BYTES];

	for (uint32_t i = 0; i < gids->count && i < RNIC_GIDS_MAX; i++) {
		if (rnic_gid_is_zero(&gids->entries[i].gid))
			continue;
		rnic_gid_text(&gids->entries[i].gid, text);
		fprintf(to, "  GID %-15" PRIu32 "%s\n", i, text);
	}
}

static void print_record(FILE *to, const struct row_kind *kind, const void *row)
{
	char text[CELL_BYTES];

	fprintf(to, "%s\n", kind->name);
	for (size_t i = 0; i < kind->column_count; i++) {
		const struct column *column = &kind->columns[i];
		if (column->type == COLUMN_GIDS) {
			print_gids(to, column, row);
		} else if (column->heading) {
			row_cell_text(column, row, text);
			fprintf(to, "  %-19s%s\n", column->heading, text);
		}
	}
}

static void row_printer_measure(const struct row_kind *kind, const uint8_t *rows, size_t count,
				int widths[COLUMNS_MAX])
{
	char text[CELL_BYTES];

	for (size_t i = 0; i < kind->column_count; i++) {
		const struct column *column = &kind->columns[i];
		if (!in_table(column))
			continue;
		widths[i] = (int)strlen(column->heading);
		for (size_t row = 0; row < count; row++) {
			row_cell_text(column, rows + row * kind->row_bytes, text);
			if ((int)strlen(text) > widths[i])
				widths[i] = (int)strlen(text);
		}
	}
}

/* `row` NULL prints the headings. */
static void row_printer_print_line(FILE *to, const struct row_kind *kind, const void *row,
				   const int widths[COLUMNS_MAX])
{
	char text[CELL_BYTES];

	fputs(" ", to);
	for (size_t i = 0; i < kind->column_count; i++) {
		const struct column *column = &kind->columns[i];
		if (!in_table(column))
			continue;
		if (row)
			row_cell_text(column, row, text);
		else
			snprintf(text, sizeof(text), "%s", column->heading);
		fprintf(to, row_cell_is_number(column) ? " %*s" : " %-*s", widths[i], text);
	}
	fputs("\n", to);
	for (size_t i = 0; row && i < kind->column_count; i++) {
		if (kind->columns[i].type != COLUMN_SENTENCE)
			continue;
		row_cell_text(&kind->columns[i], row, text);
		if (text[0])
			fprintf(to, "      %s: %s\n", kind->columns[i].heading, text);
	}
}

static void print_table(FILE *to, const struct row_kind *kind, const uint8_t *rows, size_t count)
{
	int widths[COLUMNS_MAX] = {0};

	row_printer_measure(kind, rows, count, widths);
	fprintf(to, "%s\n", kind->name);
	row_printer_print_line(to, kind, NULL, widths);
	for (size_t row = 0; row < count; row++)
		row_printer_print_line(to, kind, rows + row * kind->row_bytes, widths);
}

static void print_pairs(FILE *to, const struct row_kind *kind, const uint8_t *rows, size_t count)
{
	char name[CELL_BYTES], value[CELL_BYTES];

	fprintf(to, "%s\n", kind->name);
	for (size_t row = 0; row < count; row++) {
		row_cell_text(&kind->columns[0], rows + row * kind->row_bytes, name);
		row_cell_text(&kind->columns[1], rows + row * kind->row_bytes, value);
		fprintf(to, "  %-32s %s\n", name, value);
	}
}

void row_print_text(FILE *to, const struct row_kind *kind, const void *rows, size_t count)
{
	if (count == 0)
		fprintf(to, "no %s\n", kind->name);
	else if (kind->layout == ROW_LAYOUT_RECORD)
		print_record(to, kind, rows);
	else if (kind->layout == ROW_LAYOUT_PAIRS)
		print_pairs(to, kind, rows, count);
	else
		print_table(to, kind, rows, count);
}

/* ---- JSON ---- */

static json_t *gids_json(const struct column *column, const void *row)
{
	const struct rnic_ctl_gids_reply *gids = cell_at(column, row);
	json_t *array = json_array();
	char text[CELL_BYTES];

	for (uint32_t i = 0; i < gids->count && i < RNIC_GIDS_MAX; i++) {
		if (rnic_gid_is_zero(&gids->entries[i].gid))
			continue;
		rnic_gid_text(&gids->entries[i].gid, text);
		json_array_append_new(array,
				      json_pack("{s:I, s:s}", "index", (json_int_t)i, "gid", text));
	}
	return array;
}

static json_t *cell_json(const struct column *column, const void *row)
{
	char text[CELL_BYTES];

	switch (column->type) {
	case COLUMN_U32:
	case COLUMN_HEX32:
	case COLUMN_ACCESS:
		return json_integer(cell_u32(column, row));
	case COLUMN_U64:
		return json_integer((json_int_t)cell_u64(column, row));
	case COLUMN_GIDS:
		return gids_json(column, row);
	default:
		row_cell_text(column, row, text);
		return json_string(text);
	}
}

static json_t *object_json(const struct row_kind *kind, const void *row)
{
	json_t *object = json_object();

	for (size_t i = 0; i < kind->column_count; i++)
		json_object_set_new(object, kind->columns[i].key,
				    cell_json(&kind->columns[i], row));
	return object;
}

static json_t *pairs_json(const struct row_kind *kind, const uint8_t *rows, size_t count)
{
	json_t *object = json_object();
	char name[CELL_BYTES];

	for (size_t i = 0; i < count; i++) {
		const void *row = rows + i * kind->row_bytes;
		row_cell_text(&kind->columns[0], row, name);
		json_object_set_new(object, name, cell_json(&kind->columns[1], row));
	}
	return object;
}

json_t *row_json(const struct row_kind *kind, const void *rows, size_t count)
{
	const uint8_t *bytes = rows;
	json_t *array;

	if (kind->layout == ROW_LAYOUT_PAIRS)
		return pairs_json(kind, rows, count);
	if (kind->layout == ROW_LAYOUT_RECORD)
		return count ? object_json(kind, rows) : json_null();
	array = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, object_json(kind, bytes + i * kind->row_bytes));
	return array;
}
