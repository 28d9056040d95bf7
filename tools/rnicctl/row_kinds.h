/* SPDX-License-Identifier: MIT */
/* The layout of each kind of row, in the order in which rnicctl shows the kinds. */
#ifndef TOOLS_RNICCTL_ROW_KINDS_H
#define TOOLS_RNICCTL_ROW_KINDS_H

#include "tools/rnicctl/row_printer.h"

enum { ROW_KIND_COUNT = 14 };

extern const struct row_kind row_kinds[ROW_KIND_COUNT];

/* The layout of `kind` (enum rnic_show_kind), which exists. */
const struct row_kind *row_kind_of(uint32_t kind);

/* The column of `kind` with that key in JSON; NULL: there is none. */
const struct column *row_kind_column(const struct row_kind *kind, const char *key);

#endif
