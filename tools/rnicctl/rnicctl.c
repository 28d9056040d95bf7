/* SPDX-License-Identifier: MIT */
/* rnicctl: looks into a running rnicd, and makes conditions that programs must cope with. One row
 * of a table per subcommand. */
#include "tools/rnicctl/rnicctl.h"

#include "tools/rnicctl/row_kinds.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

static const struct subcommand subcommands[] = {
	{"show", show_main, "show the device, its clients and their objects"},
	{"explain", explain_main, "say why something failed, or what a code means"},
	{"top", top_main, "show the same live, with rates, on the terminal"},
	{"serve", serve_main, "show it as a page on localhost, with the packets of captures"},
	{"link", link_main, "bring the link down or up"},
	{"event", event_main, "raise an asynchronous event"},
	{"qp", qp_main, "bring a queue pair into error"},
	{"fault", fault_main, "load and list rules that spoil the network"},
	{"record", record_main, "save what happened, for explain on the other host"},
	{"metrics", metrics_main, "print state and counters for Prometheus"},
	{"cdi", cdi_main, "print what a container needs for the device"},
};

enum { SUBCOMMAND_COUNT = sizeof(subcommands) / sizeof(subcommands[0]) };

static void print_help(FILE *to)
{
	fputs("Usage: rnicctl [SUBCOMMAND] [OPTION...] [ARG...]\n\n", to);
	for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
		fprintf(to, "  %-10s %s\n", subcommands[i].name, subcommands[i].summary);
	fputs("\nWithout a subcommand: show. Each has its own --help.\n", to);
}

static int run_subcommand(const struct subcommand *subcommand, int argc, char **argv)
{
	char name[32];

	/* argp and getopt_long() begin messages and hints with argv[0]: with what one can type. */
	snprintf(name, sizeof(name), "rnicctl %s", subcommand->name);
	argv[0] = name;
	return subcommand->run(argc, argv);
}

/* What show shows looks like a subcommand to who types it. */
static void complain_of_subcommand(const char *word)
{
	for (size_t i = 0; i < ROW_KIND_COUNT; i++) {
		if (strcmp(row_kinds[i].name, word) != 0)
			continue;
		fprintf(stderr, "rnicctl: \"%s\" is no subcommand; type rnicctl show %s\n", word,
			word);
		return;
	}
	fprintf(stderr, "rnicctl: \"%s\" is not one of ", word);
	for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
		fprintf(stderr, "%s%s", i > 0 ? ", " : "", subcommands[i].name);
	fputs("; see rnicctl --help\n", stderr);
}

int main(int argc, char **argv)
{
	argp_err_exit_status = EXIT_FAILURE;
	if (argc < 2)
		return show_main(argc, argv);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help(stdout);
		return EXIT_SUCCESS;
	}
	if (argv[1][0] == '-')
		return show_main(argc, argv);
	for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return run_subcommand(&subcommands[i], argc - 1, argv + 1);
	}
	complain_of_subcommand(argv[1]);
	return EXIT_FAILURE;
}
