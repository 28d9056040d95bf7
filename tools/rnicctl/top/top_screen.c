/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/top/top_screen.h"

#include <string.h>

enum {
	HEAD_ROWS = 4, /* device, rates, views, headings */
	FOOT_ROWS = 3, /* sentences of the marked line, and keys or a message */
	COLUMN_GAP = 2,
	LINE_BYTES = 512,
};

/* For terminals of 40 columns and 10 rows. */
static const char *const help[] = {
	"Tab, 1 to 5  next view, or that one",
	"< >          sort by the next column",
	"r            reverse the order",
	"up, down     move the mark",
	"Page Up, Page Down, Home, End   likewise",
	"?            back",
	"q, Ctrl-C    quit",
};

static const char keys[] = "q quit   ? help   Tab view   < > sort   r reverse";

/* ---- text of lines ---- */

struct line {
	char text[LINE_BYTES];
	size_t length;
};

static void line_add(struct line *line, const char *text, size_t width, bool is_right)
{
	size_t left = sizeof(line->text) - line->length;
	int written = snprintf(line->text + line->length, left, is_right ? "%*s  " : "%-*s  ",
			       (int)width, text);

	line->length += written > 0 && (size_t)written < left ? (size_t)written : left - 1;
}

static void top_screen_measure(struct top_screen *screen, const struct top_state *state,
			       size_t from, size_t to)
{
	char text[ROW_CELL_BYTES];

	for (size_t i = 0; i < top_view_column_count(screen->view); i++) {
		size_t *width = &screen->widths[i];
		if (*width == 0) /* and a place for the arrow */
			*width = strlen(screen->view->columns[i].heading) + 1;
		for (size_t line = from; line < to; line++) {
			top_view_cell(screen->view, i, &state->lines[line], state->seconds > 0,
				      text);
			if (strlen(text) > *width)
				*width = strlen(text);
		}
	}
}

/* Whether the picture has the column: of those behind column 0, it begins with the left one. */
static bool has_column(const struct top_screen *screen, size_t column)
{
	return column == 0 || column >= screen->left;
}

/* A terminal that is too narrow for all columns begins with one from where the sorted one fits. */
static void scroll_columns(struct top_screen *screen, size_t columns)
{
	size_t sorted = screen->order.column;
	size_t end = 0;

	screen->left = 1;
	for (size_t i = 0; i <= sorted; i++)
		end += screen->widths[i] + (i > 0 ? COLUMN_GAP : 0);
	while (screen->left < sorted && end > columns)
		end -= screen->widths[screen->left++] + COLUMN_GAP;
}

static void compose_heading(const struct top_screen *screen, struct line *line)
{
	char text[ROW_CELL_BYTES];

	*line = (struct line){0};
	for (size_t i = 0; i < top_view_column_count(screen->view); i++) {
		const char *arrow = i != screen->order.column	? ""
				    : screen->order.is_reversed ? "^"
								: "v";
		if (!has_column(screen, i))
			continue;
		snprintf(text, sizeof(text), "%s%s", screen->view->columns[i].heading, arrow);
		line_add(line, text, screen->widths[i], top_column_is_number(screen->view, i));
	}
}

static void compose_line(const struct top_screen *screen, const struct top_state *state,
			 const struct top_row *row, struct line *line)
{
	char text[ROW_CELL_BYTES];

	*line = (struct line){0};
	for (size_t i = 0; i < top_view_column_count(screen->view); i++) {
		if (!has_column(screen, i))
			continue;
		top_view_cell(screen->view, i, row, state->seconds > 0, text);
		line_add(line, text, screen->widths[i], top_column_is_number(screen->view, i));
	}
}

/* ---- head ---- */

static void device_cell(const struct top_state *state, const char *key, char text[ROW_CELL_BYTES])
{
	const struct row_kind *kind = row_kind_of(RNIC_SHOW_DEVICE);

	row_cell_text(row_kind_column(kind, key), &state->device, text);
}

static void compose_device(const struct top_state *state, char text[LINE_BYTES])
{
	char name[ROW_CELL_BYTES], netdev[ROW_CELL_BYTES], link[ROW_CELL_BYTES];

	device_cell(state, "name", name);
	device_cell(state, "netdev", netdev);
	device_cell(state, "state", link);
	snprintf(text, LINE_BYTES, "%.40s on %.40s, %.40s   clients %zu   queue pairs %zu", name,
		 netdev, link, state->clients.count, state->qps.count);
}

static void compose_rates(const struct top_state *state, char text[LINE_BYTES])
{
	const double mbit_per_byte = 8e-6;

	snprintf(text, LINE_BYTES,
		 "sent %.1f, received %.1f Mbit/s   completions %.0f/s   resent %.0f/s   "
		 "timeouts %.0f/s   RNR %.0f/s",
		 top_state_counter_rate(state, "sent_bytes") * mbit_per_byte,
		 top_state_counter_rate(state, "rcvd_bytes") * mbit_per_byte,
		 top_state_counter_rate(state, "completions"),
		 top_state_counter_rate(state, "retransmitted_pkts"),
		 top_state_counter_rate(state, "ack_timeout"),
		 top_state_counter_rate(state, "rcvd_rnr_err"));
}

/* The sentences below a row of rnicctl show, of which a screen has room for few. */
static void compose_sentences(const struct top_screen *screen, const struct top_state *state,
			      struct line *line)
{
	const struct row_kind *kind = row_kind_of(screen->view->kind);
	char text[ROW_CELL_BYTES];

	*line = (struct line){0};
	for (size_t i = 0; screen->marked < state->line_count && i < kind->column_count; i++) {
		const struct column *column = &kind->columns[i];
		if (column->type != COLUMN_SENTENCE)
			continue;
		row_cell_text(column, state->lines[screen->marked].cells, text);
		if (!text[0])
			continue;
		line_add(line, column->heading, 0, false);
		line->length -= 2;
		line_add(line, ":", 0, false);
		line->length--;
		line_add(line, text, 0, false);
	}
}

/* ---- the picture ---- */

struct canvas {
	FILE *to;
	size_t columns;
	size_t rows_left;
};

enum look { LOOK_PLAIN, LOOK_BOLD, LOOK_REVERSE };

/* One row of the terminal, cut at its last column; the last row has no line feed. */
static void put_row(struct canvas *canvas, enum look look, const char *text)
{
	static const char *const begin[] = {"", "\033[1m", "\033[7m"};

	if (canvas->rows_left == 0)
		return;
	canvas->rows_left--;
	fprintf(canvas->to, "%s%.*s%s\033[K%s", begin[look], (int)canvas->columns, text,
		look == LOOK_PLAIN ? "" : "\033[0m", canvas->rows_left > 0 ? "\r\n" : "");
}

/* A narrow terminal begins with a later view, so that the present one is there. */
static void put_views(struct canvas *canvas, const struct top_screen *screen)
{
	const size_t present = (size_t)(screen->view - top_views);
	char text[LINE_BYTES];
	size_t end = 0, begin = 0;

	for (size_t i = 0, length = 0; i < TOP_VIEW_COUNT; i++) {
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   i == present ? "[%zu %s] " : " %zu %s  ", i + 1,
					   top_views[i].name);
		end = i == present ? length : end;
	}
	while (end - begin > canvas->columns)
		begin++;
	put_row(canvas, LOOK_PLAIN, text + begin);
}

static size_t body_rows(size_t rows)
{
	return rows > HEAD_ROWS + FOOT_ROWS ? rows - HEAD_ROWS - FOOT_ROWS : 1;
}

/* Scrolls so that the marked line is on the screen. */
static void scroll(struct top_screen *screen, size_t line_count, size_t rows)
{
	if (screen->marked >= line_count)
		screen->marked = line_count > 0 ? line_count - 1 : 0;
	if (screen->marked < screen->first)
		screen->first = screen->marked;
	if (screen->marked >= screen->first + rows)
		screen->first = screen->marked + 1 - rows;
	if (screen->first + rows > line_count)
		screen->first = line_count > rows ? line_count - rows : 0;
}

static void put_lines(struct canvas *canvas, struct top_screen *screen,
		      const struct top_state *state, size_t rows)
{
	size_t end =
		screen->first + rows < state->line_count ? screen->first + rows : state->line_count;
	struct line line;

	top_screen_measure(screen, state, screen->first, end);
	scroll_columns(screen, canvas->columns);
	compose_heading(screen, &line);
	put_row(canvas, LOOK_BOLD, line.text);
	for (size_t i = screen->first; i < screen->first + rows; i++) {
		line.text[0] = '\0';
		if (i < end)
			compose_line(screen, state, &state->lines[i], &line);
		put_row(canvas, i == screen->marked && i < end ? LOOK_REVERSE : LOOK_PLAIN,
			line.text);
	}
}

/* All rows but the last. */
static void put_help(struct canvas *canvas)
{
	const size_t count = sizeof(help) / sizeof(help[0]);

	put_row(canvas, LOOK_BOLD, "Keys");
	for (size_t i = 0; canvas->rows_left > 1; i++)
		put_row(canvas, LOOK_PLAIN, i < count ? help[i] : "");
	put_row(canvas, LOOK_PLAIN, keys);
}

/* Two rows of sentences, and one of keys or of a message. */
static void put_foot(struct canvas *canvas, const struct top_screen *screen,
		     const struct top_state *state)
{
	struct line line;

	compose_sentences(screen, state, &line);
	put_row(canvas, LOOK_PLAIN, line.text);
	put_row(canvas, LOOK_PLAIN,
		strlen(line.text) > canvas->columns ? line.text + canvas->columns : "");
	if (screen->message[0])
		put_row(canvas, LOOK_REVERSE, screen->message);
	else
		put_row(canvas, LOOK_PLAIN, keys);
}

static void put_picture(struct canvas *canvas, struct top_screen *screen,
			const struct top_state *state)
{
	const size_t lines = body_rows(canvas->rows_left);
	char text[LINE_BYTES];

	compose_device(state, text);
	put_row(canvas, LOOK_BOLD, text);
	compose_rates(state, text);
	put_row(canvas, LOOK_PLAIN, text);
	put_views(canvas, screen);
	scroll(screen, state->line_count, lines);
	put_lines(canvas, screen, state, lines);
	put_foot(canvas, screen, state);
}

void top_screen_draw(FILE *to, struct top_screen *screen, const struct top_state *state,
		     size_t rows, size_t columns)
{
	struct canvas canvas = {to, columns, rows};

	fputs("\033[H", to);
	if (screen->has_help)
		put_help(&canvas);
	else
		put_picture(&canvas, screen, state);
	fputs("\033[J", to);
}

/* Blanks at the end of a line would only wrap it. */
static void print_line(FILE *to, struct line *line)
{
	while (line->length > 0 && line->text[line->length - 1] == ' ')
		line->text[--line->length] = '\0';
	fprintf(to, "%s\n", line->text);
}

void top_screen_print(FILE *to, struct top_screen *screen, const struct top_state *state)
{
	struct line line;
	char text[LINE_BYTES];

	compose_device(state, text);
	fprintf(to, "%s\n", text);
	compose_rates(state, text);
	fprintf(to, "%s\n", text);
	top_screen_measure(screen, state, 0, state->line_count);
	compose_heading(screen, &line);
	print_line(to, &line);
	for (size_t i = 0; i < state->line_count; i++) {
		compose_line(screen, state, &state->lines[i], &line);
		print_line(to, &line);
	}
}

void top_screen_choose(struct top_screen *screen, const struct top_view *view)
{
	*screen = (struct top_screen){.view = view, .order = view->order, .left = 1};
}

void top_screen_move(struct top_screen *screen, const struct top_state *state, ptrdiff_t lines)
{
	const size_t last = state->line_count > 0 ? state->line_count - 1 : 0;
	const size_t steps = (size_t)(lines < 0 ? -lines : lines);

	if (lines < 0)
		screen->marked -= steps < screen->marked ? steps : screen->marked;
	else
		screen->marked += steps;
	if (screen->marked > last)
		screen->marked = last;
	screen->mark[0] = '\0';
	if (screen->marked > 0)
		top_view_cell(screen->view, 0, &state->lines[screen->marked], true, screen->mark);
}

void top_screen_follow(struct top_screen *screen, const struct top_state *state)
{
	char text[ROW_CELL_BYTES];

	for (size_t i = 0; screen->mark[0] && i < state->line_count; i++) {
		top_view_cell(screen->view, 0, &state->lines[i], true, text);
		if (strcmp(text, screen->mark) == 0) {
			screen->marked = i;
			return;
		}
	}
}
