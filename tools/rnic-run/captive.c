/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/captive.h"

#include "lib/client/admin/admin_link.h"
#include "tools/rnic-run/beside_socket.h"
#include "tools/rnic-run/complaint.h"
#include "tools/rnic-run/port_advice.h"
#include "tools/support/device_address.h"
#include "tools/support/install_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	START_TIMEOUT_MS = 15000,
	IDLE_EXIT_S = 5,
	HANG_UP_PAUSE_MS = 20,
	HANG_UPS_MAX = 250,
	DAEMON_ARGUMENTS_MAX = 20,
};

/* ---- a daemon that is already there ---- */

/* Checks that the running daemon has what the options ask for. */
static int check_running(const struct captive_options *options,
			 const struct rnic_show_device *device)
{
	struct rnic_gid wanted;

	if (options->fault) {
		complain("a daemon already runs on %s, and --fault is for a new one; stop it, or "
			 "give another --socket",
			 options->socket);
		return -EBUSY;
	}
	if (options->netdev &&
	    strncmp(options->netdev, device->device.netdev, sizeof(device->device.netdev)) != 0) {
		complain("the daemon that already runs on %s uses %.*s, not %s; give another "
			 "--socket",
			 options->socket, (int)sizeof(device->device.netdev), device->device.netdev,
			 options->netdev);
		return -EBUSY;
	}
	if (!options->address)
		return 0;
	if (device_address_parse(options->address, &wanted) < 0) {
		complain("\"%s\" is not an IP address", options->address);
		return -EINVAL;
	}
	if (!device_address_is_of(device, &wanted)) {
		complain("the daemon that already runs on %s has another address than %s; give "
			 "another "
			 "--socket",
			 options->socket, options->address);
		return -EBUSY;
	}
	return 0;
}

/*
 * Asks the daemon for its device, which is the caller's to free; NULL: it has none. Negative errno
 * with a reason in the link, which is closed.
 */
static int ask_running(const struct captive_options *options, struct admin_link *link,
		       struct rnic_show_device **device)
{
	void *rows = NULL;
	size_t count = 0;
	int error = admin_link_open(link, options->socket, "rnic-run");

	if (error)
		return error;
	error = admin_link_show(link, RNIC_SHOW_DEVICE, sizeof(**device), &rows, &count);
	admin_link_close(link);
	if (error)
		return error;
	*device = count > 0 ? rows : NULL;
	if (count == 0)
		free(rows);
	return 0;
}

/*
 * Returns 0 when a fitting daemon answers, -ENOENT (silently) when none answers, else a negative
 * errno after a complaint.
 */
static int find_running(const struct captive_options *options)
{
	struct rnic_show_device *device;
	struct admin_link link;
	int error = ask_running(options, &link, &device);

	/* A daemon that ends hangs up on its clients, and its socket's path goes a little later. */
	for (int i = 0; i < HANG_UPS_MAX && (error == -ECONNRESET || error == -EPIPE); i++) {
		poll(NULL, 0, HANG_UP_PAUSE_MS);
		error = ask_running(options, &link, &device);
	}
	if (admin_link_is_absence(error))
		return -ENOENT;
	if (error) {
		complain("%s", link.reason);
		return error;
	}
	if (device)
		error = check_running(options, device);
	free(device);
	return error;
}

/* ---- a daemon of our own ---- */

/*
 * Prints the last line that the daemon wrote: it gives the reason for the daemon's end. Says what
 * the user can do about a port that is taken.
 */
static void complain_with_log(const struct captive_options *options, int log_fd, const char *what)
{
	char text[512] = "", advice[PORT_ADVICE_BYTES];
	off_t end = lseek(log_fd, 0, SEEK_END);
	off_t start = end > (off_t)sizeof(text) - 1 ? end - ((off_t)sizeof(text) - 1) : 0;
	ssize_t length = pread(log_fd, text, sizeof(text) - 1, start);
	char *line;

	while (length > 0 && text[length - 1] == '\n')
		length--;
	text[length > 0 ? length : 0] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	port_advice(line, advice);
	complain("%s: %s%s (log: %s.log)", what, line[0] ? line : "it wrote nothing", advice,
		 options->socket);
}

static void captive_fill_arguments(const struct captive_options *options, char *program,
				   const char *arguments[DAEMON_ARGUMENTS_MAX], char numbers[2][16],
				   int ready_fd)
{
	size_t count = 0;

	snprintf(numbers[0], sizeof(numbers[0]), "%d", IDLE_EXIT_S);
	snprintf(numbers[1], sizeof(numbers[1]), "%d", ready_fd);
	arguments[count++] = program;
	arguments[count++] = "--socket";
	arguments[count++] = options->socket;
	arguments[count++] = "--exit-when-idle";
	arguments[count++] = numbers[0];
	arguments[count++] = "--ready-fd";
	arguments[count++] = numbers[1];
	/* Who types sudo rnic-run has not asked for a device of all users. */
	if (geteuid() == 0) {
		arguments[count++] = "--socket-mode";
		arguments[count++] = "0600";
	}
	if (options->netdev) {
		arguments[count++] = "--netdev";
		arguments[count++] = options->netdev;
	}
	if (options->address) {
		arguments[count++] = "--address";
		arguments[count++] = options->address;
	}
	if (options->fault) {
		arguments[count++] = "--fault";
		arguments[count++] = options->fault;
	}
	arguments[count] = NULL;
}

/* In the grandchild: becomes the daemon, apart from the terminal and process group of rnic-run. */
static _Noreturn void become_daemon(const char *program, const char *const *arguments, int log_fd,
				    int ready_fd)
{
	int null_fd = open("/dev/null", O_RDONLY);
	static const char message[] = "cannot execute rnicd\n";

	if (null_fd >= 0)
		dup2(null_fd, STDIN_FILENO);
	dup2(log_fd, STDOUT_FILENO);
	dup2(log_fd, STDERR_FILENO);
	fcntl(ready_fd, F_SETFD, 0);
	if (chdir("/") == 0)
		execv(program, (char *const *)arguments);
	if (write(log_fd, message, sizeof(message) - 1) < 0)
		_exit(126);
	_exit(127);
}

/*
 * Forks twice, so that the daemon is not a child of this process: the command that replaces
 * rnic-run must not find a child that it never made.
 */
static int spawn(const char *program, const char *const *arguments, int log_fd, int ready_fd)
{
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		become_daemon(program, arguments, log_fd, ready_fd);
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

/* An operator who stopped a daemon learns here that there is one again. */
static void captive_announce(const struct captive_options *options)
{
	complain("no rnicd answered on %s: started one%s, which ends %d s after its last program "
		 "(log: %s.log)",
		 options->socket, geteuid() == 0 ? " for root alone" : "", IDLE_EXIT_S,
		 options->socket);
}

/* A ready daemon writes to its end of the pipe. The end closes when the daemon ends. */
static int wait_until_ready(const struct captive_options *options, int ready_fd, int log_fd)
{
	struct pollfd ready = {.fd = ready_fd, .events = POLLIN};
	char byte;
	int count;

	do
		count = poll(&ready, 1, START_TIMEOUT_MS);
	while (count < 0 && errno == EINTR);
	if (count == 0) {
		complain_with_log(options, log_fd, "rnicd did not become ready");
		return -ETIMEDOUT;
	}
	if (count < 0 || read(ready_fd, &byte, 1) != 1) {
		complain_with_log(options, log_fd, "rnicd did not start");
		return -ECHILD;
	}
	return 0;
}

static int start_daemon(const struct captive_options *options)
{
	const char *arguments[DAEMON_ARGUMENTS_MAX];
	char program[PATH_MAX], numbers[2][16];
	int ready[2], log_fd, error;

	error = install_tree_daemon(program);
	if (error) {
		complain("no rnicd beside this program; start one on %s yourself", options->socket);
		return error;
	}
	log_fd = beside_socket_open(options->socket, ".log", O_RDWR | O_APPEND);
	if (log_fd < 0)
		return log_fd;
	if (ftruncate(log_fd, 0) < 0 || pipe2(ready, O_CLOEXEC) < 0) {
		error = -errno;
		complain("cannot make a log and a pipe: %s", strerror(errno));
		goto close_log;
	}
	captive_fill_arguments(options, program, arguments, numbers, ready[1]);
	error = spawn(program, arguments, log_fd, ready[1]);
	close(ready[1]);
	if (error)
		complain("cannot fork: %s", strerror(-error));
	else
		error = wait_until_ready(options, ready[0], log_fd);
	if (!error)
		captive_announce(options);
	close(ready[0]);
close_log:
	close(log_fd);
	return error;
}

int captive_ensure_daemon(const struct captive_options *options)
{
	int error = find_running(options);
	int lock_fd;

	if (error != -ENOENT)
		return error;
	if (!options->may_start) {
		complain("no rnicd answers on %s; start one there: rnicd --socket %s",
			 options->socket, options->socket);
		return error;
	}
	error = beside_socket_prepare(options->socket);
	if (error)
		return error;
	lock_fd = beside_socket_open(options->socket, ".lock", O_RDWR);
	if (lock_fd < 0)
		return lock_fd;
	while (flock(lock_fd, LOCK_EX) < 0 && errno == EINTR)
		;
	error = find_running(options);
	if (error == -ENOENT)
		error = start_daemon(options);
	close(lock_fd);
	return error;
}
