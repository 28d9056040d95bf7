/* SPDX-License-Identifier: MIT */
/*
 * A picture of rnicctl top: two lines on the device, the views, the lines of the view, and the
 * sentences of the line that is marked.
 */
#ifndef TOOLS_RNICCTL_TOP_TOP_SCREEN_H
#define TOOLS_RNICCTL_TOP_TOP_SCREEN_H

#include "tools/rnicctl/top/top_view.h"

#include <stdio.h>

struct top_screen {
	const struct top_view *view;
	struct top_order order;
	size_t marked;		   /* index of a line */
	char mark[ROW_CELL_BYTES]; /* column 0 of the line that the user marked; "": the first */
	size_t first;		   /* index of the line at the top */
	size_t left;		   /* the column behind column 0, which all pictures have */
	bool has_help;
	size_t widths[TOP_COLUMNS_MAX];	   /* of the columns; they only grow, so that none jumps */
	char message[RNIC_CTL_TEXT_BYTES]; /* why the picture is old; "": it is new */
};

/* Shows a view from its start. */
void top_screen_choose(struct top_screen *screen, const struct top_view *view);

/* Moves the mark. */
void top_screen_move(struct top_screen *screen, const struct top_state *state, ptrdiff_t lines);

/* Finds the marked line again among lines that are new, or in another order. */
void top_screen_follow(struct top_screen *screen, const struct top_state *state);

/* Draws the picture, every row and column of the terminal. */
void top_screen_draw(FILE *to, struct top_screen *screen, const struct top_state *state,
		     size_t rows, size_t columns);

/* Prints all lines as a table, for files and pipes. */
void top_screen_print(FILE *to, struct top_screen *screen, const struct top_state *state);

#endif
