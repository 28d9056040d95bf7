/* SPDX-License-Identifier: MIT */
/* Lines of the log that clients cause: limits by user, and what was left out. */
#include "daemon/shared/base/log.h"
#include "lib/wait/clock.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIMIT	   20
#define USERS_MAX  128
#define SECOND_NS  UINT64_C(1000000000)
#define LOG_BYTES  (1 << 20)
#define NOISY	   1001
#define QUIET	   1002
#define FIRST_USER 50000

static uint64_t now_ns = 1000 * SECOND_NS;
static int log_fd, standard_error;
static char text[LOG_BYTES];

uint64_t __wrap_clock_now_ns(void);

uint64_t __wrap_clock_now_ns(void)
{
	return now_ns;
}

/* Standard error goes to a file from here to the end of the test. Each test has its own time. */
static int set_up(void **state)
{
	(void)state;
	standard_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	log_fd = memfd_create("log", MFD_CLOEXEC);
	return dup2(log_fd, STDERR_FILENO) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	now_ns += SECOND_NS;
	log_follow(now_ns);
	dup2(standard_error, STDERR_FILENO);
	close(standard_error);
	return close(log_fd);
}

/* How many lines of the log have these words. */
static unsigned count_lines(const char *words)
{
	ssize_t length = pread(log_fd, text, sizeof(text) - 1, 0);
	unsigned count = 0;

	text[length < 0 ? 0 : length] = '\0';
	for (const char *found = text; (found = strstr(found, words)) != NULL; found++)
		count++;
	return count;
}

static void make_noise(uid_t uid, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		log_from_client(uid, "noise of %u", (unsigned)uid);
}

static void test_noise_hides_nobody(void **state)
{
	(void)state;
	make_noise(NOISY, 1000);
	log_from_client(QUIET, "word of another");
	log_from_client(0, "word of root");
	make_noise(LOG_NO_USER, 1000);
	assert_int_equal(count_lines("noise of 1001"), LIMIT);
	assert_int_equal(count_lines("word of another"), 1);
	assert_int_equal(count_lines("word of root"), 1);
	assert_int_equal(count_lines("noise of 4294967295"), LIMIT);
}

/* The sum comes when the second is over, though nobody says anything more. */
static void test_what_was_left_out_is_told(void **state)
{
	(void)state;
	assert_true(log_next_deadline_ns() == UINT64_MAX);
	make_noise(NOISY, LIMIT + 7);
	make_noise(LOG_NO_USER, LIMIT + 3);
	make_noise(QUIET, LIMIT);
	assert_true(log_next_deadline_ns() == now_ns + SECOND_NS);
	log_follow(now_ns);
	assert_int_equal(count_lines("left out"), 0);
	now_ns += SECOND_NS;
	log_follow(now_ns);
	assert_int_equal(count_lines("7 more lines about user 1001 were left out"), 1);
	assert_int_equal(count_lines("3 more lines about the network were left out"), 1);
	assert_int_equal(count_lines("left out"), 2);
	assert_true(log_next_deadline_ns() == UINT64_MAX);
	make_noise(NOISY, LIMIT);
	assert_int_equal(count_lines("noise of 1001"), 2 * LIMIT);
}

/* One person may have very many uids: they share a limit, and root is not among them. */
static void test_very_many_users(void **state)
{
	(void)state;
	for (uid_t uid = FIRST_USER; uid < FIRST_USER + 1000; uid++)
		make_noise(uid, 2);
	log_from_client(0, "word of root");
	assert_int_equal(count_lines("noise of"), 2 * (USERS_MAX - 1) + LIMIT);
	assert_int_equal(count_lines("word of root"), 1);
	now_ns += SECOND_NS;
	log_follow(now_ns);
	assert_int_equal(count_lines("more lines about other users were left out"), 1);
}

static uid_t account_of(void *context, uid_t uid)
{
	return uid >= FIRST_USER ? *(uid_t *)context : uid;
}

/* The subordinate ids of a user have the user's limit, and leave room to others. */
static void test_subordinate_ids(void **state)
{
	uid_t owner = NOISY;

	(void)state;
	log_set_account(account_of, &owner);
	for (uid_t uid = FIRST_USER; uid < FIRST_USER + 1000; uid++)
		make_noise(uid, 2);
	make_noise(NOISY, 1);
	for (uid_t uid = QUIET; uid < QUIET + 100; uid++)
		log_from_client(uid, "word of another");
	assert_int_equal(count_lines("noise of"), LIMIT);
	assert_int_equal(count_lines("word of another"), 100);
	now_ns += SECOND_NS;
	log_follow(now_ns);
	assert_int_equal(count_lines("1981 more lines about user 1001 were left out"), 1);
	log_set_account(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_noise_hides_nobody, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_subordinate_ids, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_was_left_out_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_very_many_users, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
