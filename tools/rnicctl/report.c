/* SPDX-License-Identifier: MIT */
/*
 * rnicctl report: what a device knows of one program, in some lines for the person who reads the
 * program's last words: queue pairs and connections with what they wait for, and troubles. Prints
 * nothing when nothing is known.
 */
#include "tools/rnicctl/rnicctl.h"

#include "lib/client/admin/admin_link.h"
#include "tools/rnicctl/ended_troubles.h"
#include "tools/rnicctl/row_kinds.h"
#include "tools/support/number_text.h"
#include "tools/support/socket_option.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Lines of each kind: the first ones have the cause. */
enum { REPORT_LINES_MAX = 8 };

struct report_options {
	struct rnic_socket_list sockets;
	uint32_t pid;
};

/* A document of rnicctl show --json, of which the rows of one program are told. */
struct report {
	uint32_t pid;
	bool has_heading;
	json_t *clients;
};

static const struct argp_option argp_options[] = {
	{"socket", 's', "PATH", 0, "The daemon's socket, or a directory of sockets", 0},
	{0},
};

static error_t report_parse(int key, char *argument, struct argp_state *state)
{
	struct report_options *options = state->input;

	switch (key) {
	case 's':
		if (socket_option_add("rnicctl", argument, &options->sockets) < 0)
			exit(EXIT_FAILURE);
		return 0;
	case ARGP_KEY_ARG:
		if (!number_text_is(argument, 10, &options->pid) || options->pid == 0 ||
		    state->arg_num > 0)
			argp_error(state, "one process id, not \"%s\"", argument);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which process?");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *report_text(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text != NULL ? text : "";
}

static bool report_is_of_client(const struct report *report, const json_t *row)
{
	const json_t *client;
	size_t i;

	json_array_foreach(report->clients, i,
			   client) if (json_integer_value(json_object_get(client, "pid")) ==
					       report->pid &&
				       json_equal(json_object_get(client, "client"),
						  json_object_get(row, "client"))) return true;
	return false;
}

static bool report_is_of_pid(const struct report *report, const json_t *row)
{
	return json_integer_value(json_object_get(row, "pid")) == report->pid;
}

static void tell_qp(const json_t *row)
{
	const bool has_peer = strcmp(report_text(row, "peer_gid"), "-") != 0;

	printf("  queue pair 0x%06llx (%s, %s)",
	       (unsigned long long)json_integer_value(json_object_get(row, "qpn")),
	       report_text(row, "type"), report_text(row, "state"));
	if (has_peer)
		printf(" to 0x%06llx of %s",
		       (unsigned long long)json_integer_value(json_object_get(row, "peer_qpn")),
		       report_text(row, "peer_gid"));
	putchar('\n');
}

static void tell_cm(const json_t *row)
{
	printf("  connection %s with %s port %lld\n", report_text(row, "state"),
	       report_text(row, "peer_gid"),
	       (long long)json_integer_value(json_object_get(row, "peer_port")));
}

static void tell_trouble(const json_t *row)
{
	const json_t *age_ms = json_object_get(row, "age_ms");

	printf("  %s", report_text(row, "subject"));
	if (age_ms != NULL)
		printf(", %lld ms ago", (long long)json_integer_value(age_ms));
	printf(": %s\n", report_text(row, "reason"));
}

/*
 * Queue pairs are asked for last: a device process, or a program that is about to end, has to
 * answer, and who asks may end rnicctl meanwhile.
 */
static const struct report_kind {
	uint32_t kind;
	bool (*is_asked)(const struct report *report, const json_t *row);
	void (*tell)(const json_t *row);
} report_kinds[] = {
	{RNIC_SHOW_TROUBLES, report_is_of_pid, tell_trouble},
	{RNIC_SHOW_CM, report_is_of_client, tell_cm},
	{RNIC_SHOW_QPS, report_is_of_client, tell_qp},
};

/* The sentences below a row: what the object waits for, and how it failed. */
static void tell_sentences(const json_t *row)
{
	static const char *const sentences[][2] = {
		{"waiting_for", "waiting for"},
		{"last_error", "last error"},
	};

	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		if (report_text(row, sentences[i][0])[0] != '\0')
			printf("      %s: %s\n", sentences[i][1],
			       report_text(row, sentences[i][0]));
}

static void report_rows(struct report *report, const struct report_kind *kind, const json_t *rows)
{
	size_t i, told = 0;
	const json_t *row;

	json_array_foreach(rows, i, row)
	{
		if (!kind->is_asked(report, row))
			continue;
		if (!report->has_heading)
			printf("rnicd, of the process %u:\n", report->pid);
		report->has_heading = true;
		if (++told > REPORT_LINES_MAX)
			continue;
		kind->tell(row);
		tell_sentences(row);
	}
	if (told > REPORT_LINES_MAX)
		printf("  and %zu more %s\n", told - REPORT_LINES_MAX,
		       row_kind_of(kind->kind)->name);
}

/* Returns the rows of a kind, the caller's; NULL after an error. */
static json_t *report_ask(struct admin_link *link, uint32_t kind)
{
	const struct row_kind *layout = row_kind_of(kind);
	json_t *document;
	size_t count;
	void *rows;

	if (admin_link_show(link, kind, layout->row_bytes, &rows, &count) != 0)
		return NULL;
	document = row_json(layout, rows, count);
	free(rows);
	return document;
}

static int report_of_link(struct report *report, struct admin_link *link)
{
	int error = 0;

	report->clients = report_ask(link, RNIC_SHOW_CLIENTS);
	for (size_t i = 0; i < sizeof(report_kinds) / sizeof(report_kinds[0]); i++) {
		json_t *rows = report_ask(link, report_kinds[i].kind);

		if (rows == NULL)
			error = -EIO;
		report_rows(report, &report_kinds[i], rows);
		json_decref(rows);
	}
	json_decref(report->clients);
	if (error)
		fprintf(stderr, "rnicctl: %s\n", link->reason);
	return error;
}

static void report_of_log(struct report *report, const char *socket)
{
	struct rnic_show_trouble rows[ENDED_TROUBLES_MAX];
	const int count = ended_troubles_read(socket, rows);
	json_t *document;

	if (count <= 0)
		return;
	document = row_json(ended_troubles_kind(), rows, (size_t)count);
	report_rows(report, &report_kinds[0], document);
	json_decref(document);
}

static int report_of_socket(struct report *report, const char *socket)
{
	struct admin_link link;
	int error = admin_link_open(&link, socket, "rnicctl");

	if (error == 0) {
		error = report_of_link(report, &link);
		admin_link_close(&link);
	} else if (admin_link_is_absence(error)) {
		report_of_log(report, socket);
		error = 0;
	} else {
		fprintf(stderr, "rnicctl: %s\n", link.reason);
	}
	return error;
}

int report_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = report_parse,
		.args_doc = "PID",
		.doc = "Tell what the device knows of a process: the state of its queue pairs and "
		       "connections, what they wait for, and its troubles, also after its end.",
	};
	struct report_options options = {0};
	struct report report = {0};
	int status = EXIT_SUCCESS;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (options.sockets.count == 0 && socket_option_add("rnicctl", NULL, &options.sockets) < 0)
		return EXIT_FAILURE;
	setvbuf(stdout, NULL, _IOLBF, 0);
	report.pid = options.pid;
	for (uint32_t i = 0; i < options.sockets.count; i++)
		if (report_of_socket(&report, options.sockets.paths[i]) != 0)
			status = EXIT_FAILURE;
	return status;
}
