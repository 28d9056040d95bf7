/* SPDX-License-Identifier: MIT */
/*
 * Very many clients of one rpc_echo server:
 *
 *     rpc_load [--rc] HOST PORT CLIENTS CALLS
 *
 * Each is a client of its own, with its own connection to the daemon. First each makes one call;
 * when all are answered it prints "standing" and waits for a line on its input. Then all make CALLS
 * calls, one after another, at the same time. It prints how many calls that were a second, and how
 * many the slowest client had when the fastest was ready.
 */
#include "rpc_echo.pb-c.h"

#include <rnic/rpc.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct load;

struct caller {
	struct load *load;
	struct rnic_rpc_client *client;
	Rnic__Example__Text request;
	long wanted;
	long answered;
	bool is_under_route;
};

struct load {
	struct caller *callers;
	int count;
	int epoll_fd;
	long ready; /* callers that have all answers */
	long failed;
	long least; /* answers of the slowest when the first was ready */
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void die(const char *what, int error)
{
	fprintf(stderr, "rpc_load: %s: %s\n", what, strerror(-error));
	exit(1);
}

static void note_ready(struct load *load)
{
	if (load->ready++ > 0)
		return;
	load->least = load->callers[0].answered;
	for (int i = 1; i < load->count; i++)
		if (load->callers[i].answered < load->least)
			load->least = load->callers[i].answered;
}

static void note_answer(uint32_t status, const ProtobufCMessage *output, void *user)
{
	struct caller *caller = user;

	(void)output;
	caller->is_under_route = false;
	if (status != RNIC_RPC_OK && caller->load->failed++ == 0)
		fprintf(stderr, "rpc_load: %s\n", rnic_rpc_status_text(status));
	if (++caller->answered == caller->wanted)
		note_ready(caller->load);
}

static void call_next(struct caller *caller)
{
	static const struct rnic_rpc_call_options options = {.timeout_ms = 60000};
	uint64_t call;
	int error;

	if (caller->is_under_route || caller->answered == caller->wanted)
		return;
	error = rnic_rpc_begin(caller->client, &rnic__example__echo__descriptor, 0,
			       &caller->request.base, &options, note_answer, caller, &call);
	if (error != 0)
		die("calling", error);
	caller->is_under_route = true;
}

static void turn(struct caller *caller)
{
	int error = rnic_rpc_client_turn(caller->client, 0);

	if (error != 0 && error != -EINTR)
		die("turning", error);
	call_next(caller);
}

static void run(struct load *load, long calls)
{
	struct epoll_event events[64];

	load->ready = 0;
	for (int i = 0; i < load->count; i++) {
		load->callers[i].answered = 0;
		load->callers[i].wanted = calls;
		call_next(&load->callers[i]);
	}
	while (load->ready < load->count) {
		int count = epoll_wait(load->epoll_fd, events, 64, -1);

		for (int i = 0; i < count; i++)
			turn(events[i].data.ptr);
	}
}

static void open_callers(struct load *load, const struct rnic_rpc_options *options,
			 const char *host, uint16_t port)
{
	static char text[] = "one of very many";

	load->callers = calloc((size_t)load->count, sizeof(*load->callers));
	load->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (load->callers == NULL || load->epoll_fd < 0)
		die("preparing", -ENOMEM);
	for (int i = 0; i < load->count; i++) {
		struct caller *caller = &load->callers[i];
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = caller};
		int error = rnic_rpc_create_client(options, host, port, &caller->client);

		if (error != 0)
			die("making a client", error);
		caller->load = load;
		rnic__example__text__init(&caller->request);
		caller->request.text = text;
		if (epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, rnic_rpc_client_fd(caller->client),
			      &event) != 0)
			die("watching a client", -errno);
	}
}

/* Conversations stay while they wait; their clients must turn. */
static void wait_for_input(struct load *load)
{
	struct epoll_event events[64], input = {.events = EPOLLIN, .data.ptr = NULL};
	char byte;

	if (epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &input) != 0)
		return; /* a file, which never makes wait */
	for (bool has_come = false; !has_come;) {
		int count = epoll_wait(load->epoll_fd, events, 64, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr == NULL)
				has_come = true;
			else
				turn(events[i].data.ptr);
		}
	}
	epoll_ctl(load->epoll_fd, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
	if (read(STDIN_FILENO, &byte, 1) < 0)
		die("reading", -errno);
}

int main(int argc, char **argv)
{
	struct rnic_rpc_options options = {0};
	struct load load = {0};
	double begin, seconds;
	long calls;

	if (argc == 6 && strcmp(argv[1], "--rc") == 0) {
		options.transport = RNIC_RPC_RC;
		argc--;
		argv++;
	}
	if (argc != 5) {
		fprintf(stderr, "usage: rpc_load [--rc] HOST PORT CLIENTS CALLS\n");
		return 1;
	}
	load.count = atoi(argv[3]);
	calls = atol(argv[4]);
	open_callers(&load, &options, argv[1], (uint16_t)atoi(argv[2]));
	run(&load, 1);
	printf("standing\n");
	fflush(stdout);
	wait_for_input(&load);
	begin = now_s();
	run(&load, calls);
	seconds = now_s() - begin;
	printf("%d clients, %ld failed, %.0f calls/s, slowest %ld of %ld\n", load.count,
	       load.failed, (double)load.count * (double)calls / seconds, load.least, calls);
	for (int i = 0; i < load.count; i++)
		rnic_rpc_destroy_client(load.callers[i].client);
	close(load.epoll_fd);
	free(load.callers);
	return load.failed == 0 ? 0 : 1;
}
