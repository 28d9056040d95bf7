/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/explained_run.h"

#include "lib/client/native/explain_hook.h"
#include "lib/client/native/socket_list.h"
#include "proto/base/bits.h"
#include "tools/rnic-run/complaint.h"
#include "tools/support/install_tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPLAIN_VARIABLE "RNIC_EXPLAIN"

enum { EXPLAIN_BYTES_MAX = 65536 };

struct explained_run {
	const struct rnic_socket_list *sockets;
	const char *command;
	char rnicctl[PATH_MAX];
	int text_fd; /* a file without a name, for the explanation */
	pid_t child;
};

bool explained_run_is_wanted(void)
{
	const char *value = getenv(EXPLAIN_VARIABLE);

	return value != NULL && strcmp(value, "1") == 0;
}

/* Those that somebody sends to a program to end or to tell it something. */
static void explained_run_signals(sigset_t *signals)
{
	static const int numbers[] = {SIGHUP,  SIGINT,	SIGQUIT, SIGTERM, SIGUSR1,
				      SIGUSR2, SIGALRM, SIGCONT, SIGCHLD};

	sigemptyset(signals);
	for (unsigned i = 0; i < RNIC_COUNT_OF(numbers); i++)
		sigaddset(signals, numbers[i]);
}

/* Passes signals on until the command has ended; returns the status of waitpid(2). */
static int explained_run_wait(const struct explained_run *run, const sigset_t *signals)
{
	siginfo_t info;
	int status;

	for (;;) {
		const int number = sigwaitinfo(signals, &info);

		if (number == SIGCHLD && waitpid(run->child, &status, WNOHANG) == run->child)
			return status;
		/* The kernel's own, of a terminal, go to the whole process group. */
		if (number > 0 && number != SIGCHLD && info.si_code <= 0)
			kill(run->child, number);
	}
}

/* In a child: asks rnicctl what is known of the command that has ended. */
static _Noreturn void explained_run_become_rnicctl(const struct explained_run *run)
{
	const char *arguments[4 + 2 * RNIC_SOCKETS_MAX + 1] = {run->rnicctl, "explain", "--pid"};
	char pid[16];
	unsigned count = 4;

	for (uint32_t i = 0; i < run->sockets->count; i++) {
		arguments[count++] = "--socket";
		arguments[count++] = run->sockets->paths[i];
	}
	snprintf(pid, sizeof(pid), "%d", (int)run->child);
	arguments[3] = pid;
	rnic_explain_bound();
	if (dup2(run->text_fd, STDOUT_FILENO) >= 0 && freopen("/dev/null", "w", stderr) != NULL)
		execv(run->rnicctl, (char *const *)arguments);
	_exit(EXIT_FAILURE);
}

static void explained_run_ask(const struct explained_run *run)
{
	const pid_t asker = fork();

	if (asker == 0)
		explained_run_become_rnicctl(run);
	while (asker > 0 && waitpid(asker, NULL, 0) < 0 && errno == EINTR)
		;
}

static void explained_run_tell(const struct explained_run *run, int status)
{
	static char text[EXPLAIN_BYTES_MAX];
	ssize_t length;

	if (lseek(run->text_fd, 0, SEEK_END) == 0)
		explained_run_ask(run);
	length = pread(run->text_fd, text, sizeof(text), 0);
	if (WIFSIGNALED(status))
		complain("%s (pid %d) ended by signal %d, %s%s", run->command, (int)run->child,
			 WTERMSIG(status), strsignal(WTERMSIG(status)),
			 length > 0 ? "" : "; the device knows of no trouble");
	else
		complain("%s (pid %d) ended with status %d%s", run->command, (int)run->child,
			 WEXITSTATUS(status), length > 0 ? "" : "; the device knows of no trouble");
	if (length > 0)
		fwrite(text, 1, (size_t)length, stderr);
}

/* Ends as the command has ended; a core file is the command's alone. */
static _Noreturn void explained_run_end(int status)
{
	static const struct rlimit no_core;
	sigset_t signals;

	if (!WIFSIGNALED(status))
		_exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&signals);
	sigaddset(&signals, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	raise(WTERMSIG(status));
	_exit(128 + WTERMSIG(status));
}

/* Tells the library in the command where rnicctl is, and what takes the explanation. */
static int explained_run_prepare(struct explained_run *run)
{
	char value[PATH_MAX + 64];
	int error = install_tree_control(run->rnicctl);

	if (error == 0) {
		run->text_fd = memfd_create("rnic-explanation", MFD_CLOEXEC);
		error = run->text_fd < 0 ? -errno : 0;
	}
	if (error == 0) {
		snprintf(value, sizeof(value), "%s:/proc/%d/fd/%d", run->rnicctl, (int)getpid(),
			 run->text_fd);
		error = setenv(EXPLAIN_VARIABLE, value, 1) == 0 ? 0 : -ENOMEM;
	}
	if (error != 0)
		complain("no explanation is possible: %s", strerror(-error));
	return error;
}

int explained_run_fork(const struct rnic_socket_list *sockets, const char *command)
{
	struct explained_run run = {.sockets = sockets, .command = command};
	const pid_t parent = getpid();
	sigset_t signals, before;
	int status;

	if (explained_run_prepare(&run) != 0)
		return -1;
	explained_run_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &before);
	run.child = fork();
	if (run.child < 0) {
		complain("cannot fork: %s", strerror(errno));
		return -1;
	}
	if (run.child == 0) {
		/* Who kills rnic-run means the command. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(EXIT_FAILURE);
		sigprocmask(SIG_SETMASK, &before, NULL);
		return 0;
	}
	status = explained_run_wait(&run, &signals);
	if (status != 0)
		explained_run_tell(&run, status);
	explained_run_end(status);
}
