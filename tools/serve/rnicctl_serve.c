/* SPDX-License-Identifier: MIT */
/* rnicctl serve: a page on localhost that shows daemons live, and captures and records. */
#include "tools/rnicctl/daemon_reach.h"
#include "tools/serve/page_server.h"
#include "tools/support/number_text.h"
#include "tools/support/socket_option.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CAPTURES_MAX = 16 };

struct serve_options {
	struct rnic_socket_list sockets;
	struct state_sources sources;
	const char *captures[CAPTURES_MAX];
	uint16_t port;
};

static const struct argp_option argp_options[] = {
	{"socket", 's', "PATH", 0, "A daemon's socket; several for several devices", 0},
	{"port", 'p', "PORT", 0, "Listen on this port of 127.0.0.1; a free one unless given", 0},
	{0},
};

static error_t serve_parse(int key, char *argument, struct argp_state *state)
{
	struct serve_options *options = state->input;
	struct state_sources *sources = &options->sources;
	uint32_t port;

	switch (key) {
	case 's':
		if (socket_option_add("rnicctl", argument, &options->sockets) < 0)
			exit(EXIT_FAILURE);
		return 0;
	case 'p':
		if (!number_text_is(argument, 10, &port) || port > UINT16_MAX)
			argp_error(state, "--port takes 0 to 65535");
		options->port = (uint16_t)port;
		return 0;
	case ARGP_KEY_ARG:
		if (sources->capture_count == CAPTURES_MAX)
			argp_error(state, "%d files at most", CAPTURES_MAX);
		if (access(argument, R_OK) != 0)
			argp_error(state, "%s: %s", argument, strerror(errno));
		options->captures[sources->capture_count++] = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Without an option: the daemon that rnicctl show would show, and none where only files are. */
static int serve_find_daemon(struct serve_options *options)
{
	struct rnic_socket_list *sockets = &options->sockets;
	struct admin_link link;
	int error;

	if (sockets->count > 0 || options->sources.capture_count > 0)
		return 0;
	if (getenv("RNIC_SOCKET"))
		return socket_option_add("rnicctl", NULL, sockets);
	error = daemon_reach_path(&link, NULL, sockets->paths[0]);
	if (error)
		return error;
	admin_link_close(&link);
	sockets->count = 1;
	return 0;
}

/* The watches last as long as the program, and so do the paths of their sockets. */
static int serve_watch_devices(struct serve_options *options)
{
	struct state_sources *sources = &options->sources;
	int error = 0;

	while (!error && sources->device_count < options->sockets.count) {
		uint32_t i = sources->device_count;

		error = device_watch_start(&sources->devices[i], options->sockets.paths[i]);
		sources->device_count += !error;
	}
	if (error)
		fprintf(stderr, "rnicctl: %s\n", strerror(-error));
	return error;
}

static int serve_until_signal(const struct serve_options *options, const sigset_t *ends)
{
	const struct request_guard *guard;
	struct page_server *server;
	int taken, error = page_server_start(&server, options->port, &options->sources);

	if (error) {
		fprintf(stderr, "rnicctl: 127.0.0.1, port %u: %s\n", options->port,
			strerror(-error));
		return error;
	}
	guard = page_server_guard(server);
	printf("http://127.0.0.1:%u/%s/\n", guard->port, guard->token);
	fflush(stdout);
	sigwait(ends, &taken);
	page_server_stop(server);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = serve_parse,
		.args_doc = "[FILE...]",
		.doc = "Serve a page on 127.0.0.1 that shows devices, their peers, clients, queue "
		       "pairs, faults and troubles live, and the packets of captures or the "
		       "entries of "
		       "records (rnicctl record save) as a ladder; print its address. Only who has "
		       "the address can open the page.",
	};
	static struct serve_options options; /* the watches go on while main() returns */
	sigset_t ends;

	argp_err_exit_status = EXIT_FAILURE;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	options.sources.captures = options.captures;
	if (serve_find_daemon(&options) < 0)
		return EXIT_FAILURE;
	/* Before threads start, so that the signals come here alone. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	if (serve_watch_devices(&options) < 0)
		return EXIT_FAILURE;
	return serve_until_signal(&options, &ends) ? EXIT_FAILURE : EXIT_SUCCESS;
}
