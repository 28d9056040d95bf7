/* SPDX-License-Identifier: MIT */
/* Directories where the socket of root is safe, and others. */
#include "daemon/control/server/socket_directory.h"

#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define STRANGER 31001

static char top[PATH_MAX], own[PATH_MAX], inner[PATH_MAX], link_path[PATH_MAX];

/* In /tmp, which is for everybody, and sticky: top/own/inner. */
static int set_up(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/rnic-directory-XXXXXX");
	if (mkdtemp(top) == NULL)
		return -1;
	snprintf(own, sizeof(own), "%.64s/own", top);
	snprintf(inner, sizeof(inner), "%.64s/own/inner", top);
	snprintf(link_path, sizeof(link_path), "%.64s/link", top);
	return mkdir(own, 0755) == 0 && mkdir(inner, 0755) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(link_path);
	return rmdir(inner) == 0 && rmdir(own) == 0 && rmdir(top) == 0 ? 0 : -1;
}

/* The sentence names the directory that was asked for. */
static int check(const char *directory)
{
	char reason[512] = "";
	int result = socket_directory_check(directory, reason, sizeof(reason));

	if (result != 0)
		assert_non_null(strstr(reason, directory));
	return result;
}

static void chown_to(const char *path, uid_t uid)
{
	assert_int_equal(lchown(path, uid, (gid_t)-1), 0);
}

static void require_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skipped: only root can make directories of other users\n");
	skip();
}

static void test_own_directories(void **state)
{
	(void)state;
	assert_int_equal(check(inner), 0);
	assert_int_equal(check("/"), 0);
	assert_int_equal(chdir(own), 0);
	assert_int_equal(check("inner"), 0);
	assert_int_equal(check("."), 0);
	assert_int_equal(check("../own//inner/"), 0);
	assert_int_equal(chdir("/"), 0);
}

static void test_directories_for_others(void **state)
{
	static const mode_t modes[] = {0775, 0757, 0777, 01777};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		assert_int_equal(chmod(inner, modes[i]), 0);
		assert_int_equal(check(inner), -EPERM);
	}
}

static void test_a_way_through_a_directory_for_others(void **state)
{
	char reason[512], file[PATH_MAX];

	(void)state;
	assert_int_equal(chmod(own, 0775), 0);
	assert_int_equal(check(inner), -EPERM);
	/* Nobody but its owner renames or removes what is in a sticky one. */
	assert_int_equal(chmod(own, 01777), 0);
	assert_int_equal(check(inner), 0);
	assert_int_equal(socket_directory_check_way(own, reason, sizeof(reason)), 0);
	snprintf(file, sizeof(file), "%.64s/own/file", top);
	assert_int_equal(socket_directory_check_file(file, reason, sizeof(reason)), 0);
	assert_int_equal(chmod(own, 0777), 0);
	assert_int_equal(socket_directory_check_file(file, reason, sizeof(reason)), -EPERM);
	assert_int_equal(chmod(own, 01777), 0);
	assert_int_equal(check(own), -EPERM);
}

static void test_directories_of_a_stranger(void **state)
{
	(void)state;
	require_root();
	chown_to(inner, STRANGER);
	assert_int_equal(check(inner), -EPERM);
	chown_to(inner, 0);
	chown_to(own, STRANGER);
	assert_int_equal(check(inner), -EPERM);
	chown_to(own, 0);
	assert_int_equal(check(inner), 0);
}

static void test_links(void **state)
{
	(void)state;
	assert_int_equal(symlink("own/inner", link_path), 0);
	assert_int_equal(check(link_path), 0);
	assert_int_equal(chmod(inner, 0777), 0);
	assert_int_equal(check(link_path), -EPERM);
	assert_int_equal(chmod(inner, 0755), 0);
	assert_int_equal(unlink(link_path), 0);
	assert_int_equal(symlink("link", link_path), 0);
	assert_int_equal(check(link_path), -ELOOP);
	require_root();
	assert_int_equal(unlink(link_path), 0);
	assert_int_equal(symlink(inner, link_path), 0);
	chown_to(link_path, STRANGER);
	assert_int_equal(check(link_path), -EPERM);
}

static void test_what_is_no_directory(void **state)
{
	(void)state;
	assert_int_equal(check("/nonexistent/directory"), -ENOENT);
	assert_int_equal(check("/etc/passwd"), -ENOTDIR);
	assert_int_equal(check("/etc/passwd/inner"), -ENOTDIR);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_own_directories),
		TEST(test_directories_for_others),
		TEST(test_a_way_through_a_directory_for_others),
		TEST(test_directories_of_a_stranger),
		TEST(test_links),
		TEST(test_what_is_no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
