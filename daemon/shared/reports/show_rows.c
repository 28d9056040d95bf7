/* SPDX-License-Identifier: MIT */
#include "daemon/shared/reports/show_rows.h"

#include <stddef.h>
#include <string.h>

void *show_rows_add(struct show_rows *rows)
{
	if (rows->skip > 0) {
		rows->skip--;
		return NULL;
	}
	if (rows->count == rows->max) {
		rows->has_more = true;
		return NULL;
	}
	return memset(rows->rows + (size_t)rows->count++ * rows->row_bytes, 0, rows->row_bytes);
}
