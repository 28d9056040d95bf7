/* SPDX-License-Identifier: MIT */
#include "daemon/control/view/view_tree.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/rnic-tree-XXXXXX";
static char path[64], victim[64];
static char reason[VIEW_TREE_REASON_BYTES];

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/r.view", folder);
	snprintf(victim, sizeof(victim), "%s/victim", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static void assert_content(const struct view_tree *tree, const char *name, const char *expected)
{
	char text[64];
	int fd = openat(tree->fd, name, O_RDONLY);
	ssize_t length;

	assert_true(fd >= 0);
	length = read(fd, text, sizeof(text) - 1);
	assert_true(length >= 0);
	text[length] = '\0';
	assert_string_equal(text, expected);
	close(fd);
}

static void test_entries(void **state)
{
	mode_t mask = umask(077);
	struct view_tree tree;
	struct stat status;
	char target[16] = "";
	int fd;

	(void)state;
	assert_int_equal(view_tree_create(&tree, path, 0755, reason), 0);
	assert_int_equal(view_tree_add_directory(&tree, "a"), 0);
	assert_int_equal(view_tree_add_directory(&tree, "a"), 0);
	assert_int_equal(view_tree_add_text(&tree, "a/text", "one\n"), 0);
	assert_int_equal(view_tree_add_text(&tree, "a/text", "two\n"), 0);
	assert_content(&tree, "a/text", "two\n");
	assert_int_equal(view_tree_add_link(&tree, "a/link", "old"), 0);
	assert_int_equal(view_tree_add_link(&tree, "a/link", "new"), 0);
	assert_int_equal(readlinkat(tree.fd, "a/link", target, sizeof(target)), 3);
	assert_string_equal(target, "new");
	fd = view_tree_add_open(&tree, "number", "1\n");
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "2", 1, 0), 1);
	close(fd);
	assert_content(&tree, "number", "2\n");
	assert_int_equal(view_tree_drop(&tree, "number"), 0);
	assert_int_equal(view_tree_drop(&tree, "number"), 0);
	assert_int_equal(view_tree_add_text(&tree, "missing/text", ""), -ENOENT);
	assert_int_equal(faccessat(tree.fd, ".new", F_OK, 0), -1);

	/* Under any mask, others can read and nobody can write. */
	assert_int_equal(fstatat(tree.fd, "a/text", &status, 0), 0);
	assert_int_equal(status.st_mode & 0777, 0444);
	assert_int_equal(fstatat(tree.fd, "a", &status, 0), 0);
	assert_int_equal(status.st_mode & 0777, 0755);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0755);
	view_tree_remove(&tree);
	assert_int_equal(access(path, F_OK), -1);
	umask(mask);
}

/* A leftover tree of ours is replaced; links in it are removed and not followed. */
static void test_leftover(void **state)
{
	struct view_tree first, second;

	(void)state;
	assert_int_equal(mkdir(victim, 0700), 0);
	assert_int_equal(view_tree_create(&first, path, 0700, reason), 0);
	assert_int_equal(view_tree_add_text(&first, "old", ""), 0);
	assert_int_equal(view_tree_add_link(&first, "link", victim), 0);
	assert_int_equal(view_tree_create(&second, path, 0700, reason), 0);
	assert_int_equal(faccessat(second.fd, "old", F_OK, 0), -1);
	assert_int_equal(access(victim, F_OK), 0);
	/* The end of the first daemon does not remove the tree of the second. */
	view_tree_remove(&first);
	assert_int_equal(access(path, F_OK), 0);
	view_tree_remove(&second);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(rmdir(victim), 0);
}

static void expect_refusal(void)
{
	struct view_tree tree;

	reason[0] = '\0';
	assert_int_equal(view_tree_create(&tree, path, 0700, reason), -EEXIST);
	assert_non_null(strstr(reason, path));
}

static void test_what_is_not_ours(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(mkdir(victim, 0700), 0);
	assert_int_equal(symlink(victim, path), 0);
	expect_refusal();
	assert_int_equal(unlink(path), 0);

	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	expect_refusal();
	assert_int_equal(unlink(path), 0);

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0777), 0);
	expect_refusal();
	if (geteuid() == 0) {
		assert_int_equal(chmod(path, 0755), 0);
		assert_int_equal(chown(path, 1, 1), 0);
		expect_refusal();
	}
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(victim), 0);
}

static void test_bad_paths(void **state)
{
	char longest[2 * VIEW_TREE_PATH_BYTES];
	struct view_tree tree;

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(view_tree_create(&tree, longest, 0700, reason), -ENAMETOOLONG);
	assert_int_equal(view_tree_create(&tree, "/nonexistent/r.view", 0700, reason), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_leftover),
		cmocka_unit_test(test_what_is_not_ours),
		cmocka_unit_test(test_bad_paths),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
