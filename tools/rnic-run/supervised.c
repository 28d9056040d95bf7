/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/supervised.h"

#include "lib/wait/clock.h"
#include "proto/base/bits.h"
#include "tools/rnic-run/complaint.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

static sigset_t waited_for;
static sigset_t before;

void supervised_prepare(void)
{
	sigemptyset(&waited_for);
	sigaddset(&waited_for, SIGCHLD);
	for (size_t i = 0; i < RNIC_COUNT_OF(passed_on); i++)
		sigaddset(&waited_for, passed_on[i]);
	sigprocmask(SIG_BLOCK, &waited_for, &before);
	/* An ignored one, as below nohup, would not say that the command has ended. */
	signal(SIGCHLD, SIG_DFL);
}

static _Noreturn void supervised_child(const struct supervised_options *options)
{
	int error;

	if (options->limit_ns != 0)
		setpgid(0, 0);
	if (options->output_fd >= 0) {
		dup2(options->output_fd, STDOUT_FILENO);
		dup2(options->output_fd, STDERR_FILENO);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	execvp(options->command[0], options->command);
	error = errno;
	complain("%s: %s", options->command[0], strerror(error));
	_exit(error == ENOENT ? 127 : 126);
}

/* What a terminal sends has reached the command, too, where both are in one process group. */
static void supervised_pass_on(const struct supervised_options *options, const siginfo_t *info,
			       pid_t pid)
{
	if (options->limit_ns != 0)
		kill(-pid, info->si_signo);
	else if (info->si_code != SI_KERNEL)
		kill(pid, info->si_signo);
}

/* Waits for the next signal, at most until `end_ns`. Returns its number, or 0: it is late. */
static int wait_for_signal(uint64_t end_ns, siginfo_t *info)
{
	const uint64_t now_ns = clock_now_ns();
	const uint64_t rest_ns = end_ns > now_ns ? end_ns - now_ns : 0;
	const struct timespec rest = {
		.tv_sec = (time_t)(rest_ns / NS_PER_S),
		.tv_nsec = (long)(rest_ns % NS_PER_S),
	};
	int number;

	do
		number = end_ns == 0 ? sigwaitinfo(&waited_for, info)
				     : sigtimedwait(&waited_for, info, &rest);
	while (number < 0 && errno == EINTR);
	return number < 0 ? 0 : number;
}

static void wait_for_end(const struct supervised_options *options, pid_t pid, uint64_t began_ns,
			 struct supervised_end *end)
{
	const uint64_t limit_ns = options->limit_ns != 0 ? began_ns + options->limit_ns : 0;
	siginfo_t info;

	while (waitpid(pid, &end->status, WNOHANG) == 0) {
		const int number = wait_for_signal(end->was_late ? 0 : limit_ns, &info);

		if (number == 0) {
			end->was_late = true;
			kill(-pid, SIGKILL);
		} else if (number != SIGCHLD) {
			supervised_pass_on(options, &info, pid);
			if (number != SIGUSR1 && number != SIGUSR2)
				end->signal = number;
		}
	}
}

int supervised_run(const struct supervised_options *options, struct supervised_end *end)
{
	const uint64_t began_ns = clock_now_ns();
	const pid_t pid = fork();

	*end = (struct supervised_end){0};
	if (pid < 0) {
		complain("cannot fork: %s", strerror(errno));
		return -EAGAIN;
	}
	if (pid == 0)
		supervised_child(options);
	if (options->limit_ns != 0)
		setpgid(pid, pid);
	wait_for_end(options, pid, began_ns, end);
	end->duration_ns = clock_now_ns() - began_ns;
	if (options->limit_ns != 0)
		kill(-pid, SIGKILL); /* what the command left running */
	return 0;
}

void supervised_exit(int status)
{
	static const struct rlimit no_core = {0};

	if (!WIFSIGNALED(status))
		exit(WEXITSTATUS(status));
	/* Whoever waits for rnic-run learns of the signal. The core is the command's. */
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	raise(WTERMSIG(status));
	exit(128 + WTERMSIG(status));
}
