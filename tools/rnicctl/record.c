/* SPDX-License-Identifier: MIT */
/* rnicctl record save FILE: what the flight recorders have, for the other host's rnicctl explain.
 */
#include "tools/rnicctl/rnicctl.h"

#include "tools/rnicctl/daemon_reach.h"
#include "tools/rnicctl/explain/evidence.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record_options {
	const char *socket;
	const char *words[2]; /* "save" and FILE */
};

static const struct argp_option argp_options[] = {
	{"socket", 's', "PATH", 0, "The daemon's socket", 0},
	{0},
};

static error_t record_parse(int key, char *argument, struct argp_state *state)
{
	struct record_options *options = state->input;

	switch (key) {
	case 's':
		options->socket = argument;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "\"%s\" is one word too many", argument);
		options->words[state->arg_num] = argument;
		return 0;
	case ARGP_KEY_END:
		if (options->words[1] == NULL || strcmp(options->words[0], "save") != 0)
			argp_error(state, "it is record save FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Explanations of queue pairs that share a ring may lack the oldest entries. */
static void tell_of_gaps(const struct evidence *evidence)
{
	uint32_t gaps = 0;

	for (size_t i = 0; i < evidence->record_count; i++)
		gaps |= evidence->records[i].gaps;
	if (gaps & RNIC_RECORD_GAP_SHARED)
		fprintf(stderr,
			"rnicctl: %d queue pairs have rings of the recorder, all that there are; "
			"others share one, so that less is kept of each\n",
			RNIC_RECORD_RINGS - RNIC_RECORD_FIRST_RING);
}

int record_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = record_parse,
		.args_doc = "save FILE",
		.doc = "Save what happened to the queue pairs that you may see, for rnicctl "
		       "explain "
		       "--peer FILE on the other host.",
	};
	struct record_options options = {0};
	struct evidence evidence = {0};
	struct admin_link link;
	int error;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (daemon_reach(&link, options.socket) < 0)
		return EXIT_FAILURE;
	error = evidence_collect(&link, &evidence);
	admin_link_close(&link);
	if (error)
		fprintf(stderr, "rnicctl: %s\n", link.reason);
	else
		error = evidence_save(&evidence, options.words[1]);
	if (error == 0)
		tell_of_gaps(&evidence);
	evidence_free(&evidence);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
