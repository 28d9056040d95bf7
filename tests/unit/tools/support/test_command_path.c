/* SPDX-License-Identifier: MIT */
#include "tools/support/command_path.h"

#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[] = "/tmp/test_command_path_XXXXXX";

static void make_file(const char *name, mode_t mode)
{
	const int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, mode);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
}

/* The folder has a program, a text and a socket, and a folder bin with a program. */
static int make_folder(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "a.sock"};
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	make_file("hello", 0755);
	make_file("hello.c", 0644);
	assert_int_equal(mkdir("bin", 0755), 0);
	make_file("bin/tool", 0755);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return close(fd);
}

static int remove_folder(void **state)
{
	static const char *const files[] = {"hello", "hello.c", "bin/tool", "a.sock"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(files); i++)
		unlink(files[i]);
	return rmdir("bin") | chdir("/") | rmdir(folder);
}

static void expect(const char *path, const char *command, int error, const char *text)
{
	char found[COMMAND_PATH_TEXT_BYTES] = "";

	assert_int_equal(path != NULL ? setenv("PATH", path, 1) : unsetenv("PATH"), 0);
	assert_int_equal(command_path_check(command, found), error);
	assert_string_equal(found, text);
}

static void test_commands_that_are_there(void **state)
{
	(void)state;
	expect("/nosuch:bin", "tool", 0, "");
	expect("bin:", "hello", 0, "");
	expect(":bin", "hello", 0, "");
	expect(NULL, "sh", 0, "");
	expect("bin", "./hello", 0, "");
	/* They do not run, for a reason that execvp() has. */
	expect("bin", "./hello.c", 0, "");
	expect("bin", "./bin", 0, "");
}

static void test_commands_that_are_not_there(void **state)
{
	(void)state;
	expect("bin", "ib_devinfo", -ENOENT, "there is no command ib_devinfo in the PATH");
	expect("bin", "hello", -ENOENT,
	       "there is no command hello in the PATH; ./hello is in this folder");
	expect("bin", "hello.c", -ENOENT, "there is no command hello.c in the PATH");
	expect("bin", "./nosuch", -ENOENT, "./nosuch: No such file or directory");
	expect("bin", "./hello/x", -ENOTDIR, "./hello/x: Not a directory");
}

static void test_a_socket(void **state)
{
	(void)state;
	expect("bin", "a.sock", -EACCES,
	       "a.sock is a socket, not a command; give it behind --socket");
	expect("bin", "./a.sock", -EACCES,
	       "./a.sock is a socket, not a command; give it behind --socket");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands_that_are_there),
		cmocka_unit_test(test_commands_that_are_not_there),
		cmocka_unit_test(test_a_socket),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
