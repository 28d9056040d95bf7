/* SPDX-License-Identifier: MIT */
#include "daemon/device/link/group_joins.h"

#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <unistd.h>

static const struct rnic_gid group = {{0xff, 0x0e, [15] = 1}};

static struct group_joins joins;
static uint32_t joins_sent, leaves_sent;
static bool is_link_full;

static int note_sent(void *context, bool is_join, const struct rnic_gid *sent)
{
	assert_ptr_equal(context, &joins);
	assert_memory_equal(sent, &group, sizeof(group));
	if (is_link_full)
		return -EAGAIN;
	joins_sent += is_join;
	leaves_sent += !is_join;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	joins_sent = leaves_sent = 0;
	is_link_full = false;
	group_joins_init(&joins, note_sent, &joins);
	return 0;
}

static int open_any(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void test_fetch_waits_for_the_answer(void **state)
{
	int given = open_any();
	int fd = -1;

	(void)state;
	assert_int_equal(group_joins_fetch(&joins, &group, 1, &fd), -EINPROGRESS);
	assert_int_equal(group_joins_fetch(&joins, &group, 2, &fd), -EINPROGRESS);
	assert_int_equal(joins_sent, 1);
	group_joins_answer(&joins, &group, 0, given);
	assert_int_equal(group_joins_fetch(&joins, &group, 3, &fd), 0);
	assert_int_equal(fd, given);
	close(fd);
	group_joins_leave(&joins, &group);
	assert_int_equal(leaves_sent, 1);
	assert_int_equal(joins.used_count, 0);
	assert_true(group_joins_next_deadline_ns(&joins) == UINT64_MAX);
}

static void test_refusal_goes_to_the_client(void **state)
{
	int fd = -1;

	(void)state;
	assert_int_equal(group_joins_fetch(&joins, &group, 1, &fd), -EINPROGRESS);
	group_joins_answer(&joins, &group, -ENODEV, -1);
	assert_int_equal(group_joins_fetch(&joins, &group, 2, &fd), -ENODEV);
	assert_int_equal(joins.used_count, 0);
	/* An answer without its socket is a refusal. */
	assert_int_equal(group_joins_fetch(&joins, &group, 3, &fd), -EINPROGRESS);
	group_joins_answer(&joins, &group, 0, -1);
	assert_int_equal(group_joins_fetch(&joins, &group, 4, &fd), -EBADF);
}

static void test_late_answer_is_left_again(void **state)
{
	int given = open_any();
	int fd = -1;

	(void)state;
	assert_int_equal(group_joins_fetch(&joins, &group, 0, &fd), -EINPROGRESS);
	assert_int_equal(group_joins_fetch(&joins, &group, GROUP_JOINS_WAIT_NS, &fd), -ETIMEDOUT);
	group_joins_answer(&joins, &group, 0, given);
	assert_false(is_open(given));
	assert_int_equal(leaves_sent, 1);
	assert_int_equal(joins.used_count, 0);
}

static void test_unfetched_socket_is_left(void **state)
{
	int given = open_any();
	int fd = -1;

	(void)state;
	assert_int_equal(group_joins_fetch(&joins, &group, 0, &fd), -EINPROGRESS);
	group_joins_answer(&joins, &group, 0, given);
	assert_true(group_joins_next_deadline_ns(&joins) == GROUP_JOINS_WAIT_NS);
	group_joins_tick(&joins, GROUP_JOINS_WAIT_NS);
	assert_false(is_open(given));
	assert_int_equal(leaves_sent, 1);
	assert_int_equal(joins.used_count, 0);
}

static void test_full_link_is_tried_again(void **state)
{
	int given = open_any();
	int fd = -1;

	(void)state;
	is_link_full = true;
	assert_int_equal(group_joins_fetch(&joins, &group, 1, &fd), -EINPROGRESS);
	assert_true(group_joins_next_deadline_ns(&joins) < GROUP_JOINS_WAIT_NS);
	is_link_full = false;
	group_joins_tick(&joins, 2);
	assert_int_equal(joins_sent, 1);
	group_joins_answer(&joins, &group, 0, given);
	assert_int_equal(group_joins_fetch(&joins, &group, 3, &fd), 0);
	close(fd);
	is_link_full = true;
	group_joins_leave(&joins, &group);
	assert_int_equal(leaves_sent, 0);
	is_link_full = false;
	group_joins_tick(&joins, 4);
	assert_int_equal(leaves_sent, 1);
	assert_int_equal(joins.used_count, 0);
}

static void test_unasked_answer_is_harmless(void **state)
{
	int given = open_any();

	(void)state;
	group_joins_answer(&joins, &group, -EIO, -1);
	assert_int_equal(joins.used_count, 0);
	group_joins_answer(&joins, &group, 0, given);
	assert_false(is_open(given));
	assert_int_equal(leaves_sent, 1);
}

/* A group in use gets another socket; a group that is left meanwhile gets none. */
static void test_sockets_of_another_interface(void **state)
{
	int first = open_any(), second = open_any(), late = open_any();
	int fd = -1;

	(void)state;
	assert_int_equal(group_joins_fetch(&joins, &group, 1, &fd), -EINPROGRESS);
	assert_false(group_joins_answer(&joins, &group, 0, first));
	assert_int_equal(group_joins_fetch(&joins, &group, 2, &fd), 0);

	is_link_full = true;
	group_joins_renew(&joins);
	assert_true(group_joins_next_deadline_ns(&joins) != UINT64_MAX);
	is_link_full = false;
	group_joins_tick(&joins, 3);
	assert_int_equal(joins_sent, 2);
	assert_true(group_joins_next_deadline_ns(&joins) == UINT64_MAX);
	assert_true(group_joins_answer(&joins, &group, 0, second));
	assert_true(is_open(second));
	close(first);
	close(second);

	group_joins_renew(&joins);
	assert_int_equal(joins_sent, 3);
	assert_false(group_joins_answer(&joins, &group, -ENODEV, -1));
	group_joins_renew(&joins);
	group_joins_leave(&joins, &group);
	assert_false(group_joins_answer(&joins, &group, 0, late));
	assert_false(is_open(late));
	assert_int_equal(joins.used_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_fetch_waits_for_the_answer, set_up),
		cmocka_unit_test_setup(test_refusal_goes_to_the_client, set_up),
		cmocka_unit_test_setup(test_late_answer_is_left_again, set_up),
		cmocka_unit_test_setup(test_unfetched_socket_is_left, set_up),
		cmocka_unit_test_setup(test_full_link_is_tried_again, set_up),
		cmocka_unit_test_setup(test_unasked_answer_is_harmless, set_up),
		cmocka_unit_test_setup(test_sockets_of_another_interface, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
