/* SPDX-License-Identifier: MIT */
/*
 * rnic-inspect: judges the RoCEv2 packets in a capture file. No dissector judges the ICRC; this
 * program does.
 *
 * Exit status: 0 all are good, 1 some packet has a bad ICRC or does not decode, 2 the file cannot
 * be read.
 */
#include "tools/rnic-inspect/inspect_report.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_BAD_PACKETS 1
#define EXIT_UNREADABLE	 2

struct options {
	const char *path;
	bool quiet;   /* print nothing */
	bool summary; /* print only the summary */
	bool json;
};

static const struct argp_option option_list[] = {
	{"quiet", 'q', NULL, 0, "Print nothing; the exit status has the result", 0},
	{"summary", 's', NULL, 0, "Print the summary only", 0},
	{"json", 'j', NULL, 0, "Print JSON, one object a line", 0},
	{0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'q':
		options->quiet = true;
		return 0;
	case 's':
		options->summary = true;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (options->path != NULL)
			argp_usage(state);
		options->path = argument;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_list,
	.parser = parse_option,
	.args_doc = "FILE.pcap[ng]",
	.doc = "Judge the RoCEv2 packets of a capture: do they decode, is their ICRC right?\v"
	       "Exit status: 0 when all are good, 1 when a packet has a bad ICRC, was renumbered "
	       "or does not decode, 2 when the file cannot be read. Frames that nobody can judge "
	       "are counted: sends before the device cut them into packets, frames that the "
	       "capture cut short, and those with IPv4 options.",
};

static void report_frame(const struct options *options, const struct judgement *judgement,
			 uint64_t time_ns)
{
	if (options->quiet || options->summary || !inspect_is_roce(judgement->verdict))
		return;
	if (options->json)
		inspect_report_json(judgement, time_ns);
	else
		inspect_report_text(judgement, time_ns);
}

/*
 * Returns 0, or -EBADMSG when the file is damaged; the frames before the damage have been reported.
 */
static int inspect(const struct options *options, struct capture_reader *reader,
		   struct inspect_summary *summary)
{
	struct capture_frame frame;
	uint64_t start_ns = 0;
	bool started = false;
	int result;

	while ((result = capture_reader_next(reader, &frame)) > 0) {
		struct judgement judgement = judge(&frame);

		if (!started)
			start_ns = frame.time_ns;
		started = true;
		summary->verdict_counts[judgement.verdict]++;
		/* Frames of several interfaces need not be in order. */
		report_frame(options, &judgement,
			     frame.time_ns > start_ns ? frame.time_ns - start_ns : 0);
	}
	return result;
}

static void report_summary(const struct options *options, const struct inspect_summary *summary)
{
	if (options->quiet)
		return;
	if (options->json)
		inspect_summary_json(summary);
	else
		inspect_summary_text(summary);
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct inspect_summary summary = {0};
	struct capture_reader *reader;
	int error;

	argp_err_exit_status = EXIT_UNREADABLE;
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	error = capture_reader_open(&reader, options.path);
	if (error != 0) {
		fprintf(stderr, "rnic-inspect: %s: %s\n", options.path,
			error == -EBADMSG ? "not a pcap or pcapng file" : strerror(-error));
		return EXIT_UNREADABLE;
	}
	error = inspect(&options, reader, &summary);
	capture_reader_close(reader);
	report_summary(&options, &summary);
	if (fflush(stdout) != 0) {
		fprintf(stderr, "rnic-inspect: cannot write: %s\n", strerror(errno));
		return EXIT_UNREADABLE;
	}
	if (error != 0) {
		fprintf(stderr, "rnic-inspect: %s: damaged, or cut short\n", options.path);
		return EXIT_UNREADABLE;
	}
	if (summary.verdict_counts[VERDICT_BAD_ICRC] != 0 ||
	    summary.verdict_counts[VERDICT_RENUMBERED] != 0 ||
	    summary.verdict_counts[VERDICT_UNDECODABLE] != 0)
		return EXIT_BAD_PACKETS;
	return EXIT_SUCCESS;
}
