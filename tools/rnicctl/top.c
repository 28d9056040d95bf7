/* SPDX-License-Identifier: MIT */
/* rnicctl top: a picture of the daemon, once a second, until the user has seen enough. */
#include "tools/rnicctl/rnicctl.h"

#include "lib/wait/clock.h"
#include "proto/base/time_units.h"
#include "tools/rnicctl/daemon_reach.h"
#include "tools/rnicctl/top/terminal.h"
#include "tools/rnicctl/top/top_screen.h"

#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KEY_SORT = 256, KEY_REVERSE, KEY_ONCE };

/* While a daemon is silent, keys are obeyed between two readings. */
enum { PICTURE_LIMIT_MS = 1000, TABLE_LIMIT_MS = ADMIN_LINK_TIMEOUT_S * 1000 };

struct top_options {
	const char *socket;
	const struct top_view *view;
	const char *sort; /* the heading of a column; NULL: the view's own order */
	bool is_reversed;
	bool is_once;
	double interval_s;
};

struct top {
	struct top_options options;
	char socket[RNIC_SOCKET_PATH_BYTES];
	struct admin_link link;
	bool is_linked;
	struct terminal terminal;
	struct top_screen screen;
	struct top_state state;
};

static const struct argp_option argp_options[] = {
	{"socket", 's', "PATH", 0, "The daemon's socket", 0},
	{"interval", 'i', "SECONDS", 0, "Time between two pictures; 1 unless given", 0},
	{"sort", KEY_SORT, "COLUMN", 0, "Sort by the column of this heading", 0},
	{"reverse", KEY_REVERSE, NULL, 0, "Reverse the order", 0},
	{"once", KEY_ONCE, NULL, 0, "Print one table, with the rates of one interval", 0},
	{0},
};

static const struct top_view *view_named(const char *name)
{
	for (size_t i = 0; i < TOP_VIEW_COUNT; i++)
		if (strcmp(top_views[i].name, name) == 0)
			return &top_views[i];
	return NULL;
}

static error_t top_parse(int key, char *argument, struct argp_state *state)
{
	struct top_options *options = state->input;
	char *end;

	switch (key) {
	case 's':
		options->socket = argument;
		return 0;
	case 'i':
		options->interval_s = strtod(argument, &end);
		if (end == argument || *end || !(options->interval_s >= 0.1) ||
		    options->interval_s > 3600)
			argp_error(state, "--interval takes 0.1 to 3600 seconds");
		return 0;
	case KEY_SORT:
		options->sort = argument;
		return 0;
	case KEY_REVERSE:
		options->is_reversed = true;
		return 0;
	case KEY_ONCE:
		options->is_once = true;
		return 0;
	case ARGP_KEY_ARG:
		options->view = view_named(argument);
		if (state->arg_num > 0 || !options->view)
			argp_error(state, "one view: clients, qps, paths, faults or troubles");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* -EINVAL with a complaint: the view has no such column. */
static int top_choose(struct top *top)
{
	const struct top_options *options = &top->options;
	size_t count = top_view_column_count(options->view);
	size_t i = 0;

	top_screen_choose(&top->screen, options->view);
	while (options->sort && i < count &&
	       strcasecmp(options->view->columns[i].heading, options->sort) != 0)
		i++;
	if (options->sort && i == count) {
		fprintf(stderr, "rnicctl: %s has no column \"%s\"; its columns are",
			options->view->name, options->sort);
		for (i = 0; i < count; i++)
			fprintf(stderr, "%s %s", i > 0 ? "," : "",
				options->view->columns[i].heading);
		fputs("\n", stderr);
		return -EINVAL;
	}
	if (options->sort)
		top->screen.order = (struct top_order){.column = i};
	top->screen.order.is_reversed ^= options->is_reversed;
	return 0;
}

/* ---- reading ---- */

static void top_sort(struct top *top)
{
	top_view_sort(top->screen.view, &top->screen.order, top->state.lines,
		      top->state.line_count);
	top_screen_follow(&top->screen, &top->state);
}

/* Closes the link after an error: the next reading opens another. */
static void top_note(struct top *top, int error)
{
	snprintf(top->screen.message, sizeof(top->screen.message), "%s",
		 error ? top->link.reason : "");
	if (error && top->is_linked) {
		admin_link_close(&top->link);
		top->is_linked = false;
	}
	if (!error)
		top_sort(top);
}

/* Reads the daemon. Where none answers, the screen's message says so, and the next call retries. */
static int top_read(struct top *top)
{
	int error = 0;

	if (!top->is_linked) {
		error = admin_link_open_within(&top->link, top->socket, "rnicctl",
					       top->options.is_once ? TABLE_LIMIT_MS
								    : PICTURE_LIMIT_MS);
		top->is_linked = !error;
	}
	if (!error)
		error = top_state_read(&top->state, &top->link, top->screen.view->kind,
				       clock_now_ns());
	top_note(top, error);
	return error;
}

/* ---- the terminal ---- */

static bool top_draw(struct top *top)
{
	char *picture;
	size_t bytes, rows, columns;
	FILE *stream = open_memstream(&picture, &bytes);
	bool is_drawn;

	if (!stream)
		return false;
	terminal_size(&rows, &columns);
	top_screen_draw(stream, &top->screen, &top->state, rows, columns);
	is_drawn = fclose(stream) == 0 && terminal_write(picture, bytes);
	free(picture);
	return is_drawn;
}

/* Chooses the view and reads what is not read yet; the rates stay those of the last interval. */
static void top_switch(struct top *top, size_t view)
{
	top_screen_choose(&top->screen, &top_views[view % TOP_VIEW_COUNT]);
	if (top->is_linked)
		top_note(top, top_state_choose(&top->state, &top->link, top->screen.view->kind));
}

static void top_sort_by(struct top *top, size_t step)
{
	size_t count = top_view_column_count(top->screen.view);

	top->screen.order.column = (top->screen.order.column + step) % count;
	top_sort(top);
}

static void top_move(struct top *top, int event)
{
	size_t rows, columns;
	ptrdiff_t page, all = (ptrdiff_t)top->state.line_count;

	terminal_size(&rows, &columns);
	page = (ptrdiff_t)rows / 2;
	top_screen_move(&top->screen, &top->state,
			event == TERMINAL_UP	      ? -1
			: event == TERMINAL_DOWN      ? 1
			: event == TERMINAL_PAGE_UP   ? -page
			: event == TERMINAL_PAGE_DOWN ? page
			: event == TERMINAL_HOME      ? -all
						      : all);
}

/* Returns false when the user has seen enough. */
static bool top_obey(struct top *top, int event)
{
	size_t columns = top_view_column_count(top->screen.view);

	switch (event) {
	case 'q':
	case TERMINAL_CLOSED:
		return false;
	case '\t':
		top_switch(top, (size_t)(top->screen.view - top_views) + 1);
		break;
	case '<':
	case TERMINAL_LEFT:
		top_sort_by(top, columns - 1);
		break;
	case '>':
	case TERMINAL_RIGHT:
		top_sort_by(top, 1);
		break;
	case 'r':
		top->screen.order.is_reversed ^= true;
		top_sort(top);
		break;
	case '?':
	case 'h':
		top->screen.has_help ^= true;
		break;
	case TERMINAL_UP:
	case TERMINAL_DOWN:
	case TERMINAL_PAGE_UP:
	case TERMINAL_PAGE_DOWN:
	case TERMINAL_HOME:
	case TERMINAL_END:
		top_move(top, event);
		break;
	default:
		if (event >= '1' && event < '1' + TOP_VIEW_COUNT)
			top_switch(top, (size_t)(event - '1'));
		break;
	}
	return true;
}

static uint64_t top_interval_ns(const struct top *top)
{
	return (uint64_t)(top->options.interval_s * RNIC_NS_PER_SECOND);
}

static int ms_until(uint64_t then_ns)
{
	uint64_t now_ns = clock_now_ns();

	return now_ns >= then_ns ? 0 : (int)((then_ns - now_ns) / RNIC_NS_PER_MS) + 1;
}

static void top_show(struct top *top)
{
	uint64_t next_ns = clock_now_ns();
	int event;

	do {
		if (ms_until(next_ns) == 0) {
			top_read(top);
			next_ns = clock_now_ns() + top_interval_ns(top);
		}
		if (!top_draw(top))
			return;
		event = terminal_wait(&top->terminal, ms_until(next_ns));
	} while (top_obey(top, event));
}

static int top_on_terminal(struct top *top)
{
	int error = terminal_open(&top->terminal);

	if (error) {
		fputs("rnicctl: top needs a terminal that can move its cursor; "
		      "rnicctl top --once prints one table\n",
		      stderr);
		return error;
	}
	top_show(top);
	terminal_close(&top->terminal);
	if (top->terminal.ended_by)
		raise(top->terminal.ended_by);
	return 0;
}

/* ---- one table ---- */

static int top_once(struct top *top)
{
	int error = top_read(top);

	if (!error) {
		poll(NULL, 0, (int)(top->options.interval_s * 1000)); /* the counts grow */
		error = top_read(top);
	}
	if (error)
		fprintf(stderr, "rnicctl: %s\n", top->screen.message);
	else
		top_screen_print(stdout, &top->screen, &top->state);
	return error;
}

int top_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = top_parse,
		.args_doc = "[clients|qps|paths|faults|troubles]",
		.doc = "Show clients, queue pairs, paths, faults and troubles of a running rnicd, "
		       "with their rates, once a second on the terminal. The key ? explains the "
		       "keys.",
	};
	struct top top = {.options = {.view = &top_views[1], .interval_s = 1}};
	int error;

	argp_parse(&argp, argc, argv, 0, NULL, &top.options);
	if (top_choose(&top) < 0 ||
	    daemon_reach_path(&top.link, top.options.socket, top.socket) < 0)
		return EXIT_FAILURE;
	admin_link_close(&top.link); /* top_read() opens one with a limit of its own */
	error = top.options.is_once ? top_once(&top) : top_on_terminal(&top);
	if (top.is_linked)
		admin_link_close(&top.link);
	top_state_fini(&top.state);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
