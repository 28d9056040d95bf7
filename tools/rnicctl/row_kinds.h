/* SPDX-License-Identifier: MIT */
/* What each kind of row looks like, in the order in which they are shown. */
#ifndef TOOLS_RNICCTL_ROW_KINDS_H
#define TOOLS_RNICCTL_ROW_KINDS_H

#include "row_printer.h"

enum { ROW_KIND_COUNT = 10 };

extern const struct row_kind row_kinds[ROW_KIND_COUNT];

/* The one of `kind` (enum rnic_show_kind), which exists. */
const struct row_kind *row_kind_of(uint32_t kind);

#endif
