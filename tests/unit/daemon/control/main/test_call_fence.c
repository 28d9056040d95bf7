/* SPDX-License-Identifier: MIT */
/* The fence around the control plane: what it refuses, and what still works. */
#include "daemon/control/main/call_fence.h"

#include "daemon/control/supervisor/device_launch.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *program; /* the one that may be executed: ends with status 0 */

/* Runs `call` in a child process behind the fence. Returns the child's exit status. */
static int run_fenced(int (*call)(void), bool allows_uring)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    call_fence_install(program, allows_uring) != 0)
			_exit(77);
		_exit(call() == 0 ? 0 : errno);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int call_ptrace(void)
{
	return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int call_mount(void)
{
	return mount("none", "/mnt", "tmpfs", 0, NULL);
}

static int call_unshare(void)
{
	return unshare(CLONE_NEWUSER);
}

static int call_shell(void)
{
	return execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
}

/* The right path at another address, which whoever took the process over could write anew. */
static int call_same_text(void)
{
	char text[64];

	snprintf(text, sizeof(text), "%s", program);
	return execl(text, text, (char *)NULL);
}

/* A shell at the descriptor of the program, which was closed for that. */
static int call_other_descriptor(void)
{
	const int kept = atoi(strrchr(program, '/') + 1);
	const int shell = open("/bin/sh", O_PATH);

	close(kept);
	if (shell < 0 || dup2(shell, kept) >= 0 || fcntl(shell, F_DUPFD, kept) >= 0)
		return 0;
	while (open("/bin/sh", O_PATH) >= 0)
		;
	if (errno != EMFILE)
		return 0;
	return execl(program, program, "-c", "exit 0", (char *)NULL);
}

static int call_execveat(void)
{
	char *const none[] = {NULL};

	return (int)syscall(SYS_execveat, -1, program, none, none, 0);
}

static int call_uring(void)
{
	/* EFAULT where the kernel has io_uring, and ENOSYS or EPERM of another filter where not. */
	return syscall(SYS_io_uring_setup, 8, NULL) < 0 && errno == EFAULT ? 0 : -1;
}

static int call_program(void)
{
	return execl(program, program, (char *)NULL);
}

/* As the control plane starts device processes. */
static int call_spawn(void)
{
	char *const arguments[] = {(char *)program, NULL};
	int status;
	pid_t pid;

	errno = posix_spawn(&pid, program, NULL, NULL, arguments, environ);
	if (errno != 0)
		return -1;
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static void test_what_is_refused(void **state)
{
	int (*const calls[])(void) = {call_ptrace,    call_mount,    call_unshare, call_shell,
				      call_same_text, call_execveat, call_uring};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		assert_int_equal(run_fenced(calls[i], false), EPERM);
}

/* The text is right, and stands for the program alone. */
static void test_the_descriptor_is_the_program(void **state)
{
	(void)state;
	assert_int_equal(run_fenced(call_other_descriptor, false), ENOENT);
}

static void test_the_program_is_executed(void **state)
{
	(void)state;
	assert_int_equal(run_fenced(call_program, false), 0);
	assert_int_equal(run_fenced(call_spawn, false), 0);
}

/* The fence itself takes io_uring from --port socket alone. */
static void test_uring_where_wanted(void **state)
{
	(void)state;
	if (call_uring() != 0) {
		print_message("skipped: this machine has no io_uring\n");
		skip();
	}
	assert_int_equal(run_fenced(call_uring, true), 0);
}

/* Nobody writes another path where the fence lets execute. */
static void test_the_path_is_sealed(void **state)
{
	void *page = (void *)((uintptr_t)program & ~(uintptr_t)4095);

	(void)state;
	if (mprotect(page, 4096, PROT_READ) == 0) {
		print_message("skipped: this kernel has no mseal\n");
		skip();
	}
	assert_int_equal(errno, EPERM);
	assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_WRITE), -1);
	assert_int_equal(munmap(page, 4096), -1);
	assert_ptr_equal(mmap(page, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 MAP_FAILED);
}

static int seal_program(void **state)
{
	char reason[128];

	(void)state;
	return device_launch_keep("/bin/true", &program, reason, sizeof(reason));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_the_descriptor_is_the_program),
		cmocka_unit_test(test_the_program_is_executed),
		cmocka_unit_test(test_uring_where_wanted),
		cmocka_unit_test(test_the_path_is_sealed),
	};

	return cmocka_run_group_tests(tests, seal_program, NULL);
}
