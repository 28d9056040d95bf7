/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/rnicctl.h"

#include "tools/rnicctl/daemon_reach.h"
#include "tools/rnicctl/metric_printer.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_OPENMETRICS = 256 };

struct metrics_options {
	const char *socket;
	const char *output; /* NULL: standard output */
	enum metric_format format;
};

static const struct argp_option argp_options[] = {
	{"socket", 's', "PATH", 0, "The daemon's socket", 0},
	{"openmetrics", KEY_OPENMETRICS, NULL, 0, "Print OpenMetrics", 0},
	{"output", 'o', "FILE", 0, "Replace this file as a whole", 0},
	{0},
};

static error_t metrics_parse(int key, char *argument, struct argp_state *state)
{
	struct metrics_options *options = state->input;

	switch (key) {
	case 's':
		options->socket = argument;
		return 0;
	case 'o':
		options->output = argument;
		return 0;
	case KEY_OPENMETRICS:
		options->format = METRIC_FORMAT_OPENMETRICS;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The metrics as a text, which the caller frees. Negative errno, with a reason in the link. */
static int metrics_compose(struct admin_link *link, enum metric_format format, char **text,
			   size_t *bytes)
{
	void *devices = NULL, *counters = NULL;
	size_t device_count, counter_count;
	FILE *stream;
	int error = admin_link_show(link, RNIC_SHOW_DEVICE, sizeof(struct rnic_show_device),
				    &devices, &device_count);

	if (!error)
		error = admin_link_show(link, RNIC_SHOW_COUNTERS, sizeof(struct rnic_show_counter),
					&counters, &counter_count);
	if (!error) {
		stream = open_memstream(text, bytes);
		if (!stream)
			error = -ENOMEM;
		else if (device_count > 0)
			metric_print(stream, format, devices, counters, counter_count);
		if (stream && fclose(stream) != 0)
			error = -ENOMEM;
		if (error)
			snprintf(link->reason, sizeof(link->reason), "out of memory");
	}
	free(devices);
	free(counters);
	return error;
}

/*
 * A reader of the file finds the metrics of before or of now, never half of them: the collector may
 * read at any moment. Its name ends otherwise until it is whole, so that nobody collects it.
 */
static int replace_file(const char *path, const char *text, size_t bytes)
{
	char *whole;
	FILE *file;
	int fd, error = 0;

	if (asprintf(&whole, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkstemp(whole);
	if (fd < 0) {
		error = -errno;
		goto out;
	}
	file = fchmod(fd, 0644) == 0 ? fdopen(fd, "w") : NULL;
	if (!file) {
		error = -errno;
		close(fd);
	} else {
		bool is_written = fwrite(text, 1, bytes, file) == bytes;
		if (fclose(file) != 0 || !is_written)
			error = -EIO;
	}
	if (!error && rename(whole, path) != 0)
		error = -errno;
	if (error)
		unlink(whole);
out:
	free(whole);
	return error;
}

static int metrics_deliver(const struct metrics_options *options, const char *text, size_t bytes)
{
	int error = 0;

	if (options->output)
		error = replace_file(options->output, text, bytes);
	else if (fwrite(text, 1, bytes, stdout) != bytes || fflush(stdout) != 0)
		error = -errno;
	if (error)
		fprintf(stderr, "rnicctl: %s: %s\n",
			options->output ? options->output : "standard output", strerror(-error));
	return error;
}

int metrics_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = metrics_parse,
		.doc = "Print the state and the counters of a running rnicd as metrics, in the "
		       "text format of Prometheus.",
	};
	struct metrics_options options = {0};
	struct admin_link link;
	char *text = NULL;
	size_t bytes = 0;
	int error;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (daemon_reach(&link, options.socket) < 0)
		return EXIT_FAILURE;
	error = metrics_compose(&link, options.format, &text, &bytes);
	admin_link_close(&link);
	if (error)
		fprintf(stderr, "rnicctl: %s\n", link.reason);
	else
		error = metrics_deliver(&options, text, bytes);
	free(text);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
