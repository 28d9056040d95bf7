/* SPDX-License-Identifier: MIT */
#include "lib/client/native/explain_hook.h"

#include "proto/base/bits.h"

#include <rnic/rnic.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	EXPLAIN_SOCKETS_MAX = 4,
	EXPLAIN_PID_BYTES = 12,
	EXPLAIN_WAIT_NS = 5000000,
	EXPLAIN_WAITS_MAX = 600
};

/*
 * All that a handler needs, made before: a handler may run in the middle of malloc(). The sockets
 * are written under the lock; a handler reads those that are counted.
 */
static struct {
	pthread_once_t once;
	pthread_mutex_t lock;
	bool is_set;
	char rnicctl[PATH_MAX];
	char file[PATH_MAX]; /* "": standard error */
	char sockets[EXPLAIN_SOCKETS_MAX][RNIC_SOCKET_PATH_BYTES];
	_Atomic uint32_t socket_count;
	_Atomic bool is_under_way; /* in one thread; others wait for the end of the program */
	_Atomic bool is_done;
} hook = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- at the end ---- */

static void explain_write_pid(char text[EXPLAIN_PID_BYTES])
{
	char digits[EXPLAIN_PID_BYTES];
	unsigned pid = (unsigned)getpid();
	int count = 0;

	for (; pid != 0; pid /= 10)
		digits[count++] = (char)('0' + pid % 10);
	for (int i = 0; i < count; i++)
		text[i] = digits[count - 1 - i];
	text[count] = '\0';
}

/* Opens where rnicctl writes. A file that has a name is not that of rnic-run. */
static int explain_open_output(void)
{
	struct stat status;
	int fd;

	if (hook.file[0] == '\0')
		return STDERR_FILENO;
	fd = open(hook.file, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0
		       ? fd
		       : -1;
}

/* In the child: becomes rnicctl. */
static void explain_become_rnicctl(char *const arguments[])
{
	static char *const environment[] = {NULL};
	const int output = explain_open_output();
	const int nothing = open("/dev/null", O_RDWR);

	if (output < 0 || nothing < 0 || dup2(output, STDOUT_FILENO) < 0 ||
	    dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
		return;
	rnic_explain_bound();
	execve(arguments[0], arguments, environment);
}

/* Calls only what a signal handler may call. */
static void explain_now(void)
{
	char *arguments[4 + 2 * EXPLAIN_SOCKETS_MAX + 1] = {hook.rnicctl, "explain", "--pid"};
	char pid[EXPLAIN_PID_BYTES];
	const uint32_t sockets = hook.socket_count;
	uint32_t count = 4;
	pid_t child;

	explain_write_pid(pid);
	for (uint32_t i = 0; i < sockets; i++) {
		arguments[count++] = "--socket";
		arguments[count++] = hook.sockets[i];
	}
	arguments[3] = pid;
	arguments[count] = NULL;
	child = _Fork();
	if (child == 0) {
		explain_become_rnicctl(arguments);
		_exit(EXIT_FAILURE);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

/*
 * Waits for the thread that explains. A program may call exit() in two threads at once, and the
 * second one leaves out the handler that the first one is in; or a time-out sends a signal to a
 * program and to the program's group. The bound is for a child that was forked meanwhile.
 */
static void explain_await(void)
{
	static const struct timespec while_waiting = {.tv_nsec = EXPLAIN_WAIT_NS};

	for (int waits = 0; waits < EXPLAIN_WAITS_MAX && !hook.is_done; waits++)
		nanosleep(&while_waiting, NULL);
}

static void explain_once(void)
{
	if (atomic_exchange(&hook.is_under_way, true)) {
		explain_await();
		return;
	}
	explain_now();
	hook.is_done = true;
}

/* A signal that comes meanwhile to this thread ends the program afterwards. */
static void explain_exit(int status, void *context)
{
	sigset_t all, before;

	(void)context;
	if (status == 0)
		return;
	/* Not fflush(NULL), which waits for a thread that reads from a terminal. */
	if (hook.file[0] == '\0')
		fflush_unlocked(stdout);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	explain_once();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void __attribute__((destructor)) explain_await_other_thread(void)
{
	if (hook.is_under_way)
		explain_await();
}

/* Ends the program by the signal, after the explanation. */
static void explain_signal(int number)
{
	explain_once();
	signal(number, SIG_DFL);
	raise(number);
}

/* ---- while the first device opens ---- */

/* Finds the program on the PATH, as execvp(3) does. */
static bool explain_find(const char *name)
{
	const char *path = getenv("PATH");
	size_t length;

	for (; path != NULL && path[0] != '\0'; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		if (path[0] == '/' &&
		    snprintf(hook.rnicctl, sizeof(hook.rnicctl), "%.*s/%s", (int)length, path,
			     name) < (int)sizeof(hook.rnicctl) &&
		    access(hook.rnicctl, X_OK) == 0)
			return true;
	}
	return false;
}

/* Takes the value of the variable; false: nothing is asked for, or rnicctl is nowhere. */
static bool explain_read_variable(const char *value)
{
	const char *colon;

	if (value == NULL || value[0] != '/')
		return value != NULL && strcmp(value, "1") == 0 && explain_find("rnicctl");
	colon = strchrnul(value, ':');
	return snprintf(hook.rnicctl, sizeof(hook.rnicctl), "%.*s", (int)(colon - value), value) <
		       (int)sizeof(hook.rnicctl) &&
	       snprintf(hook.file, sizeof(hook.file), "%s", colon[0] != '\0' ? colon + 1 : "") <
		       (int)sizeof(hook.file);
}

/* Handlers outlive a dlclose() of this library, so the library stays. */
static bool explain_stay_loaded(void)
{
	Dl_info own;

	return dladdr((void *)explain_now, &own) != 0 && own.dli_fname != NULL &&
	       dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}

static void explain_set(void)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGALRM, SIGTERM, SIGABRT};
	struct sigaction ours = {.sa_handler = explain_signal};
	struct sigaction theirs;

	if (!explain_read_variable(secure_getenv("RNIC_EXPLAIN")) || !explain_stay_loaded() ||
	    on_exit(explain_exit, NULL) != 0)
		return;
	hook.is_set = true;
	sigfillset(&ours.sa_mask);
	for (unsigned i = 0; i < RNIC_COUNT_OF(signals); i++)
		if (sigaction(signals[i], NULL, &theirs) == 0 && theirs.sa_handler == SIG_DFL)
			sigaction(signals[i], &ours, NULL);
}

void rnic_explain_hook_set(const char *socket_path)
{
	char usual[RNIC_SOCKET_PATH_BYTES];
	bool is_known = false;
	uint32_t count;

	pthread_once(&hook.once, explain_set);
	if (!hook.is_set || (socket_path == NULL && rnic_default_socket_path(usual) != 0))
		return;
	socket_path = socket_path != NULL ? socket_path : usual;
	pthread_mutex_lock(&hook.lock);
	count = hook.socket_count;
	for (uint32_t i = 0; i < count; i++)
		is_known |= strcmp(hook.sockets[i], socket_path) == 0;
	if (!is_known && count < EXPLAIN_SOCKETS_MAX) {
		snprintf(hook.sockets[count], RNIC_SOCKET_PATH_BYTES, "%s", socket_path);
		hook.socket_count = count + 1;
	}
	pthread_mutex_unlock(&hook.lock);
}
