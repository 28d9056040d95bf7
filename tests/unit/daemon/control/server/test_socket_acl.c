/* SPDX-License-Identifier: MIT */
/* Lists of a socket's file: what they say, what they leave as it was, and what the kernel does. */
#include "daemon/control/server/socket_acl.h"

#include "tests/unit/unit_test.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LIST	 "system.posix_acl_access"
#define ATTACKER 31001
#define OTHER	 31002
#define NOBODY	 UINT32_MAX

static char folder[] = "/tmp/rnic-socket-acl-XXXXXX";
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static const char *const path = address.sun_path;
static int listener = -1;

struct entry {
	uint16_t tag;
	uint16_t rights;
	uint32_t uid;
};

struct list {
	uint32_t version;
	struct entry entries[16];
};

/* What the file system answers for a list; -1: the file's own. */
static ssize_t played_bytes = -1;
static struct list played;

/* The linker puts this function before the real one. */
ssize_t __real_lgetxattr(const char *of, const char *name, void *value, size_t bytes);
ssize_t __wrap_lgetxattr(const char *of, const char *name, void *value, size_t bytes);

ssize_t __wrap_lgetxattr(const char *of, const char *name, void *value, size_t bytes)
{
	if (played_bytes < 0)
		return __real_lgetxattr(of, name, value, bytes);
	memcpy(value, &played, (size_t)played_bytes);
	return played_bytes;
}

static int set_up(void **state)
{
	(void)state;
	listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (bind(listener, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listener, 16) != 0)
		return -1;
	return chmod(path, 0660);
}

static int tear_down(void **state)
{
	(void)state;
	close(listener);
	return unlink(path);
}

static mode_t mode_of_file(void)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_mode & 0777;
}

static bool has_list(void)
{
	return getxattr(path, LIST, NULL, 0) >= 0;
}

static void write_list(const struct entry *entries, size_t count)
{
	struct list list = {.version = htole32(POSIX_ACL_XATTR_VERSION)};

	memcpy(list.entries, entries, count * sizeof(*entries));
	assert_int_equal(
		setxattr(path, LIST, &list, sizeof(list.version) + count * sizeof(*entries), 0), 0);
}

static void check_list(const struct entry *entries, size_t count)
{
	struct list list;
	const ssize_t bytes = getxattr(path, LIST, &list, sizeof(list));

	assert_int_equal(bytes, sizeof(list.version) + count * sizeof(*entries));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(list.entries[i].tag, entries[i].tag);
		assert_int_equal(list.entries[i].rights, entries[i].rights);
		assert_int_equal(list.entries[i].uid, entries[i].uid);
	}
}

/* Nothing here can be tested where the file system has no lists. */
static void require_lists(void)
{
	const int result = socket_acl_bar(path, ATTACKER);

	if (result == -EOPNOTSUPP) {
		print_message("skipped: the file system of /tmp has no access control lists\n");
		skip();
	}
	assert_int_equal(result, 0);
	assert_int_equal(socket_acl_admit(path, ATTACKER, true), 0);
}

static void test_a_list_comes_and_goes(void **state)
{
	const uid_t owner = geteuid();
	const struct entry both[] = {
		{ACL_USER_OBJ, 6, NOBODY}, {ACL_USER, 1, OTHER},       {ACL_USER, 1, ATTACKER},
		{ACL_USER, 1, owner},	   {ACL_GROUP_OBJ, 6, NOBODY}, {ACL_MASK, 6, NOBODY},
		{ACL_OTHER, 0, NOBODY},
	};
	const struct entry one[] = {
		{ACL_USER_OBJ, 6, NOBODY},  {ACL_USER, 1, OTHER},  {ACL_USER, 1, owner},
		{ACL_GROUP_OBJ, 6, NOBODY}, {ACL_MASK, 6, NOBODY}, {ACL_OTHER, 0, NOBODY},
	};

	(void)state;
	require_lists();
	assert_int_equal(socket_acl_bar(path, ATTACKER), 0);
	assert_int_equal(socket_acl_bar(path, OTHER), 0);
	assert_int_equal(socket_acl_bar(path, OTHER), -EALREADY);
	check_list(both, COUNT_OF(both));
	assert_int_equal(mode_of_file(), 0660);
	assert_int_equal(socket_acl_admit(path, ATTACKER, false), 0);
	assert_int_equal(socket_acl_admit(path, ATTACKER, false), 0);
	check_list(one, COUNT_OF(one));
	assert_int_equal(socket_acl_admit(path, OTHER, true), 0);
	assert_false(has_list());
	assert_int_equal(mode_of_file(), 0660);
}

/* An administrator has let users in by a list of the own, and changes the mode meanwhile. */
static void test_an_administrators_list(void **state)
{
	static const struct entry before[] = {
		{ACL_USER_OBJ, 6, NOBODY},  {ACL_USER, 6, ATTACKER}, {ACL_USER, 2, OTHER},
		{ACL_GROUP_OBJ, 4, NOBODY}, {ACL_MASK, 6, NOBODY},   {ACL_OTHER, 0, NOBODY},
	};
	struct entry barred[COUNT_OF(before) + 1];

	(void)state;
	require_lists();
	write_list(before, COUNT_OF(before));
	memcpy(barred + 1, before, sizeof(before));
	barred[0] = before[0];
	barred[1] = (struct entry){ACL_USER, ACL_EXECUTE, geteuid()};
	barred[2].rights = ACL_READ | ACL_EXECUTE;
	assert_int_equal(socket_acl_bar(path, ATTACKER), 0);
	check_list(barred, COUNT_OF(barred));
	assert_int_equal(socket_acl_bar(path, OTHER), -EEXIST);
	check_list(barred, COUNT_OF(barred));
	assert_int_equal(socket_acl_admit_all(path), 0);
	check_list(before, COUNT_OF(before));
}

/* An entry of somebody else that refuses a user is not ours to change, or to take back. */
static void test_a_user_who_is_refused_already(void **state)
{
	static const struct entry list[] = {
		{ACL_USER_OBJ, 6, NOBODY}, {ACL_USER, 4, ATTACKER},  {ACL_USER, 0, OTHER},
		{ACL_USER, 5, OTHER + 1},  {ACL_USER, 1, OTHER + 2}, {ACL_GROUP_OBJ, 4, NOBODY},
		{ACL_MASK, 6, NOBODY},	   {ACL_OTHER, 6, NOBODY},
	};

	(void)state;
	require_lists();
	write_list(list, COUNT_OF(list));
	assert_int_equal(socket_acl_bar(path, ATTACKER), -EALREADY);
	assert_int_equal(socket_acl_bar(path, OTHER), -EALREADY);
	assert_int_equal(socket_acl_bar(path, OTHER + 1), -EALREADY);
	assert_int_equal(socket_acl_admit(path, ATTACKER, true), 0);
	/* There is no sign: "x" comes from the default list of a folder. */
	assert_int_equal(socket_acl_admit_all(path), 0);
	check_list(list, COUNT_OF(list));
}

/* An entry with "x" that a folder's default list made stays without rights, also after a kill. */
static void test_a_default_list_gets_no_rights(void **state)
{
	static const struct entry before[] = {
		{ACL_USER_OBJ, 6, NOBODY},  {ACL_USER, 5, OTHER},  {ACL_USER, 1, OTHER + 1},
		{ACL_GROUP_OBJ, 4, NOBODY}, {ACL_MASK, 6, NOBODY}, {ACL_OTHER, 6, NOBODY},
	};
	static const struct entry after[] = {
		{ACL_USER_OBJ, 6, NOBODY},  {ACL_USER, 4, OTHER},  {ACL_USER, 0, OTHER + 1},
		{ACL_GROUP_OBJ, 4, NOBODY}, {ACL_MASK, 6, NOBODY}, {ACL_OTHER, 6, NOBODY},
	};

	(void)state;
	require_lists();
	write_list(before, COUNT_OF(before));
	assert_int_equal(socket_acl_bar(path, ATTACKER), 0);
	assert_int_equal(socket_acl_bar(path, OTHER), -EALREADY);
	assert_int_equal(socket_acl_admit_all(path), 0);
	check_list(after, COUNT_OF(after));
}

/* The kernel asks no list about the owner, whose entry would pass for the sign. */
static void test_the_owner_is_not_refused(void **state)
{
	(void)state;
	require_lists();
	assert_int_equal(socket_acl_bar(path, geteuid()), -EEXIST);
	assert_false(has_list());
}

/* The sign has no place there: what a daemon that was killed left would stay for ever. */
static void test_a_list_that_names_the_owner(void **state)
{
	const struct entry list[] = {
		{ACL_USER_OBJ, 6, NOBODY},  {ACL_USER, 6, geteuid()}, {ACL_USER, 6, OTHER},
		{ACL_GROUP_OBJ, 4, NOBODY}, {ACL_MASK, 6, NOBODY},    {ACL_OTHER, 6, NOBODY},
	};

	(void)state;
	require_lists();
	write_list(list, COUNT_OF(list));
	assert_int_equal(socket_acl_bar(path, OTHER), -EOPNOTSUPP);
	assert_int_equal(socket_acl_bar(path, ATTACKER), -EOPNOTSUPP);
	check_list(list, COUNT_OF(list));
	assert_int_equal(socket_acl_admit_all(path), 0);
	check_list(list, COUNT_OF(list));
}

/* The group gets no more than the list gave, whoever made the mask. */
static void test_a_mask_with_more_than_the_group_stays(void **state)
{
	static const struct entry before[] = {
		{ACL_USER_OBJ, 6, NOBODY},
		{ACL_GROUP_OBJ, 4, NOBODY},
		{ACL_MASK, 6, NOBODY},
		{ACL_OTHER, 0, NOBODY},
	};

	(void)state;
	require_lists();
	write_list(before, COUNT_OF(before));
	assert_int_equal(socket_acl_bar(path, ATTACKER), 0);
	assert_int_equal(socket_acl_admit(path, ATTACKER, true), 0);
	check_list(before, COUNT_OF(before));
	/* chmod(2) changes the mask alone. */
	assert_int_equal(removexattr(path, LIST), 0);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(socket_acl_bar(path, ATTACKER), 0);
	assert_int_equal(chmod(path, 0660), 0);
	assert_int_equal(socket_acl_admit(path, ATTACKER, true), 0);
	check_list(before, COUNT_OF(before));
	assert_int_equal(mode_of_file(), 0660);
}

static void test_a_mode_that_changes_stays(void **state)
{
	(void)state;
	require_lists();
	assert_int_equal(socket_acl_bar(path, ATTACKER), 0);
	assert_int_equal(chmod(path, 0606), 0);
	assert_int_equal(socket_acl_admit(path, ATTACKER, true), 0);
	assert_false(has_list());
	assert_int_equal(mode_of_file(), 0606);
}

/* What a daemon that was killed left behind. */
static void test_all_are_admitted(void **state)
{
	(void)state;
	require_lists();
	for (uid_t uid = ATTACKER; uid < ATTACKER + 64; uid++)
		assert_int_equal(socket_acl_bar(path, uid), 0);
	assert_int_equal(socket_acl_admit_all(path), 0);
	assert_false(has_list());
	assert_int_equal(mode_of_file(), 0660);
}

static void test_other_files_are_kept(void **state)
{
	(void)state;
	assert_int_equal(socket_acl_bar(folder, ATTACKER), -ENOTSOCK);
	assert_true(getxattr(folder, LIST, NULL, 0) < 0);
	assert_int_equal(socket_acl_bar("/tmp/rnic-no-such-socket", ATTACKER), -ENOENT);
}

/* What a file system answers that is no list changes nothing, and is not relied on. */
static void test_answers_that_are_no_list(void **state)
{
	static const struct {
		size_t bytes;
		uint32_t version;
		struct entry entries[4];
	} cases[] = {
		{0, 2, {{0}}},
		{3, 2, {{0}}},
		{4, 2, {{0}}},
		{4 + 2 * 8, 2, {{ACL_USER_OBJ, 6, NOBODY}, {ACL_OTHER, 0, NOBODY}}},
		{4 + 3 * 8 + 4,
		 2,
		 {{ACL_USER_OBJ, 6, NOBODY}, {ACL_GROUP_OBJ, 6, NOBODY}, {ACL_OTHER, 0, NOBODY}}},
		{4 + 3 * 8,
		 1,
		 {{ACL_USER_OBJ, 6, NOBODY}, {ACL_GROUP_OBJ, 6, NOBODY}, {ACL_OTHER, 0, NOBODY}}},
		{4 + 3 * 8,
		 2,
		 {{ACL_USER_OBJ, 6, NOBODY}, {ACL_MASK, 6, NOBODY}, {ACL_OTHER, 0, NOBODY}}},
		{4 + 3 * 8,
		 2,
		 {{ACL_USER, 1, ATTACKER}, {ACL_GROUP_OBJ, 6, NOBODY}, {ACL_OTHER, 0, NOBODY}}},
		{4 + 3 * 8,
		 2,
		 {{ACL_USER_OBJ, 6, NOBODY}, {ACL_GROUP_OBJ, 6, NOBODY}, {ACL_MASK, 6, NOBODY}}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		played.version = htole32(cases[i].version);
		memcpy(played.entries, cases[i].entries, sizeof(cases[i].entries));
		played_bytes = (ssize_t)cases[i].bytes;
		assert_int_equal(socket_acl_bar(path, ATTACKER), -EIO);
		assert_int_equal(socket_acl_admit(path, ATTACKER, true), -EIO);
		assert_int_equal(socket_acl_admit_all(path), -EIO);
		played_bytes = -1;
		assert_false(has_list());
	}
}

/* Returns 0, or the errno of a connect() by the user. */
static int connect_as(uid_t uid)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		if (setuid(uid) != 0)
			_exit(255);
		_exit(connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0
											   : errno);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void test_the_kernel_refuses(void **state)
{
	(void)state;
	require_lists();
	if (geteuid() != 0) {
		print_message("skipped: only root connects as other users\n");
		skip();
	}
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(connect_as(ATTACKER), 0);
	assert_int_equal(socket_acl_bar(path, ATTACKER), 0);
	assert_int_equal(connect_as(ATTACKER), EACCES);
	assert_int_equal(connect_as(OTHER), 0);
	assert_int_equal(connect_as(0), 0);
	assert_int_equal(socket_acl_admit(path, ATTACKER, true), 0);
	assert_int_equal(connect_as(ATTACKER), 0);
}

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL || chmod(folder, 0755) != 0)
		return -1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/rnicd.sock", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_list_comes_and_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_administrators_list, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_user_who_is_refused_already, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_default_list_gets_no_rights, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_owner_is_not_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_list_that_names_the_owner, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_mask_with_more_than_the_group_stays, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_mode_that_changes_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_answers_that_are_no_list, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_all_are_admitted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_files_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_kernel_refuses, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
