/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/event_pipe.h"
#include "tests/unit/unit_test.h"

#include <signal.h>
#include <unistd.h>

#define SOURCES 10000 /* more records than a pipe of 64 KiB holds */

static void test_events_come_once_each(void **state)
{
	struct event_source source = {.slot = 3, .generation = 9};
	struct rnic_event_record record;
	struct event_pipe pipe;
	int read_fd;

	(void)state;
	assert_int_equal(event_pipe_open(&pipe, &read_fd), 0);
	event_pipe_raise(&pipe, &source, 4);
	event_pipe_raise(&pipe, &source, 2);
	event_pipe_raise(&pipe, &source, 4);
	assert_true(event_pipe_flush(&pipe));
	assert_int_equal(read(read_fd, &record, sizeof(record)), sizeof(record));
	assert_int_equal(record.type, 2);
	assert_int_equal(record.slot, 3);
	assert_int_equal(record.generation, 9);
	assert_int_equal(record.reserved, 0);
	assert_int_equal(read(read_fd, &record, sizeof(record)), sizeof(record));
	assert_int_equal(record.type, 4);
	event_pipe_close(&pipe);
	assert_int_equal(read(read_fd, &record, sizeof(record)), 0);
	close(read_fd);
}

static void test_full_pipe_loses_nothing(void **state)
{
	static struct event_source sources[SOURCES];
	struct rnic_event_record record;
	struct event_pipe pipe;
	bool is_done = false;
	uint32_t taken = 0;
	int read_fd;

	(void)state;
	assert_int_equal(event_pipe_open(&pipe, &read_fd), 0);
	for (uint32_t i = 0; i < SOURCES; i++) {
		sources[i].slot = i;
		event_pipe_raise(&pipe, &sources[i], 0);
	}
	assert_false(event_pipe_flush(&pipe));
	assert_true(pipe.is_full);
	while (taken < SOURCES) {
		assert_int_equal(read(read_fd, &record, sizeof(record)), sizeof(record));
		assert_int_equal(record.slot, taken++);
		if (!is_done)
			is_done = event_pipe_flush(&pipe);
	}
	assert_false(pipe.is_full);
	event_pipe_close(&pipe);
	close(read_fd);
}

static void test_forgotten_source_writes_nothing(void **state)
{
	struct event_source gone = {.slot = 1}, stays = {.slot = 2};
	struct rnic_event_record record;
	struct event_pipe pipe;
	int read_fd;

	(void)state;
	assert_int_equal(event_pipe_open(&pipe, &read_fd), 0);
	event_pipe_raise(&pipe, &gone, 0);
	event_pipe_raise(&pipe, &stays, 0);
	event_source_forget(&gone);
	assert_true(event_pipe_flush(&pipe));
	assert_int_equal(read(read_fd, &record, sizeof(record)), sizeof(record));
	assert_int_equal(record.slot, 2);
	event_pipe_close(&pipe);
	assert_int_equal(read(read_fd, &record, sizeof(record)), 0);
	close(read_fd);
}

static void test_closed_reader_is_no_error(void **state)
{
	struct event_source source = {.slot = 1};
	struct event_pipe pipe;
	int read_fd;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(event_pipe_open(&pipe, &read_fd), 0);
	close(read_fd);
	event_pipe_raise(&pipe, &source, 0);
	assert_true(event_pipe_flush(&pipe));
	event_pipe_close(&pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_come_once_each),
		cmocka_unit_test(test_full_pipe_loses_nothing),
		cmocka_unit_test(test_forgotten_source_writes_nothing),
		cmocka_unit_test(test_closed_reader_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
