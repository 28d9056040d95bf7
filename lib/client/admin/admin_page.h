/* SPDX-License-Identifier: MIT */
/*
 * The rows of one reply to SHOW, each as long as the daemon has it. A daemon of another version may
 * know rows that are longer or shorter than the reader's.
 *
 * Invariant: the rows lie in the page, and none is shorter than ADMIN_ROW_BYTES_MIN.
 */
#ifndef LIB_CLIENT_ADMIN_ADMIN_PAGE_H
#define LIB_CLIENT_ADMIN_ADMIN_PAGE_H

#include "proto/ctl/ctl_message.h"

#include <stddef.h>
#include <stdint.h>

#define ADMIN_ROW_BYTES_MIN 16 /* of every version */
#define ADMIN_PAGE_ROWS_MAX (RNIC_CTL_MESSAGE_BYTES / ADMIN_ROW_BYTES_MIN)

struct admin_page {
	uint32_t cursor; /* 0 before the first page, and again after the last */
	uint32_t count;
	uint32_t row_bytes;
	uint8_t rows[RNIC_CTL_MESSAGE_BYTES];
};

/*
 * Copies the row at `index`, below page->count, as a row of `bytes`: leaves out the rest of a
 * longer row, and writes 0 for what a shorter row lacks.
 */
void admin_page_row(const struct admin_page *page, size_t index, void *row, size_t bytes);

#endif
