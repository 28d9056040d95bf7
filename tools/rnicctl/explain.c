/* SPDX-License-Identifier: MIT */
/* rnicctl explain: why something failed; or, without a daemon, what a code means. */
#include "tools/rnicctl/rnicctl.h"

#include "proto/base/causes.h"
#include "proto/base/wc_status.h"
#include "tools/rnicctl/daemon_reach.h"
#include "tools/rnicctl/ended_troubles.h"
#include "tools/rnicctl/explain/explain_qp.h"
#include "tools/rnicctl/explain_report.h"
#include "tools/support/number_text.h"
#include "tools/support/socket_option.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/types.h>

#define QPN_MAX	      0xffffff
#define STATUS_PREFIX "IBV_WC_"

enum {
	OPTION_PID = 256,
	/* Of an answer where a pid is asked for: rnic-run waits 2 s for the whole story. */
	WATCHED_LIMIT_MS = 1500,
};

/* What a person types: the vendor_err, the status by number or name, or the name of the cause. */
struct explain_options {
	const char *what; /* NULL: all causes */
	bool json;
	bool last;
	const char *pid; /* NULL: `what` or `last` says what to explain */
	struct rnic_socket_list sockets;
	const char *peers[EXPLAIN_SOURCES_MAX - 1]; /* files, or sockets of daemons */
	size_t peer_count;
};

static const struct argp_option argp_options[] = {
	{"json", 'j', NULL, 0, "Print JSON", 0},
	{"last", 'l', NULL, 0, "Explain the program that failed last", 0},
	{"peer", 'p', "FILE", 0,
	 "What the other host's rnicctl record save wrote, or the socket of another daemon", 0},
	{"pid", OPTION_PID, "PID", 0,
	 "Tell all that is known of the process; nothing where nothing is known", 0},
	{"socket", 's', "PATH", 0, "The daemon's socket, or a directory of sockets", 0},
	{0},
};

static error_t explain_parse(int key, char *argument, struct argp_state *state)
{
	struct explain_options *options = state->input;
	uint32_t pid;

	switch (key) {
	case 'j':
		options->json = true;
		return 0;
	case 'l':
		options->last = true;
		return 0;
	case 's':
		if (socket_option_add("rnicctl", argument, &options->sockets) < 0)
			exit(EXIT_FAILURE);
		return 0;
	case OPTION_PID:
		if (!number_text_is(argument, 10, &pid) || pid == 0)
			argp_error(state, "one process id, not \"%s\"", argument);
		options->pid = argument;
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
 * is that of a cause or, with or without IBV_WC_, of a status. Most programs print a status in the
 * words of ibv_wc_status_str().
 */
static bool explain_is_asked(const char *what, const struct rnic_cause_row *row)
{
	uint32_t number;

	if (what == NULL || strcasecmp(what, row->name) == 0)
		return true;
	if (number_text_is(what, 0, &number))
		return strncasecmp(what, "0x", 2) == 0
			       ? number == row->code
			       : row->status != RNIC_WC_SUCCESS && number == row->status;
	if (row->status == RNIC_WC_SUCCESS)
		return false;
	if (strncasecmp(what, STATUS_PREFIX, strlen(STATUS_PREFIX)) == 0)
		what += strlen(STATUS_PREFIX);
	return strcasecmp(what, rnic_wc_status_name(row->status)) == 0 ||
	       strcasecmp(what, rnic_wc_status_text(row->status)) == 0;
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

static int collect_from(struct admin_link *link, struct evidence *evidence)
{
	int error = evidence_collect(link, evidence);

	if (error)
		fprintf(stderr, "rnicctl: %s\n", link->reason);
	admin_link_close(link);
	return error;
}

/* A daemon that rnic-run started ends soon; its log keeps the troubles. */
static int collect_from_log(const char *socket, struct evidence *evidence)
{
	struct rnic_show_trouble *rows = calloc(ENDED_TROUBLES_MAX, sizeof(*rows));
	const int count = rows != NULL ? ended_troubles_read(socket, rows) : -ENOMEM;

	*evidence = (struct evidence){
		.troubles = rows,
		.trouble_count = count > 0 ? (size_t)count : 0,
		.is_of_log = true,
	};
	return count < 0 ? count : 0;
}

/*
 * `socket` may be NULL for the default ones. A device process that hangs, and a program that is
 * about to end, may give no answer: what else is known is told all the same.
 */
static int collect_own(const struct explain_options *options, const char *socket,
		       struct evidence *evidence)
{
	char path[RNIC_SOCKET_PATH_BYTES];
	struct admin_link link;
	int error;

	if (options->pid != NULL && socket != NULL) {
		snprintf(path, sizeof(path), "%s", socket);
		error = admin_link_open_within(&link, path, "rnicctl", WATCHED_LIMIT_MS);
		if (error && !admin_link_is_absence(error))
			fprintf(stderr, "rnicctl: %s\n", link.reason);
	} else {
		error = daemon_reach_path(&link, socket, path);
	}
	if (admin_link_is_absence(error))
		return collect_from_log(path, evidence);
	if (error)
		return error;
	error = collect_from(&link, evidence);
	return options->pid != NULL ? 0 : error;
}

/* A peer is a daemon that can be asked, or a file. */
static int collect_peer(const char *path, struct evidence *evidence)
{
	struct admin_link link;
	struct stat status;
	int error;

	if (stat(path, &status) != 0 || !S_ISSOCK(status.st_mode))
		return evidence_load(evidence, path);
	error = daemon_reach(&link, path);
	return error ? error : collect_from(&link, evidence);
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

	if (options->pid != NULL)
		return explain_report_program(request, options->pid);
	if (options->last)
		return explain_report_last(request);
	if (is_qpn(options->what, &qpn))
		return explain_report_qp(request, qpn);
	return explain_report_program(request, options->what);
}

static void complain_of_nothing(const struct explain_options *options)
{
	if (options->pid != NULL)
		fprintf(stderr, "rnicctl: nothing is known of process %s\n", options->pid);
	else if (options->last)
		fprintf(stderr, "rnicctl: nothing failed that you may see\n");
	else
		fprintf(stderr,
			"rnicctl: %s is no cause (rnicctl explain lists all), and no queue pair or "
			"program of which the daemon recorded anything that you may see\n",
			options->what);
}

/* Explains from one daemon. Returns how many explanations there are, or a negative errno. */
static ssize_t explain_from(const struct explain_options *options, const char *socket)
{
	struct evidence sources[EXPLAIN_SOURCES_MAX] = {0};
	const struct explain_request request = {
		.sources = sources,
		.source_count = options->peer_count + 1,
		.json = options->json,
		.only_trouble = options->pid != NULL,
	};
	ssize_t count = collect_own(options, socket, &sources[0]);

	for (size_t i = 0; i < options->peer_count && count == 0; i++)
		count = collect_peer(options->peers[i], &sources[i + 1]);
	if (count == 0)
		count = (ssize_t)explain_all(options, &request);
	for (size_t i = 0; i < EXPLAIN_SOURCES_MAX; i++)
		evidence_free(&sources[i]);
	return count;
}

static int explain_failure(const struct explain_options *options)
{
	const uint32_t count = options->sockets.count;
	bool is_told = false, has_failed = false;

	for (uint32_t i = 0; i < count || i == 0; i++) {
		const char *socket = count > 0 ? options->sockets.paths[i] : NULL;
		const ssize_t told = explain_from(options, socket);

		is_told |= told > 0;
		has_failed |= told < 0;
	}
	if (!is_told && !has_failed)
		complain_of_nothing(options);
	return is_told && !has_failed ? EXIT_SUCCESS : EXIT_FAILURE;
}

int explain_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = explain_parse,
		.args_doc = "[QPN|PROGRAM|CODE]",
		.doc = "Explain why a queue pair (0x800123) or a program (name or pid) failed or "
		       "waits, by its first cause; or the code of a failure: the vendor_err of a "
		       "completion (0x81), its status (12, IBV_WC_RETRY_EXC_ERR, \"transport retry "
		       "counter exceeded\"), or the name of a cause (RETRY_EXCEEDED). Without an "
		       "argument: all causes.",
	};
	struct explain_options options = {0};

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	/* RNIC_SOCKET may name several; one that nobody names may be the machine's. */
	if (options.sockets.count == 0 && socket_option_is_named(NULL) &&
	    socket_option_add("rnicctl", NULL, &options.sockets) < 0)
		return EXIT_FAILURE;
	if (!options.last && options.pid == NULL &&
	    (options.json ? print_causes_json(options.what) : print_causes(options.what)) > 0)
		return EXIT_SUCCESS;
	return explain_failure(&options);
}
