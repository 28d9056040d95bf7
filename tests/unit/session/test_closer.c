/* SPDX-License-Identifier: MIT */
#include "session/closer.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 10000

/* A pipe ends when the last descriptor of its other end is closed. */
static void expect_end(int read_fd)
{
	struct pollfd end = {.fd = read_fd, .events = POLLIN};

	assert_int_equal(poll(&end, 1, WAIT_MS), 1);
	assert_true((end.revents & POLLHUP) != 0);
	close(read_fd);
}

static void what_is_taken_is_closed(void **state)
{
	struct closer closer;
	int first[2], second[2];

	(void)state;
	assert_int_equal(closer_open(&closer), 0);
	assert_int_equal(pipe(first), 0);
	assert_int_equal(pipe(second), 0);
	closer_take(&closer, first[1]);
	expect_end(first[0]);
	/* What was taken before the end is closed as well. */
	closer_take(&closer, second[1]);
	closer_close(&closer);
	expect_end(second[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_taken_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
