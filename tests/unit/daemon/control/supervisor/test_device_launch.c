/* SPDX-License-Identifier: MIT */
/* The program started here is a shell, which finds the link as a descriptor of its own. */
#include "daemon/control/supervisor/device_launch.h"

#include "daemon/shared/link/process_link.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const script_path = "rnic-test-device-launch.sh";

#define OTHER_FD 200 /* above what the test may have inherited */

/* A program that waits for the end of the link and then tells by its status what it found. */
static void write_script(void)
{
	FILE *file = fopen(script_path, "w");

	assert_non_null(file);
	fputs("#!/bin/sh\n"
	      "[ -e /proc/self/fd/3 ] || exit 2\n"
	      "[ -e /proc/self/fd/200 ] && exit 3\n"
	      "for fd in 0 1; do\n"
	      "    [ \"$(readlink /proc/$$/fd/$fd)\" = /dev/null ] || exit 6\n"
	      "done\n"
	      "echo a line >&2\n"
	      "kill -STOP $$\n"
	      "[ \"$(ulimit -c)\" = 0 ] || exit 4\n"
	      "[ \"$(cat /proc/self/oom_score_adj)\" -ge 300 ] || exit 5\n"
	      "exit 42\n",
	      file);
	fclose(file);
	assert_int_equal(chmod(script_path, 0700), 0);
}

static void test_start(void **state)
{
	int fds[2], log_fds[2], pid_fd = -1, status, null_fd;
	char line[16] = "";
	pid_t pid;

	(void)state;
	write_script();
	assert_int_equal(process_link_open(fds), 0);
	assert_int_equal(pipe2(log_fds, O_CLOEXEC), 0);
	null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(dup3(null_fd, OTHER_FD, O_CLOEXEC), OTHER_FD);
	assert_int_equal(device_launch_start(script_path, fds[1], log_fds[1], true, &pid, &pid_fd),
			 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	if (WIFSTOPPED(status)) {
		/* The bounds are set by now. */
		kill(pid, SIGCONT);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
	assert_int_equal(read(log_fds[0], line, sizeof(line)), 7);
	assert_string_equal(line, "a line\n");
	if (pid_fd >= 0) {
		struct pollfd end = {.fd = pid_fd, .events = POLLIN};

		assert_int_equal(poll(&end, 1, 0), 1);
		close(pid_fd);
	}
	unlink(script_path);
	close(OTHER_FD);
	close(null_fd);
	close(log_fds[0]);
	close(log_fds[1]);
	close(fds[0]);
	close(fds[1]);
}

static void test_no_program(void **state)
{
	char path[DEVICE_LAUNCH_PATH_BYTES], reason[64];
	int fds[2], pid_fd;
	pid_t pid;

	(void)state;
	assert_int_equal(process_link_open(fds), 0);
	assert_int_equal(
		device_launch_start("/nonexistent/program", fds[1], -1, true, &pid, &pid_fd),
		-ENOENT);
	close(fds[0]);
	close(fds[1]);
	/* The tests' folder has no folder libexec beside it that holds this name. */
	if (device_launch_find(path, reason, sizeof(reason)) != 0)
		assert_true(strncmp(reason, "cannot run the program of device processes", 42) == 0);
	else
		assert_int_equal(access(path, X_OK), 0);
}

/* Neither its folder nor its path is needed any more. */
static void test_a_kept_program(void **state)
{
	const char *const folder = "rnic-test-device-launch";
	const char *const path = "rnic-test-device-launch/true";
	char own[DEVICE_LAUNCH_PATH_BYTES], reason[256];
	int fds[2], pid_fd = -1, status;
	const char *program;
	struct rlimit files;
	pid_t pid;

	(void)state;
	assert_non_null(realpath("/bin/true", own));
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(symlink(own, path), 0);
	assert_int_equal(device_launch_keep(path, &program, reason, sizeof(reason)), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(device_launch_check(program, path, reason, sizeof(reason)), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	assert_true(files.rlim_cur == files.rlim_max &&
		    files.rlim_max <= (rlim_t)atoi(strrchr(program, '/') + 1));
	assert_int_equal(process_link_open(fds), 0);
	assert_int_equal(device_launch_start(program, fds[1], -1, true, &pid, &pid_fd), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(pid_fd);
	close(fds[0]);
	close(fds[1]);
}

static void test_a_program_that_cannot_be_kept(void **state)
{
	const char *program;
	char reason[256];

	(void)state;
	assert_int_equal(device_launch_keep("/nonexistent", &program, reason, sizeof(reason)),
			 -ENOENT);
	assert_string_equal(reason, "cannot keep the program of device processes, /nonexistent: No "
				    "such file or directory");
	close(creat(script_path, 0600));
	assert_int_equal(device_launch_check(script_path, "/a/path", reason, sizeof(reason)),
			 -EACCES);
	unlink(script_path);
	assert_string_equal(reason, "cannot run the program of device processes, /a/path: "
				    "Permission denied; let the daemon's user execute the file "
				    "(chmod a+rx), or start the daemon as the file's owner");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_no_program),
		cmocka_unit_test(test_a_kept_program),
		cmocka_unit_test(test_a_program_that_cannot_be_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
