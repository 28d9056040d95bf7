/* SPDX-License-Identifier: MIT */
/*
 * Programs that ask to be their own device processes, and then lie, die or take all they can get.
 * After each an honest client still works.
 *
 * usage: hostile_direct RNICD
 */
#include "tests/hostile/direct_program.h"
#include "tests/hostile/hostile_link.h"

#include "tests/unit/unit_test.h"

#include <errno.h>
#include <unistd.h>

#define MORE_THAN_LANES 130

static void test_garbage_on_the_link(void **state)
{
	static const uint8_t zeros[64];
	struct direct direct;

	(void)state;
	for (size_t bytes = 1; bytes < sizeof(zeros); bytes += 15) {
		assert_int_equal(direct_open(&direct), 0);
		assert_true(hostile_send(direct.link_fd, zeros, bytes, NULL, 0));
		direct_expect_end(&direct);
		direct_close(&direct);
	}
	direct_expect_unharmed();
}

static void test_messages_out_of_place(void **state)
{
	static const struct rnic_process_ready ready = {.udp_port = "socket"};
	static const struct rnic_process_client_gone gone = {.client_id = 123456};
	static const struct rnic_process_start start = {.lane = RNIC_LANE_FIRST};
	static const struct {
		uint16_t operation;
		const void *payload;
		uint32_t bytes;
	} lies[] = {
		{RNIC_PROCESS_READY, &ready, sizeof(ready)},
		{RNIC_PROCESS_CLIENT_GONE, &gone, sizeof(gone)},
		{RNIC_PROCESS_START, &start, sizeof(start)},
	};
	struct direct direct;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		direct_serve(&direct);
		direct_say(&direct, lies[i].operation, lies[i].payload, lies[i].bytes);
		direct_expect_end(&direct);
		direct_close(&direct);
	}
	direct_expect_unharmed();
}

static void test_second_hello(void **state)
{
	static const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = RNIC_HELLO_DIRECT,
	};
	struct hostile_reply reply;
	struct direct direct;

	(void)state;
	direct_serve(&direct);
	assert_false(
		hostile_call(direct.control_fd, RNIC_CTL_HELLO, &hello, sizeof(hello), &reply));
	direct_close(&direct);
	direct_expect_unharmed();
}

/* A program that dies takes its lane with it only until then: more of them than there are lanes. */
static void test_death_of_programs_at_every_step(void **state)
{
	struct direct direct;

	(void)state;
	for (unsigned i = 0; i < 3 * MORE_THAN_LANES; i++) {
		if (i % 3 == 0)
			assert_int_equal(direct_open(&direct), 0);
		else
			direct_serve(&direct);
		if (i % 3 == 2) { /* the control connection goes first */
			close(direct.control_fd);
			close(direct.link_fd);
		} else {
			direct_close(&direct);
		}
	}
	direct_expect_unharmed();
}

/* When no lane is left, a program hears so; when some are free again, all is as before. */
static void test_all_lanes_taken(void **state)
{
	struct direct programs[MORE_THAN_LANES];
	unsigned count = 0;
	int status = 0;

	(void)state;
	while (status == 0 && count < MORE_THAN_LANES)
		status = direct_open(&programs[count++]);
	assert_int_equal(status, -ENOSPC);
	while (count > 0)
		direct_close(&programs[--count]);
	direct_expect_unharmed();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_garbage_on_the_link),
		cmocka_unit_test(test_messages_out_of_place),
		cmocka_unit_test(test_second_hello),
		cmocka_unit_test(test_death_of_programs_at_every_step),
		cmocka_unit_test(test_all_lanes_taken),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}
