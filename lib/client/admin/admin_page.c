/* SPDX-License-Identifier: MIT */
#include "lib/client/admin/admin_page.h"

#include <string.h>

void admin_page_row(const struct admin_page *page, size_t index, void *row, size_t bytes)
{
	const size_t known = page->row_bytes < bytes ? page->row_bytes : bytes;

	memcpy(row, page->rows + index * page->row_bytes, known);
	memset((uint8_t *)row + known, 0, bytes - known);
}
