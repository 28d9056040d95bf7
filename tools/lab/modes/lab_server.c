/* SPDX-License-Identifier: MIT */
/*
 * The server only listens. Each client gets a process of its own, which opens the device itself. So
 * no client waits for another, and damage by a client ends with its process.
 */
#include "tools/lab/modes/lab_modes.h"

#include "tools/lab/exchange/lab_clients.h"
#include "tools/lab/lab_text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct server {
	const struct lab_mode *mode;
	const struct lab_options *options;
	struct lab_watch *watch;
	pid_t pid;
	int listener;
	struct lab_clients clients;
};

/* ---- in the process of a client ---- */

static int lab_server_serve(const struct server *server, struct lab_meeting *meeting)
{
	struct lab_message hello;
	int error;

	error = exchange_receive(&meeting->exchange, meeting->watch, LAB_HELLO, &hello,
				 lab_deadline_ns(server->options->timeout_s));
	if (error)
		return error;
	meeting->theirs = hello.endpoint;
	if (hello.endpoint.mode != server->options->mode) {
		char reason[LAB_REASON_BYTES];

		snprintf(reason, sizeof(reason), "this server serves \"%s\"", server->mode->name);
		exchange_refuse(&meeting->exchange, meeting->watch, reason);
		return -EPROTO;
	}
	return server->mode->serve(meeting);
}

static _Noreturn void be_client_process(const struct server *server, int fd, int met_fd)
{
	struct lab_watch watch;
	struct lab_meeting meeting = {
		.options = server->options, .watch = &watch, .met_fd = met_fd};
	int error;

	close(server->listener);
	lab_watch_fini(server->watch);
	/*
	 * A signal that ends the server ends this process, too, also when the server is gone
	 * already.
	 */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	error = lab_watch_init(&watch);
	if (error || getppid() != server->pid)
		exit(EXIT_FAILURE);
	exchange_socket_init(&meeting.exchange, fd);
	error = lab_server_serve(server, &meeting);
	exchange_socket_close(&meeting.exchange);
	lab_watch_fini(&watch);
	exit(error ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* ---- in the server ---- */

/* Starts a process for the client, if there is room and the kernel gives one. */
static bool start_client_process(struct server *server, int fd)
{
	int met_fd;
	pid_t child;

	if (!lab_clients_make_room(&server->clients))
		return false;
	met_fd = eventfd(0, EFD_CLOEXEC);
	if (met_fd < 0)
		return false;
	fflush(stdout);
	child = fork();
	if (child == 0)
		be_client_process(server, fd, met_fd);
	if (child < 0) {
		close(met_fd);
		return false;
	}
	lab_clients_add(&server->clients, child, met_fd);
	return true;
}

static void accept_client(struct server *server)
{
	int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct exchange_socket exchange = {.fd = fd};

	if (fd < 0)
		return;
	if (!start_client_process(server, fd))
		exchange_refuse(&exchange, server->watch, "the server has too many clients");
	close(fd);
}

/* A connection alone does not count: the one client is the first that becomes known. */
static bool has_its_client(const struct server *server)
{
	return server->options->is_once &&
	       (server->clients.has_served || lab_clients_have_met(&server->clients));
}

static int serve_all(struct server *server)
{
	for (;;) {
		int fd = has_its_client(server) ? -1 : server->listener;
		int error = lab_wait(server->watch, fd, POLLIN, LAB_FOREVER);

		if (error == 0 && !has_its_client(server))
			accept_client(server);
		else if (error != 0 && (error != -EINTR || server->watch->signal != SIGCHLD))
			return error;
		lab_clients_reap(&server->clients, WNOHANG);
		if (has_its_client(server) && !lab_clients_have_met(&server->clients))
			return server->clients.last_status;
	}
}

/*
 * A missing device shows now, and not at the first client. The test runs in a process of its own,
 * too.
 */
static int try_device(struct server *server)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct verbs_link link;
		int error = verbs_link_open(&link, server->options, 0, NULL);

		if (error == 0)
			verbs_link_close(&link);
		exit(error ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		return -ENODEV;
	return 0;
}

int lab_server_run(const struct lab_mode *mode, const struct lab_options *options,
		   struct lab_watch *watch)
{
	struct server server = {.mode = mode, .options = options, .watch = watch, .pid = getpid()};
	int error;

	error = try_device(&server);
	if (error)
		return error;
	if (mode->prepare) {
		error = mode->prepare(options, watch);
		if (error)
			return error;
	}
	error = exchange_listen(options, &server.listener);
	if (error)
		return error;
	error = lab_watch_children(watch);
	if (error == 0)
		error = serve_all(&server);
	close(server.listener);
	for (uint32_t i = 0; i < server.clients.count; i++)
		kill(server.clients.processes[i].pid, SIGTERM);
	lab_clients_reap(&server.clients, 0);
	return error;
}
