/* SPDX-License-Identifier: MIT */
#include "tools/lab/trace/trace_hosts.h"

#include "proto/base/bits.h"
#include "tools/lab/lab_text.h"
#include "tools/lab/lambda/program_directory.h"
#include "tools/lab/trace/trace_fault.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROCE_PORT	4791
#define LOOPBACK_NET	UINT32_C(0x7f000000)
#define HOST_FIRST	2
#define HOST_LAST	254
#define START_SECONDS	20
#define STOP_SECONDS	5
#define STOP_POLL_NS	UINT64_C(5000000)
#define STATUS_NO_START 127

static const char *const names[TRACE_SIDES] = {"a", "b"};

/* ---- places ---- */

static bool host_is_free(uint32_t number)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(ROCE_PORT),
		.sin_addr.s_addr = htonl(LOOPBACK_NET + number),
	};
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const bool is_free =
		fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;

	if (fd >= 0)
		close(fd);
	return is_free;
}

/* Gives the host the first loopback address from `*number` on whose RoCE port nobody has. */
static int host_find_address(struct trace_host *host, uint32_t *number)
{
	while (*number <= HOST_LAST && !host_is_free(*number))
		++*number;
	if (*number > HOST_LAST) {
		lab_say("UDP port %d is taken on all loopback addresses: does an rnicd have it on "
			"0.0.0.0?",
			ROCE_PORT);
		return -EADDRINUSE;
	}
	snprintf(host->address, TRACE_ADDRESS_BYTES, "127.0.0.%u", *number);
	return 0;
}

static int hosts_find_places(struct trace_hosts *hosts, const char *captures)
{
	const char *under = getenv("TMPDIR");

	snprintf(hosts->directory, sizeof(hosts->directory), "%s/rnic-lab-XXXXXX",
		 under != NULL && under[0] == '/' ? under : "/tmp");
	if (mkdtemp(hosts->directory) == NULL) {
		const int error = -errno;

		lab_say("cannot make the directory %s: %s", hosts->directory, strerror(-error));
		hosts->directory[0] = '\0';
		return error;
	}
	for (enum trace_side side = 0; side < TRACE_SIDES; side++) {
		struct trace_host *host = &hosts->of[side];

		snprintf(host->socket, PATH_MAX, "%s/%s.sock", hosts->directory, names[side]);
		snprintf(host->log, PATH_MAX, "%s/%s.log", hosts->directory, names[side]);
		snprintf(host->capture, PATH_MAX, "%s/%s.pcapng",
			 captures != NULL ? captures : hosts->directory, names[side]);
	}
	return 0;
}

/* ---- processes ---- */

static void program_path(const char *name, char path[PATH_MAX])
{
	char directory[PROGRAM_DIRECTORY_BYTES];

	if (program_directory(directory) == 0)
		snprintf(path, PATH_MAX, "%s/%s", directory, name);
	else
		snprintf(path, PATH_MAX, "%s", name);
}

/* In a child: has the signals again that lab_watch blocked. Ends the child when it cannot go on. */
__attribute__((noreturn)) static void child_execute(char **arguments, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent) /* else the parent ended before prctl() */
		execv(arguments[0], arguments);
	lab_say("cannot run %s: %s", arguments[0], strerror(errno));
	_exit(STATUS_NO_START);
}

/* Waits for a child that is to end, and kills one that does not. */
static void child_reap(pid_t pid)
{
	const uint64_t deadline_ns = lab_deadline_ns(STOP_SECONDS);
	const struct timespec pause = {.tv_nsec = STOP_POLL_NS};

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (lab_now_ns() > deadline_ns)
			kill(pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
}

/* In a child: an rnicd that writes to the log, and a byte to `ready_fd` when it serves. */
__attribute__((noreturn)) static void host_execute(struct trace_host *host, char *rules,
						   int ready_fd, pid_t parent)
{
	const int log = open(host->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char program[PATH_MAX], ready[16];
	char *arguments[] = {program,	    "--address",
			     host->address, "--socket",
			     host->socket,  "--capture",
			     host->capture, "--ready-fd",
			     ready,	    "--socket-mode",
			     "0600",	    "--log-level",
			     "warning",	    rules != NULL ? "--fault" : NULL,
			     rules,	    NULL};

	program_path("rnicd", program);
	snprintf(ready, sizeof(ready), "%d", ready_fd);
	if (log >= 0)
		dup2(log, STDERR_FILENO);
	child_execute(arguments, parent);
}

/* The last line of the log says why a daemon did not start. */
static void host_say_reason(const struct trace_host *host)
{
	char line[512] = "", next[512];
	FILE *log = fopen(host->log, "re");

	while (log != NULL && fgets(next, sizeof(next), log) != NULL)
		memcpy(line, next, sizeof(line));
	if (log != NULL)
		fclose(log);
	line[strcspn(line, "\n")] = '\0';
	lab_say("no host at %s: %s", host->address, line[0] != '\0' ? line : "rnicd says nothing");
}

/* -ECHILD: the daemon ended instead. */
static int host_await(int ready_fd, struct lab_watch *watch)
{
	char byte;
	const int result = lab_wait(watch, ready_fd, POLLIN, lab_deadline_ns(START_SECONDS));

	return result == 0 && read(ready_fd, &byte, 1) != 1 ? -ECHILD : result;
}

static int host_start(struct trace_host *host, char *rules, struct lab_watch *watch)
{
	const pid_t parent = getpid();
	int ready[2], result;

	if (pipe2(ready, O_CLOEXEC) != 0)
		return -errno;
	host->pid = fork();
	if (host->pid == 0) {
		fcntl(ready[1], F_SETFD, 0);
		host_execute(host, rules, ready[1], parent);
	}
	close(ready[1]);
	if (host->pid < 0) {
		host->pid = 0;
		result = -EAGAIN;
		lab_say("there is no process for a host");
	} else {
		result = host_await(ready[0], watch);
	}
	close(ready[0]);
	return result;
}

static void host_reap(struct trace_host *host)
{
	if (host->pid != 0)
		child_reap(host->pid);
	host->pid = 0;
}

/*
 * Another trace may take an address between the check and the start, or have it for a moment for a
 * check of its own: then another attempt follows.
 */
static int host_start_somewhere(struct trace_host *host, uint32_t *number, char *rules,
				struct lab_watch *watch)
{
	int result;

	for (int failures = 0;;) {
		result = host_find_address(host, number);
		if (result != 0)
			return result;
		result = host_start(host, rules, watch);
		if (result != -ECHILD)
			break;
		host_reap(host);
		if (host_is_free(*number) && failures++ > 0)
			break;
	}
	if (result == -ECHILD || result == -ETIMEDOUT)
		host_say_reason(host);
	++*number;
	return result;
}

int trace_hosts_start(struct trace_hosts *hosts, const struct lab_options *options,
		      struct lab_watch *watch)
{
	uint32_t number = HOST_FIRST;
	char *rules = NULL;
	int result;

	*hosts = (struct trace_hosts){0};
	result = options->fault != NULL ? trace_fault_for_receivers(options->fault, &rules) : 0;
	if (result == 0)
		result = hosts_find_places(hosts, options->captures);
	for (enum trace_side side = 0; side < TRACE_SIDES && result == 0; side++)
		result = host_start_somewhere(&hosts->of[side], &number, rules, watch);
	free(rules);
	return result;
}

void trace_hosts_stop(struct trace_hosts *hosts)
{
	for (enum trace_side side = 0; side < TRACE_SIDES; side++) {
		if (hosts->of[side].pid != 0)
			kill(hosts->of[side].pid, SIGTERM);
	}
	for (enum trace_side side = 0; side < TRACE_SIDES; side++)
		host_reap(&hosts->of[side]);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	remove(path);
	return 0;
}

/* A daemon that a signal met at its start leaves its socket. */
void trace_hosts_end(struct trace_hosts *hosts)
{
	trace_hosts_stop(hosts);
	if (hosts->directory[0] != '\0')
		nftw(hosts->directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- the lesson ---- */

/* In a child: rnic-run, and below it this program with its own arguments and one more. */
__attribute__((noreturn)) static void lesson_execute(const struct trace_hosts *hosts, char **own,
						     int fd, pid_t parent)
{
	char launcher[PATH_MAX], program[PATH_MAX], inside[32];
	char *const first[] = {launcher,   "--no-daemon",
			       "--socket", (char *)hosts->of[TRACE_A].socket,
			       "--socket", (char *)hosts->of[TRACE_B].socket,
			       program,	   inside};
	const size_t first_count = RNIC_COUNT_OF(first);
	char **arguments;
	size_t count = 0;

	program_path("rnic-run", launcher);
	program_path("rnic-lab", program);
	snprintf(inside, sizeof(inside), "--inside=%d", fd);
	while (own[count] != NULL)
		count++;
	arguments = calloc(first_count + count, sizeof(*arguments));
	if (arguments == NULL)
		_exit(STATUS_NO_START);
	memcpy(arguments, first, sizeof(first));
	memcpy(arguments + first_count, own + 1, (count - 1) * sizeof(*own));
	fcntl(fd, F_SETFD, 0);
	child_execute(arguments, parent);
}

/* Waits for the child; a signal ends both. */
static int lesson_wait(pid_t pid, struct lab_watch *watch)
{
	int status = 0, result = -ETIMEDOUT;

	while (result == -ETIMEDOUT) {
		if (waitpid(pid, &status, WNOHANG) != 0)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
		result = lab_wait(watch, -1, 0, lab_now_ns() + STOP_POLL_NS);
	}
	kill(pid, SIGTERM);
	child_reap(pid);
	return result;
}

int trace_hosts_run(const struct trace_hosts *hosts, char **arguments, int fd,
		    struct lab_watch *watch)
{
	const pid_t parent = getpid();
	const pid_t pid = fork();

	if (pid == 0)
		lesson_execute(hosts, arguments, fd, parent);
	if (pid < 0) {
		lab_say("there is no process for the lesson");
		return -EAGAIN;
	}
	return lesson_wait(pid, watch);
}
