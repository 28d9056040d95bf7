/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/view_path.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <unistd.h>

#define COPY "/tmp/r.sock.view/sys/class/infiniband/rnic0"

static char buffer[RNIC_VIEW_PATH_BYTES];

static int set_up(void **state)
{
	(void)state;
	unsetenv("RNIC_DISABLE");
	unsetenv("RNIC_VIEW");
	return setenv("RNIC_SOCKET", "/tmp/r.sock", 1);
}

static void test_absolute(void **state)
{
	static const char other[] = "/etc/infiniband.conf";

	(void)state;
	errno = EXDEV;
	assert_string_equal(rnic_view_redirect(AT_FDCWD, "/sys/class/infiniband/rnic0", buffer),
			    COPY);
	/* A descriptor says nothing about an absolute path, even one that is none. */
	assert_string_equal(rnic_view_redirect(-1, "/sys/class/infiniband/rnic0", buffer), COPY);
	assert_ptr_equal(rnic_view_redirect(AT_FDCWD, other, buffer), other);
	assert_null(rnic_view_redirect(AT_FDCWD, NULL, buffer));
	assert_int_equal(errno, EXDEV);
}

static void test_relative(void **state)
{
	static const char relative[] = "class/infiniband/rnic0";
	int fd = open("/sys", O_PATH | O_DIRECTORY);
	char *before = getcwd(NULL, 0);

	(void)state;
	assert_true(fd >= 0);
	assert_non_null(before);
	assert_ptr_equal(rnic_view_redirect(AT_FDCWD, relative, buffer), relative);
	assert_string_equal(rnic_view_redirect(fd, relative, buffer), COPY);
	assert_int_equal(chdir("/sys"), 0);
	assert_string_equal(rnic_view_redirect(AT_FDCWD, relative, buffer), COPY);
	assert_int_equal(chdir(before), 0);
	free(before);
	close(fd);
	errno = EXDEV;
	assert_ptr_equal(rnic_view_redirect(fd, relative, buffer), relative);
	assert_ptr_equal(rnic_view_redirect(-1, relative, buffer), relative);
	assert_int_equal(errno, EXDEV);
}

static void test_environment(void **state)
{
	static const char path[] = "/dev/infiniband/uverbs0";
	char longest[RNIC_VIEW_PATH_BYTES];

	(void)state;
	setenv("RNIC_DISABLE", "1", 1);
	assert_ptr_equal(rnic_view_redirect(AT_FDCWD, path, buffer), path);
	setenv("RNIC_DISABLE", "0", 1);
	assert_ptr_equal(rnic_view_redirect(AT_FDCWD, path, buffer), buffer);
	unsetenv("RNIC_DISABLE");
	for (size_t i = 0; i < sizeof(longest); i++)
		longest[i] = i + 1 < sizeof(longest) ? 'x' : '\0';
	setenv("RNIC_SOCKET", longest, 1);
	assert_ptr_equal(rnic_view_redirect(AT_FDCWD, path, buffer), path);
	unsetenv("RNIC_SOCKET");
	assert_ptr_equal(rnic_view_redirect(AT_FDCWD, path, buffer), path);
}

/* A program with several devices has a view of all of them. */
static void test_view_of_several(void **state)
{
	static const char path[] = "/sys/class/infiniband/rnic1";

	(void)state;
	setenv("RNIC_SOCKET", "/tmp/a.sock:/tmp/b.sock", 1);
	setenv("RNIC_VIEW", "/tmp/v", 1);
	assert_string_equal(rnic_view_redirect(AT_FDCWD, path, buffer),
			    "/tmp/v/sys/class/infiniband/rnic1");
	setenv("RNIC_VIEW", "", 1);
	assert_string_equal(rnic_view_redirect(AT_FDCWD, path, buffer),
			    "/tmp/a.sock:/tmp/b.sock.view/sys/class/infiniband/rnic1");
	unsetenv("RNIC_VIEW");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_absolute, set_up),
		cmocka_unit_test_setup(test_relative, set_up),
		cmocka_unit_test_setup(test_environment, set_up),
		cmocka_unit_test_setup(test_view_of_several, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
