/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit_test.h"
#include "tools/lab/exchange/line_reader.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 8 };

struct fixture {
	struct lab_watch watch;
	struct line_reader reader;
	int pipe[2];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(lab_watch_init(&fixture->watch), 0);
	assert_int_equal(pipe(fixture->pipe), 0);
	assert_int_equal(line_reader_init(&fixture->reader, fixture->pipe[0], ROOM), 0);
	*state = fixture;
	return 0;
}

static void end_input(struct fixture *fixture)
{
	close(fixture->pipe[1]);
	fixture->pipe[1] = -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	line_reader_fini(&fixture->reader);
	lab_watch_fini(&fixture->watch);
	close(fixture->pipe[0]);
	close(fixture->pipe[1]);
	free(fixture);
	return 0;
}

static void type(struct fixture *fixture, const char *text)
{
	assert_int_equal(write(fixture->pipe[1], text, strlen(text)), strlen(text));
}

static void expect_line(struct fixture *fixture, const char *wanted)
{
	size_t bytes;
	char *line;

	assert_int_equal(line_reader_next(&fixture->reader, &fixture->watch, &line, &bytes), 1);
	assert_string_equal(line, wanted);
	assert_int_equal(bytes, strlen(wanted));
}

static void expect(struct fixture *fixture, int result)
{
	size_t bytes;
	char *line;

	assert_int_equal(line_reader_next(&fixture->reader, &fixture->watch, &line, &bytes),
			 result);
}

static void test_lines(void **state)
{
	struct fixture *fixture = *state;

	type(fixture, "one\n\n12345678\nto");
	expect_line(fixture, "one");
	expect_line(fixture, "");
	expect_line(fixture, "12345678");
	type(fixture, " be\nlast");
	end_input(fixture);
	expect_line(fixture, "to be");
	expect_line(fixture, "last");
	expect(fixture, 0);
	expect(fixture, 0);
}

static void test_a_line_that_is_too_long_is_skipped(void **state)
{
	struct fixture *fixture = *state;

	type(fixture, "123456789\nnext\n1234567890123456789012345\nafter\n123456789");
	end_input(fixture);
	expect(fixture, -EMSGSIZE);
	expect_line(fixture, "next");
	expect(fixture, -EMSGSIZE);
	expect_line(fixture, "after");
	expect(fixture, -EMSGSIZE);
	expect(fixture, 0);
}

static void test_a_signal_ends_the_wait(void **state)
{
	struct fixture *fixture = *state;

	raise(SIGTERM);
	expect(fixture, -EINTR);
	assert_int_equal(fixture->watch.signal, SIGTERM);
}

static void test_the_end_of_the_peer_ends_the_wait(void **state)
{
	struct fixture *fixture = *state;
	int peer[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, peer), 0);
	fixture->watch.peer_fd = peer[0];
	type(fixture, "typed\n");
	close(peer[1]);
	expect_line(fixture, "typed");
	expect(fixture, -ECONNRESET);
	close(peer[0]);
}

static void test_a_deadline_ends_the_wait(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(lab_wait(&fixture->watch, -1, 0, lab_now_ns() + 1000000), -ETIMEDOUT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_lines),
		TEST(test_a_line_that_is_too_long_is_skipped),
		TEST(test_a_signal_ends_the_wait),
		TEST(test_the_end_of_the_peer_ends_the_wait),
		TEST(test_a_deadline_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
