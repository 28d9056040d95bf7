/* SPDX-License-Identifier: MIT */
/* The views of rnicctl top: which columns each kind of row has, their order, and their text. */
#ifndef TOOLS_RNICCTL_TOP_TOP_VIEW_H
#define TOOLS_RNICCTL_TOP_TOP_VIEW_H

#include "tools/rnicctl/row_kinds.h"
#include "tools/rnicctl/top/top_state.h"

enum { TOP_VIEW_COUNT = 5, TOP_COLUMNS_MAX = 16 };

enum top_source {
	TOP_FROM_ROW,
	TOP_FROM_RATES,
	TOP_FROM_CLIENT, /* the program of the row's client */
};

struct top_column {
	const char *heading;
	enum top_source source;
	const char *key; /* of the row's column */
	enum top_rate rate;
};

/* The order of the lines of a view. */
struct top_order {
	size_t column;
	bool is_reversed;
};

struct top_view {
	const char *name; /* as the user types it */
	uint32_t kind;	  /* enum rnic_show_kind */
	struct top_column columns[TOP_COLUMNS_MAX];
	struct top_order order; /* unless the user chooses another */
};

extern const struct top_view top_views[TOP_VIEW_COUNT];

size_t top_view_column_count(const struct top_view *view);

/* Whether the column is aligned to the right. */
bool top_column_is_number(const struct top_view *view, size_t column);

/* Numbers from the greatest, texts from A; reversed the other way. Lines of one value stay put. */
void top_view_sort(const struct top_view *view, const struct top_order *order,
		   struct top_row *lines, size_t count);

/* The text of a cell. `has_rates` is false while there was one reading alone. */
void top_view_cell(const struct top_view *view, size_t column, const struct top_row *line,
		   bool has_rates, char text[ROW_CELL_BYTES]);

#endif
