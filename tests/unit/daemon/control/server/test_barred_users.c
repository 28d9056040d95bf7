/* SPDX-License-Identifier: MIT */
/* Who has a place in the table, and for how long. The socket's file is played. */
#include "daemon/control/server/barred_users.h"

#include "daemon/control/server/socket_acl.h"
#include "tests/unit/unit_test.h"

#define USER	1001
#define ACCOUNT 1000
#define SOME_NS UINT64_C(5000000000)
#define PATH	"/played"

static struct barred_users barred;
static unsigned bar_count, admit_count;
static uid_t admitted;
static int answer; /* of the file */

/* The linker puts these functions before the real ones. */
int __wrap_socket_acl_bar(const char *path, uid_t uid);
int __wrap_socket_acl_admit(const char *path, uid_t uid, bool is_last);

int __wrap_socket_acl_bar(const char *path, uid_t uid)
{
	(void)uid;
	assert_string_equal(path, PATH);
	bar_count++;
	return answer;
}

int __wrap_socket_acl_admit(const char *path, uid_t uid, bool is_last)
{
	assert_string_equal(path, PATH);
	assert_int_equal(is_last, barred.count == 1);
	admit_count++;
	admitted = uid;
	return answer;
}

static int set_up(void **state)
{
	(void)state;
	barred = (struct barred_users){0};
	bar_count = admit_count = 0;
	answer = 0;
	return 0;
}

static int add(uid_t uid, uid_t account)
{
	return barred_users_add(&barred, PATH, uid, account, SOME_NS);
}

/* Over for the account that `context` names. */
static bool is_over(const void *context, uid_t account)
{
	return account == *(const uid_t *)context;
}

static void test_a_user_comes_and_goes(void **state)
{
	const uid_t nobody = 0, account = ACCOUNT;

	(void)state;
	assert_true(barred_users_next_deadline_ns(&barred) == UINT64_MAX);
	assert_int_equal(add(USER, ACCOUNT), 0);
	answer = -EALREADY;
	assert_int_equal(add(USER, ACCOUNT), 0); /* connections that were in the socket already */
	answer = 0;
	assert_int_equal(add(USER, ACCOUNT), 0); /* somebody has removed the entry */
	assert_int_equal(add(USER + 1, USER + 1), 0);
	assert_int_equal(bar_count, 4);
	assert_int_equal(barred.count, 2);
	assert_true(barred_users_next_deadline_ns(&barred) == SOME_NS + BARRED_USERS_REVIEW_NS);
	barred_users_review(&barred, PATH, is_over, &account, SOME_NS);
	assert_int_equal(admit_count, 0); /* too early */
	barred_users_review(&barred, PATH, is_over, &nobody, SOME_NS + BARRED_USERS_REVIEW_NS);
	assert_int_equal(admit_count, 0);
	barred_users_review(&barred, PATH, is_over, &account, SOME_NS + 2 * BARRED_USERS_REVIEW_NS);
	assert_int_equal(admit_count, 1);
	assert_int_equal(admitted, USER);
	assert_int_equal(barred.count, 1);
	assert_int_equal(barred.users[0].uid, USER + 1);
	assert_int_equal(add(USER, ACCOUNT), 0);
	assert_int_equal(bar_count, 5);
	barred_users_admit(&barred, PATH);
	assert_int_equal(admit_count, 3);
	assert_int_equal(barred.count, 0);
}

/* Somebody else has refused the user meanwhile, and admits the user some day. */
static void test_an_entry_of_somebody_else(void **state)
{
	(void)state;
	answer = -EALREADY;
	assert_int_equal(add(USER, ACCOUNT), 0);
	assert_int_equal(barred.count, 0);
}

/* A file that cannot change for the moment is asked again. */
static void test_a_file_that_refuses(void **state)
{
	const uid_t account = ACCOUNT;

	(void)state;
	answer = -EROFS;
	assert_int_equal(add(USER, ACCOUNT), -EROFS);
	assert_int_equal(barred.count, 0);
	answer = 0;
	assert_int_equal(add(USER, ACCOUNT), 0);
	answer = -EROFS;
	barred_users_review(&barred, PATH, is_over, &account, SOME_NS + BARRED_USERS_REVIEW_NS);
	assert_int_equal(barred.count, 1);
	answer = 0;
	barred_users_review(&barred, PATH, is_over, &account, SOME_NS + 2 * BARRED_USERS_REVIEW_NS);
	assert_int_equal(barred.count, 0);
	assert_int_equal(admit_count, 2);
}

/* The ids of one owner leave places to others. */
static void test_places(void **state)
{
	(void)state;
	for (uid_t i = 0; i < BARRED_USERS_OF_ACCOUNT_MAX; i++)
		assert_int_equal(add(USER + i, ACCOUNT), 0);
	assert_int_equal(add(USER + BARRED_USERS_OF_ACCOUNT_MAX, ACCOUNT), -EUSERS);
	for (uid_t i = BARRED_USERS_OF_ACCOUNT_MAX; i < BARRED_USERS_MAX; i++)
		assert_int_equal(add(USER + 1 + i, USER + 1 + i), 0);
	assert_int_equal(add(1, 1), -EUSERS);
	assert_int_equal(bar_count, BARRED_USERS_MAX);
	assert_int_equal(add(USER, ACCOUNT), 0); /* has a place */
}

/* One about a user in a while, and few about many users. */
static void test_lines(void **state)
{
	const uint64_t later_ns = SOME_NS + BARRED_USERS_LINE_NS;

	(void)state;
	for (uid_t i = 0; i < BARRED_USERS_MAX; i++) {
		assert_true(barred_users_note_line(&barred, USER + i, SOME_NS + i));
		assert_false(barred_users_note_line(&barred, USER + i, SOME_NS + i));
	}
	assert_false(barred_users_note_line(&barred, USER, later_ns - 1));
	assert_false(barred_users_note_line(&barred, 1, later_ns - 1));
	assert_true(barred_users_note_line(&barred, 1, later_ns));
	assert_false(barred_users_note_line(&barred, USER, later_ns)); /* all places are taken */
	assert_true(barred_users_note_line(&barred, USER, later_ns + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_user_comes_and_goes, set_up),
		cmocka_unit_test_setup(test_an_entry_of_somebody_else, set_up),
		cmocka_unit_test_setup(test_a_file_that_refuses, set_up),
		cmocka_unit_test_setup(test_places, set_up),
		cmocka_unit_test_setup(test_lines, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
