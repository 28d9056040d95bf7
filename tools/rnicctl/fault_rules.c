/* SPDX-License-Identifier: MIT */
/* Loads, lists and unloads rules of faults while the daemon runs: rnicctl fault. */
#include "tools/rnicctl/rnicctl.h"

#include "tools/rnicctl/daemon_reach.h"
#include "tools/rnicctl/show.h"
#include "tools/support/condition_object.h"
#include "tools/support/number_text.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum fault_word { FAULT_ADD, FAULT_LIST, FAULT_DEL, FAULT_CLEAR, FAULT_WORD_COUNT };

static const char *const fault_words[FAULT_WORD_COUNT] = {
	[FAULT_ADD] = "add",
	[FAULT_LIST] = "list",
	[FAULT_DEL] = "del",
	[FAULT_CLEAR] = "clear",
};

struct fault_options {
	const char *socket;
	enum fault_word word;
	const char *argument; /* of add and del; NULL: none */
	bool json;
};

static const struct argp_option argp_options[] = {
	{"socket", 's', "PATH", 0, "The daemon's socket", 0},
	{"json", 'j', NULL, 0, "list: print JSON", 0},
	{0},
};

static bool takes_argument(enum fault_word word)
{
	return word == FAULT_ADD || word == FAULT_DEL;
}

static void take_word(struct fault_options *options, const char *given,
		      const struct argp_state *state)
{
	while (options->word < FAULT_WORD_COUNT && strcmp(fault_words[options->word], given) != 0)
		options->word++;
	if (options->word == FAULT_WORD_COUNT)
		argp_error(state, "\"%s\" is not one of add, list, del, clear", given);
}

static error_t fault_parse(int key, char *argument, struct argp_state *state)
{
	struct fault_options *options = state->input;

	switch (key) {
	case 's':
		options->socket = argument;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a word is missing");
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0)
			take_word(options, argument, state);
		else if (state->arg_num == 1 && takes_argument(options->word))
			options->argument = argument;
		else
			argp_error(state, "\"%s\" is one word too many", argument);
		return 0;
	case ARGP_KEY_END:
		if (takes_argument(options->word) && options->argument == NULL)
			argp_error(state, "%s of which rule?", fault_words[options->word]);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Reads the number of a rule. */
static int read_rule_number(struct admin_link *link, const char *text, uint32_t *number)
{
	if (number_text_is(text, 10, number))
		return 0;
	snprintf(link->reason, sizeof(link->reason),
		 "\"%.60s\" is not the number of a rule: rnicctl fault list", text);
	return -EINVAL;
}

/* Adds the rules of one text, or unloads. */
static int change_rules(struct admin_link *link, const struct fault_options *options)
{
	static const enum rnic_condition conditions[FAULT_WORD_COUNT] = {
		[FAULT_ADD] = RNIC_CONDITION_FAULT_ADD,
		[FAULT_DEL] = RNIC_CONDITION_FAULT_DELETE,
		[FAULT_CLEAR] = RNIC_CONDITION_FAULT_CLEAR,
	};
	struct rnic_ctl_condition condition = {.condition = conditions[options->word]};
	char text[RNIC_CTL_TEXT_BYTES];
	int error = 0;

	if (options->word == FAULT_ADD) {
		condition.number = 1;
		if (snprintf(condition.text, sizeof(condition.text), "%s", options->argument) >=
		    (int)sizeof(condition.text)) {
			snprintf(link->reason, sizeof(link->reason),
				 "the rules are longer than %zu characters",
				 sizeof(condition.text) - 1);
			return -E2BIG;
		}
	} else if (options->word == FAULT_DEL) {
		error = read_rule_number(link, options->argument, &condition.number);
	}
	if (!error)
		error = admin_link_condition(link, &condition, text);
	if (!error && text[0] != '\0')
		puts(text);
	return error;
}

int fault_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = fault_parse,
		.args_doc = "add|list|del|clear [RULES]",
		.doc = "Load rules that spoil the network, calls or completions, as rnicd --fault "
		       "has them: rnicctl fault add drop=1%,fail=ENOMEM@reg_mr. list shows how "
		       "often each acted, del unloads one by its number, clear all.",
	};
	struct fault_options options = {0};
	struct admin_link link;
	int error;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (daemon_reach(&link, options.socket) < 0)
		return EXIT_FAILURE;
	error = options.word == FAULT_LIST ? show_listing(&link, "faults", options.json)
					   : change_rules(&link, &options);
	admin_link_close(&link);
	if (error)
		fprintf(stderr, "rnicctl: %s\n", link.reason);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
