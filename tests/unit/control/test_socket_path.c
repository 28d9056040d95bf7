/* SPDX-License-Identifier: MIT */
#include "control/socket_path.h"
#include "unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/rnic-place-XXXXXX";
static char path[64];

static int make_directory(void **state)
{
	(void)state;
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/rnicd.sock", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	return rmdir(directory);
}

static void test_stale_socket_is_replaced(void **state)
{
	struct socket_path first, second;
	char reason[SOCKET_PATH_REASON_BYTES];
	int fd;

	(void)state;
	fd = socket_path_listen(path, &first, reason);
	assert_true(fd >= 0);
	close(fd);
	fd = socket_path_listen(path, &second, reason);
	assert_true(fd >= 0);
	/* The end of the first daemon does not remove the socket of the second. */
	if (first.inode != second.inode) {
		socket_path_remove(&first);
		assert_int_equal(access(path, F_OK), 0);
	}
	socket_path_remove(&second);
	assert_int_not_equal(access(path, F_OK), 0);
	close(fd);
}

static void test_live_socket_is_refused(void **state)
{
	struct socket_path place, other;
	char reason[SOCKET_PATH_REASON_BYTES];
	int fd = socket_path_listen(path, &place, reason);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(socket_path_listen(path, &other, reason), -EADDRINUSE);
	assert_non_null(strstr(reason, path));
	socket_path_remove(&place);
	close(fd);
}

static void test_other_files_are_kept(void **state)
{
	struct socket_path place;
	char reason[SOCKET_PATH_REASON_BYTES];
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(socket_path_listen(path, &place, reason), -EADDRINUSE);
	assert_int_equal(unlink(path), 0);
}

static void test_paths_that_cannot_be(void **state)
{
	struct socket_path place;
	char reason[SOCKET_PATH_REASON_BYTES];
	char longest[200];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(socket_path_listen(longest, &place, reason), -ENAMETOOLONG);
	assert_int_equal(socket_path_listen("/nonexistent/rnicd.sock", &place, reason), -ENOENT);
	assert_non_null(strstr(reason, "/nonexistent"));
}

static void test_default_follows_the_environment(void **state)
{
	char found[SOCKET_PATH_PATH_BYTES], reason[SOCKET_PATH_REASON_BYTES];

	(void)state;
	setenv("RNIC_SOCKET", "/chosen.sock", 1);
	assert_int_equal(socket_path_default(found, reason), 0);
	assert_string_equal(found, "/chosen.sock");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stale_socket_is_replaced),
		cmocka_unit_test(test_live_socket_is_refused),
		cmocka_unit_test(test_other_files_are_kept),
		cmocka_unit_test(test_paths_that_cannot_be),
		cmocka_unit_test(test_default_follows_the_environment),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
