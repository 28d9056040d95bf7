/* SPDX-License-Identifier: MIT */
/* rnicctl explain: why something failed; or, without a daemon, what a code means. */
#include "tools/rnicctl/rnicctl.h"

#include "proto/base/causes.h"
#include "proto/base/wc_status.h"
#include "tools/rnicctl/daemon_reach.h"
#include "tools/rnicctl/explain/explain_qp.h"
#include "tools/rnicctl/explain_report.h"
#include "tools/support/number_text.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define QPN_MAX	      0xffffff
#define STATUS_PREFIX "IBV_WC_"

/* What a person types: the vendor_err, the status by number or name, or the name of the cause. */
struct explain_options {
	const char *what; /* NULL: all causes */
	bool json;
	bool last;
	const char *socket;
	const char *peers[EXPLAIN_SOURCES_MAX - 1]; /* files, or sockets of daemons */
	size_t peer_count;
};

static const struct argp_option argp_options[] = {
	{"json", 'j', NULL, 0, "Print JSON", 0},
	{"last", 'l', NULL, 0, "Explain the program that failed last", 0},
	{"peer", 'p', "FILE", 0,
	 "What the other host's rnicctl record save wrote, or the socket of another daemon", 0},
	{"socket", 's', "PATH", 0, "The daemon's socket", 0},
	{0},
};

static error_t explain_parse(int key, char *argument, struct argp_state *state)
{
	struct explain_options *options = state->input;

	switch (key) {
	case 'j':
		options->json = true;
		return 0;
	case 'l':
		options->last = true;
		return 0;
	case 's':
		options->socket = argument;
		return 0;
	case 'p':
		if (options->peer_count == EXPLAIN_SOURCES_MAX - 1)
			argp_error(state, "too many peers");
		options->peers[options->peer_count++] = argument;
		return 0;
	case ARGP_KEY_ARG:
		if (options->what)
			argp_error(state, "one at a time, not also \"%s\"", argument);
		options->what = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/*
 * A number in hexadecimal is a vendor_err; one in decimal a status, which programs print so. A name
 * is that of a cause or, with or without IBV_WC_, of a status.
 */
static bool explain_is_asked(const char *what, const struct rnic_cause_row *row)
{
	const char *status = rnic_wc_status_name(row->status);
	uint32_t number;
	bool has_prefix;

	if (what == NULL || strcasecmp(what, row->name) == 0)
		return true;
	if (number_text_is(what, 0, &number))
		return strncasecmp(what, "0x", 2) == 0
			       ? number == row->code
			       : row->status != RNIC_WC_SUCCESS && number == row->status;
	has_prefix = strncasecmp(what, STATUS_PREFIX, strlen(STATUS_PREFIX)) == 0;
	return row->status != RNIC_WC_SUCCESS &&
	       strcasecmp(has_prefix ? what + strlen(STATUS_PREFIX) : what, status) == 0;
}

static void print_cause(const struct rnic_cause_row *row)
{
	printf("0x%02x %s\n", row->code, row->name);
	printf("  %s\n", row->sentence);
	printf("  HINT: %s\n", row->hint);
	if (row->status != RNIC_WC_SUCCESS)
		printf("  STATUS: " STATUS_PREFIX "%s (%u)\n", rnic_wc_status_name(row->status),
		       row->status);
	else
		printf("  STATUS: none, the connection goes on\n");
	printf("  SOURCE: InfiniBand Architecture Specification 1.4, %s\n", row->clause);
}

/* Prints the causes that are asked for, and returns how many. */
static uint32_t print_causes(const char *what)
{
	const struct rnic_cause_row *row;
	uint32_t count = 0;

	for (uint32_t i = 0; (row = rnic_cause_row(i)) != NULL; i++) {
		if (!explain_is_asked(what, row))
			continue;
		if (count++ > 0)
			putchar('\n');
		print_cause(row);
	}
	return count;
}

static json_t *cause_json(const struct rnic_cause_row *row)
{
	return json_pack("{si ss si ss ss ss}", "code", row->code, "name", row->name, "status",
			 (int)row->status, "sentence", row->sentence, "hint", row->hint, "clause",
			 row->clause);
}

/* The same as one JSON array. */
static uint32_t print_causes_json(const char *what)
{
	json_t *document = json_array();
	const struct rnic_cause_row *row;
	uint32_t count;

	for (uint32_t i = 0; (row = rnic_cause_row(i)) != NULL; i++)
		if (explain_is_asked(what, row))
			json_array_append_new(document, cause_json(row));
	count = (uint32_t)json_array_size(document);
	if (count > 0) {
		json_dumpf(document, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(document);
	return count;
}

/* --- what failed ----------------------------------------------------------------------------- */

static int collect(const char *socket, struct evidence *evidence)
{
	struct admin_link link;
	int error = daemon_reach(&link, socket);

	if (error < 0)
		return error;
	error = evidence_collect(&link, evidence);
	if (error)
		fprintf(stderr, "rnicctl: %s\n", link.reason);
	admin_link_close(&link);
	return error;
}

/* A peer is a daemon that can be asked, or a file. */
static int collect_peer(const char *path, struct evidence *evidence)
{
	struct stat status;

	if (stat(path, &status) == 0 && S_ISSOCK(status.st_mode))
		return collect(path, evidence);
	return evidence_load(evidence, path);
}

/* The number, when the text is that of a queue pair: in hexadecimal and longer than a cause's. */
static bool is_qpn(const char *text, uint32_t *qpn)
{
	return strncasecmp(text, "0x", 2) == 0 && number_text_is(text, 16, qpn) &&
	       *qpn > UINT8_MAX && *qpn <= QPN_MAX;
}

static size_t explain_all(const struct explain_options *options,
			  const struct explain_request *request)
{
	uint32_t qpn;

	if (options->last)
		return explain_report_last(request);
	if (is_qpn(options->what, &qpn))
		return explain_report_qp(request, qpn);
	return explain_report_program(request, options->what);
}

static int complain_of_nothing(const struct explain_options *options)
{
	if (options->last)
		fprintf(stderr, "rnicctl: nothing failed that you may see\n");
	else
		fprintf(stderr,
			"rnicctl: %s is no cause (rnicctl explain lists all), and no queue pair or "
			"program of which the daemon recorded anything that you may see\n",
			options->what);
	return EXIT_FAILURE;
}

static int explain_failure(const struct explain_options *options)
{
	struct evidence sources[EXPLAIN_SOURCES_MAX] = {0};
	const struct explain_request request = {
		.sources = sources,
		.source_count = options->peer_count + 1,
		.json = options->json,
	};
	int status = EXIT_FAILURE;
	int error = collect(options->socket, &sources[0]);

	for (size_t i = 0; i < options->peer_count && error == 0; i++)
		error = collect_peer(options->peers[i], &sources[i + 1]);
	if (error == 0)
		status = explain_all(options, &request) > 0 ? EXIT_SUCCESS
							    : complain_of_nothing(options);
	for (size_t i = 0; i < EXPLAIN_SOURCES_MAX; i++)
		evidence_free(&sources[i]);
	return status;
}

int explain_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = explain_parse,
		.args_doc = "[QPN|PROGRAM|CODE]",
		.doc = "Explain why a queue pair (0x800123) or a program (name or pid) failed or "
		       "waits, by its first cause; or the code of a failure: the vendor_err of a "
		       "completion (0x81), its status (12, IBV_WC_RETRY_EXC_ERR), or the name of a "
		       "cause (RETRY_EXCEEDED). Without an argument: all causes.",
	};
	struct explain_options options = {0};

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (!options.last &&
	    (options.json ? print_causes_json(options.what) : print_causes(options.what)) > 0)
		return EXIT_SUCCESS;
	return explain_failure(&options);
}
