/* SPDX-License-Identifier: MIT */
/* Makes conditions that programs must cope with: rnicctl link, event and qp. */
#include "tools/rnicctl/rnicctl.h"

#include "tools/rnicctl/daemon_reach.h"
#include "tools/support/condition_object.h"
#include "tools/support/condition_words.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct condition_options {
	const char *socket;
	const struct condition_word *words; /* end with a NULL */
	bool needs_word;
	const struct condition_word *word; /* the given one; NULL: none */
	const char *second;		   /* the object or the device; NULL: none */
};

static const struct argp_option argp_options[] = {
	{"socket", 's', "PATH", 0, "The daemon's socket", 0},
	{0},
};

/* Ends the program where the word is none of `words`. */
static const struct condition_word *find_word(const struct condition_word *words, const char *given,
					      const struct argp_state *state)
{
	char names[160] = "";
	const struct condition_word *word;

	for (word = words; word->name != NULL; word++) {
		const size_t length = strlen(names);

		if (strcmp(word->name, given) == 0)
			return word;
		snprintf(names + length, sizeof(names) - length, "%s%s", length == 0 ? "" : ", ",
			 word->name);
	}
	argp_error(state, "\"%s\" is not one of %s", given, names);
	return NULL;
}

static error_t condition_parse(int key, char *argument, struct argp_state *state)
{
	struct condition_options *options = state->input;

	switch (key) {
	case 's':
		options->socket = argument;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0)
			options->word = find_word(options->words, argument, state);
		else if (state->arg_num == 1)
			options->second = argument;
		else
			argp_error(state, "\"%s\" is one word too many", argument);
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (options->needs_word)
			argp_error(state, "a word is missing");
		return 0;
	case ARGP_KEY_END:
		if (options->word != NULL && options->word->object != NULL &&
		    options->second == NULL)
			argp_error(state, "%s of which %s?", options->word->name,
				   options->word->object);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The socket of the machine's daemon for that device, where the user names none. */
static const char *socket_of_device(const char *device, char room[RNIC_SOCKET_PATH_BYTES])
{
	const int length = snprintf(room, RNIC_SOCKET_PATH_BYTES, "/run/rnicd/%s.sock", device);

	return length < RNIC_SOCKET_PATH_BYTES && access(room, F_OK) == 0 ? room : NULL;
}

/* Opens the link to the daemon that has the device, which has the name of its interface too. */
static int reach_device(struct admin_link *link, const char *socket, const char *device)
{
	char room[RNIC_SOCKET_PATH_BYTES];
	const struct rnic_device_attributes *found = &link->device;

	if (device != NULL && socket == NULL && strchr(device, '/') == NULL)
		socket = socket_of_device(device, room);
	if (daemon_reach(link, socket) < 0)
		return -1;
	if (device == NULL || strcmp(device, found->name) == 0 ||
	    strcmp(device, found->netdev) == 0)
		return 0;
	fprintf(stderr, "rnicctl: this daemon has the device %s at %s, not %s; give --socket\n",
		found->name, found->netdev, device);
	admin_link_close(link);
	return -1;
}

/* Makes the condition of `word` happen, to `object` if the word needs one. */
static int make_condition(struct admin_link *link, const struct condition_word *word,
			  const char *object)
{
	struct rnic_ctl_condition condition = {.condition = word->condition};
	char text[RNIC_CTL_TEXT_BYTES];
	int error = 0;

	if (word->object != NULL)
		error = condition_object_find(link, object, &condition);
	if (!error)
		error = admin_link_condition(link, &condition, text);
	if (error)
		fprintf(stderr, "rnicctl: %s\n", link->reason);
	else if (text[0] != '\0')
		puts(text);
	return error;
}

/* Makes the condition that the options say. Returns the exit status. */
static int run_word(const struct condition_options *options)
{
	const struct condition_word *word = options->word;
	struct admin_link link;
	int error;

	if (reach_device(&link, options->socket, word->object == NULL ? options->second : NULL) < 0)
		return EXIT_FAILURE;
	error = make_condition(&link, word, options->second);
	admin_link_close(&link);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}

int link_main(int argc, char **argv)
{
	static const struct condition_word state = {"", RNIC_CONDITION_LINK, NULL};
	static const struct argp argp = {
		.options = argp_options,
		.parser = condition_parse,
		.args_doc = "[down|up|flap|renumber] [DEVICE|DOWN/UP]",
		.doc = "Bring the link of the device down, as if its cable were drawn, or up "
		       "again; without a word, say how it is. It flaps, down and up by turns for "
		       "such times, until the next down or up. renumber gives GIDs that nobody "
		       "uses other indexes. DEVICE is the name of the device or of its network "
		       "interface.",
	};
	struct condition_options options = {.words = condition_link_words};

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (options.word == NULL)
		options.word = &state;
	return run_word(&options);
}

int event_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = condition_parse,
		.args_doc = "port-err|port-active|gid-change|device-fatal|qp-fatal|cq-err|srq-err "
			    "[OBJECT]",
		.doc = "Raise an asynchronous event: of the port or the device for all programs, "
		       "or of OBJECT, by its number of rnicctl show: QPN, CQ or SRQN. The event "
		       "comes alone, "
		       "but a queue pair is in error with qp-fatal, and a completion queue gets "
		       "nothing more with cq-err.",
	};
	struct condition_options options = {.words = condition_event_words, .needs_word = true};

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	return run_word(&options);
}

int qp_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = condition_parse,
		.args_doc = "error QPN",
		.doc = "Bring a queue pair into error: what is posted is flushed, and no event "
		       "comes.",
	};
	struct condition_options options = {.words = condition_qp_words, .needs_word = true};

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	return run_word(&options);
}
