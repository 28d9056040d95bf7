/* SPDX-License-Identifier: MIT */
/* The log goes to standard error, which is a file of the test here. */
#include "daemon/control/supervisor/child_log.h"

#include "daemon/shared/base/log.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static struct child_log child;
static int epoll_fd, write_fd, log_fd, saved_fd;
static char text[1 << 16];

static int set_up(void **state)
{
	(void)state;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	log_fd = memfd_create("log", MFD_CLOEXEC);
	saved_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	child_log_init(&child);
	return epoll_fd < 0 || log_fd < 0 || saved_fd < 0 ||
	       child_log_open(&child, 1000, epoll_fd, &child, &write_fd) != 0;
}

static int tear_down(void **state)
{
	(void)state;
	child_log_close(&child);
	if (write_fd >= 0)
		close(write_fd);
	close(saved_fd);
	close(log_fd);
	close(epoll_fd);
	return 0;
}

static void say(const char *bytes)
{
	assert_int_equal(write(write_fd, bytes, strlen(bytes)), strlen(bytes));
}

static bool is_watched_and_ready(void)
{
	struct epoll_event event;
	const int count = epoll_wait(epoll_fd, &event, 1, 0);

	if (count == 1)
		assert_ptr_equal(event.data.ptr, &child);
	return count == 1;
}

/* What one read writes to standard error. */
static const char *read_log(uint64_t now_ns)
{
	ssize_t bytes;

	assert_int_equal(ftruncate(log_fd, 0), 0);
	assert_int_equal(lseek(log_fd, 0, SEEK_SET), 0);
	dup2(log_fd, STDERR_FILENO);
	child_log_read(&child, now_ns);
	dup2(saved_fd, STDERR_FILENO);
	bytes = pread(log_fd, text, sizeof(text) - 1, 0);
	assert_true(bytes >= 0);
	text[bytes] = '\0';
	return text;
}

static void test_lines_have_the_user_in_front(void **state)
{
	(void)state;
	assert_false(is_watched_and_ready());
	say("rnicd: no io_uring\nhal");
	assert_true(is_watched_and_ready());
	assert_string_equal(read_log(1), "rnicd: user 1000: no io_uring\n");
	assert_string_equal(read_log(2), "");
	say("f\n\nrnicd: the end\n");
	assert_string_equal(read_log(3), "rnicd: user 1000: half\nrnicd: user 1000: the end\n");
}

static void test_lines_are_printable_and_short(void **state)
{
	char line[2 * CHILD_LOG_LINE_BYTES];

	(void)state;
	say("\033[2J\r\xc3\xa4%s%n\n");
	assert_string_equal(read_log(1), "rnicd: user 1000: ?[2J???%s%n\n");
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 2] = '\n';
	line[sizeof(line) - 1] = '\0';
	say(line);
	read_log(2);
	assert_int_equal(strlen(text),
			 sizeof("rnicd: user 1000: \n") - 1 + CHILD_LOG_LINE_BYTES - 1);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

/* Whoever writes without an end is read rarely, in bounded pieces, and logged more rarely still. */
static void test_flood_is_bounded(void **state)
{
	char lines[4096];
	size_t written = 0;
	uint64_t now_ns = SECOND;
	unsigned count = 0, reads = 0;

	(void)state;
	memset(lines, '\n', sizeof(lines));
	for (size_t i = 0; i < sizeof(lines); i += 2)
		lines[i] = 'x';
	for (ssize_t bytes; (bytes = write(write_fd, lines, sizeof(lines))) > 0;)
		written += (size_t)bytes;
	assert_int_equal(errno, EAGAIN); /* the writer does not wait */
	assert_true(written > 8192);
	while (written > 0 && reads++ < 100) {
		for (const char *at = read_log(now_ns); (at = strchr(at, '\n')) != NULL; at++)
			count++;
		written -= sizeof(lines) < written ? sizeof(lines) : written;
		assert_false(is_watched_and_ready());
		assert_string_equal(read_log(now_ns), "");
		assert_true(child_log_next_deadline_ns(&child) > now_ns);
		now_ns = child_log_next_deadline_ns(&child);
	}
	assert_true(count > 0 && count < 200);
	/* It is watched again when there is less. */
	read_log(now_ns);
	assert_true(child_log_next_deadline_ns(&child) == UINT64_MAX);
	say("y\n");
	assert_true(is_watched_and_ready());
}

static void test_the_end(void **state)
{
	(void)state;
	say("last words");
	close(write_fd);
	write_fd = -1;
	assert_true(is_watched_and_ready());
	read_log(1);
	assert_string_equal(read_log(2), "rnicd: user 1000: last words\n");
	assert_int_equal(child.fd, -1);
	assert_false(is_watched_and_ready());
	assert_string_equal(read_log(3), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines_have_the_user_in_front, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_lines_are_printable_and_short, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flood_is_bounded, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
