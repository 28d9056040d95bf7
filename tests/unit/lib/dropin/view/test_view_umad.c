/* SPDX-License-Identifier: MIT */
/*
 * What the shim says on standard error, and that it says nothing to a file that has descriptor 2 by
 * chance. Each case is a process of its own, this program again, which begins with a pipe as its
 * standard error.
 */
#include "lib/dropin/view/view_path.h"

#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define UMAD_FILE "/sys/class/infiniband_mad/abi_version"
#define TEXT_MAX  1024

/* ---- the process of a case ---- */

/* Puts a file of the program in the place of standard error. Returns another descriptor of it. */
static int reuse_descriptor(void)
{
	const int fd = memfd_create("data", MFD_CLOEXEC);

	if (fd < 0 || close(STDERR_FILENO) < 0 || dup(fd) != STDERR_FILENO)
		_exit(EXIT_FAILURE);
	return fd;
}

/* Returns the exit status: whether what the program has at descriptor 2 is as it was. */
static int run_case(const char *name)
{
	int fd = -1;

	if (strcmp(name, "reused") == 0)
		fd = reuse_descriptor();
	else if (strcmp(name, "closed") == 0)
		close(STDERR_FILENO);
	errno = ENOTTY;
	rnic_view_explain_umad("/sys/class/infiniband_mad/other");
	rnic_view_explain_umad(UMAD_FILE);
	rnic_view_explain_umad(UMAD_FILE);
	if (errno != ENOTTY || (fd >= 0 && lseek(fd, 0, SEEK_END) != 0))
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

/* Runs a case, and stores what came through the pipe. */
static void observe(const char *name, char said[TEXT_MAX])
{
	size_t used = 0;
	ssize_t part;
	int ends[2], status;
	pid_t child;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		execl("/proc/self/exe", "test_view_umad", name, NULL);
		_exit(127);
	}
	close(ends[1]);
	while ((part = read(ends[0], said + used, TEXT_MAX - 1 - used)) > 0)
		used += (size_t)part;
	said[used] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---- tests ---- */

static void test_said_once(void **state)
{
	char said[TEXT_MAX];

	(void)state;
	observe("kept", said);
	assert_ptr_equal(strstr(said, "rnic-run: this tool sends management datagrams"), said);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void test_no_standard_error(void **state)
{
	static const char *const names[] = {"reused", "closed"};
	char said[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		observe(names[i], said);
		assert_string_equal(said, "");
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_said_once),
		cmocka_unit_test(test_no_standard_error),
	};

	if (argc > 1)
		return run_case(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
