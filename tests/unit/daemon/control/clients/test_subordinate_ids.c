/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/subordinate_ids.h"

#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/test_subordinate_ids.XXXXXX";
static struct subordinate_ids ids;

static void write_file(const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static uint64_t now_ns;

static uid_t account(uid_t uid)
{
	now_ns += SUBORDINATE_IDS_LOOK_NS;
	return subordinate_ids_account(&ids, uid, now_ns);
}

static void test_owners(void **state)
{
	(void)state;
	write_file("anna:100000:65536\n"
		   "bert:165536:65536\n"
		   "anna:231072:10\n"
		   "1007:300000:65536\n");
	assert_int_equal(account(1000), 1000);
	assert_int_equal(account(99999), 99999);
	assert_int_equal(account(100000), 100000);
	assert_int_equal(account(165535), 100000);
	assert_int_equal(account(165536), 165536);
	assert_int_equal(account(231072), 100000);
	assert_int_equal(account(231081), 100000);
	assert_int_equal(account(231082), 231082);
	/* The number of the owner makes one user of the owner and these. */
	assert_int_equal(account(300001), 1007);
	assert_int_equal(account(1007), 1007);
	assert_int_equal(account(UINT32_MAX - 1), UINT32_MAX - 1);
}

/* Nobody else counts as root, whatever the file says. */
static void test_root(void **state)
{
	(void)state;
	write_file("anna:0:65536\n"
		   "0:100000:65536\n"
		   "bert:200000:10\n");
	assert_int_equal(account(0), 0);
	assert_int_equal(account(geteuid()), geteuid());
	assert_int_equal(account(7), 7);
	assert_int_equal(account(100001), 100000);
	assert_int_equal(account(200001), 200000);
}

static void test_what_is_no_range(void **state)
{
	(void)state;
	write_file("\n"
		   "anna\n"
		   "anna:\n"
		   "anna:100000\n"
		   "anna:100000:\n"
		   "anna:-1:5\n"
		   "anna:100000:x\n"
		   "anna:100000:5:5\n"
		   "anna:4294967296:5\n"
		   "anna:100000:4294967296\n"
		   "anna:99999999999999999999:5\n"
		   "bert:200000:5");
	assert_int_equal(ids.count, 0);
	assert_int_equal(account(100001), 100001);
	assert_int_equal(account(200004), 200000);
	assert_int_equal(ids.count, 1);
	/* A range that ends beyond all ids has those up to the last one. */
	write_file("anna:4294967290:100\n");
	assert_int_equal(account(4294967294), 4294967290);
	assert_int_equal(account(50), 50);
}

static void test_the_file_changes(void **state)
{
	(void)state;
	write_file("anna:100000:10\n");
	assert_int_equal(account(100005), 100000);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(account(100005), 100005);
	write_file("anna:100001:100\n");
	assert_int_equal(account(100005), 100001);
	/* To look at the file is a system call. */
	assert_int_equal(unlink(path), 0);
	now_ns += SUBORDINATE_IDS_LOOK_NS - 1;
	assert_int_equal(subordinate_ids_account(&ids, 100005, now_ns), 100001);
	assert_int_equal(subordinate_ids_account(&ids, 100005, now_ns + 1), 100005);
}

static int set_up(void **state)
{
	(void)state;
	subordinate_ids_init(&ids, path);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	subordinate_ids_fini(&ids);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_owners, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_root, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_no_range, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_file_changes, set_up, tear_down),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 1;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
