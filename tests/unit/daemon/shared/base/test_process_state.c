/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/process_state.h"
#include "tests/unit/unit_test.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a process that stops at once: by its tracer's leave, or by a signal. */
static pid_t start(bool is_traced)
{
	const pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "a) R (b\n");
		if (is_traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(EXIT_FAILURE);
		raise(SIGSTOP);
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Its name, which looks like a state and has an end of line, is not taken for one. */
static void test_stopped(void **state)
{
	const pid_t pid = start(false);
	char found = process_state(pid);
	int status;

	(void)state;
	assert_int_equal(found, PROCESS_STATE_STOPPED);
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, WCONTINUED), pid);
	found = process_state(pid);
	assert_true(found == 'S' || found == 'R');
	end(pid);
	assert_int_equal(process_state(pid), PROCESS_STATE_UNKNOWN);
}

static void test_traced(void **state)
{
	const pid_t pid = start(true);

	(void)state;
	assert_int_equal(process_state(pid), PROCESS_STATE_TRACED);
	end(pid);
}

/* A process of another PID namespace has no number here. */
static void test_no_number(void **state)
{
	(void)state;
	assert_int_equal(process_state(0), PROCESS_STATE_UNKNOWN);
	assert_int_equal(process_state(-1), PROCESS_STATE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_traced),
		cmocka_unit_test(test_no_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
