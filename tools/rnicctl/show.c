/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/rnicctl.h"

#include "tools/rnicctl/daemon_reach.h"
#include "tools/rnicctl/ended_troubles.h"
#include "tools/rnicctl/row_kinds.h"
#include "tools/rnicctl/show.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct show_options {
	const char *socket;
	const char *what; /* a kind's name, "all", or NULL: all without the counters */
	bool json;
};

static const struct argp_option argp_options[] = {
	{"socket", 's', "PATH", 0, "The daemon's socket", 0},
	{"json", 'j', NULL, 0, "Print JSON", 0},
	{0},
};

static error_t show_parse(int key, char *argument, struct argp_state *state)
{
	struct show_options *options = state->input;

	switch (key) {
	case 's':
		options->socket = argument;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case ARGP_KEY_ARG:
		/* The word stands behind options, where main() does not look for a subcommand. */
		if (state->arg_num == 0 && strcmp(argument, "show") == 0)
			return 0;
		if (options->what)
			argp_error(state, "one kind at a time, not also \"%s\"", argument);
		options->what = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool show_is_wanted(const struct show_options *options, const struct row_kind *kind)
{
	if (!options->what)
		return kind->kind != RNIC_SHOW_COUNTERS && kind->kind != RNIC_SHOW_RECORD;
	return strcmp(options->what, "all") == 0 || strcmp(options->what, kind->name) == 0;
}

static int show_kind(struct admin_link *link, const struct show_options *options,
		     const struct row_kind *kind, json_t *document)
{
	void *rows;
	size_t count;
	int error = admin_link_show(link, kind->kind, kind->row_bytes, &rows, &count);

	if (error)
		return error;
	if (options->json)
		json_object_set_new(document, kind->name, row_json(kind, rows, count));
	else
		row_print_text(stdout, kind, rows, count);
	free(rows);
	return 0;
}

/* Counters that are not 0 only when packets were lost, and that alone report the loss. */
static bool tells_of_loss(const struct rnic_show_counter *counter)
{
	static const char *const names[] = {
		"icrc_errors",	       "undecodable_pkts",
		"udp_send_refused",    "udp_truncated",
		"cm_malformed",	       "misrouted_lost_pkts",
		"udp_receive_dropped", "multicast_receive_dropped",
		"icrc_doubtful",
	};
	bool is_loss = strncmp(counter->name, "dropped_", strlen("dropped_")) == 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		is_loss |= strncmp(counter->name, names[i], sizeof(counter->name)) == 0;
	return is_loss && counter->value != 0;
}

/* A show without a kind adds the counters of losses, which a person should see. */
static int show_losses(struct admin_link *link)
{
	struct row_kind kind = *row_kind_of(RNIC_SHOW_COUNTERS);
	struct rnic_show_counter *counters;
	size_t count, kept = 0;
	void *rows;
	int error = admin_link_show(link, kind.kind, kind.row_bytes, &rows, &count);

	if (error)
		return error;
	counters = rows;
	for (size_t i = 0; i < count; i++)
		if (tells_of_loss(&counters[i]))
			counters[kept++] = counters[i];
	kind.name = "losses";
	row_print_text(stdout, &kind, counters, kept);
	free(rows);
	return 0;
}

static int show_wanted(struct admin_link *link, const struct show_options *options)
{
	json_t *document = json_object();
	size_t shown = 0;
	int error = 0;

	for (size_t i = 0; i < ROW_KIND_COUNT && !error; i++) {
		if (!show_is_wanted(options, &row_kinds[i]))
			continue;
		error = show_kind(link, options, &row_kinds[i], document);
		shown++;
	}
	if (!error && !options->what && !options->json)
		error = show_losses(link);
	if (!error && shown == 0) {
		snprintf(link->reason, sizeof(link->reason),
			 "\"%s\" is not one of device, clients, qps, paths, mrs, mws, cqs, pds, "
			 "srqs, cm, faults, troubles, record, counters, all",
			 options->what);
		error = -EINVAL;
	}
	if (!error && options->json) {
		json_dumpf(document, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
		puts("");
	}
	json_decref(document);
	return error;
}

int show_listing(struct admin_link *link, const char *what, bool is_json)
{
	return show_wanted(link, &(struct show_options){.what = what, .json = is_json});
}

static int show_reached(struct admin_link *link, const struct show_options *options)
{
	int error = show_wanted(link, options);

	admin_link_close(link);
	if (error)
		fprintf(stderr, "rnicctl: %s\n", link->reason);
	return error;
}

int show_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = show_parse,
		.args_doc =
			"[device|clients|qps|paths|mrs|mws|cqs|pds|srqs|cm|faults|troubles|record|"
			"counters|"
			"all]",
		.doc = "Show the state of a running rnicd; without an argument everything, but of "
		       "the counters only those of losses.",
	};
	struct show_options options = {0};
	char path[RNIC_SOCKET_PATH_BYTES];
	struct admin_link link;
	int error;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	error = daemon_reach_path(&link, options.socket, path);
	if (admin_link_is_absence(error) && options.what && strcmp(options.what, "troubles") == 0)
		error = ended_troubles_show(path, options.json);
	else if (error == 0)
		error = show_reached(&link, &options);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
