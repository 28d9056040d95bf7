/* SPDX-License-Identifier: MIT */
#include "daemon/control/main/service_manager.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_FD 3 /* of a service manager's sockets */

static void set_number(const char *name, long number)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", number);
	assert_int_equal(setenv(name, text, 1), 0);
}

static void hand_over(long process, const char *count)
{
	set_number("LISTEN_PID", process);
	assert_int_equal(setenv("LISTEN_FDS", count, 1), 0);
	assert_int_equal(setenv("LISTEN_FDNAMES", "rnicd", 1), 0);
}

static void expect_nothing_left(void)
{
	assert_null(getenv("LISTEN_PID"));
	assert_null(getenv("LISTEN_FDS"));
	assert_null(getenv("LISTEN_FDNAMES"));
}

static void test_no_service_manager(void **state)
{
	int fd = 0;

	(void)state;
	assert_int_equal(service_manager_take_socket(&fd), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(service_manager_tell_ready(), 0);
}

static void test_socket_is_taken(void **state)
{
	const int before = fcntl(FIRST_FD, F_DUPFD_CLOEXEC, FIRST_FD + 1);
	int fd = -1;

	(void)state;
	assert_int_equal(dup2(STDERR_FILENO, FIRST_FD), FIRST_FD);
	hand_over(getpid(), "1");
	assert_int_equal(service_manager_take_socket(&fd), 0);
	assert_int_equal(fd, FIRST_FD);
	assert_int_equal(fcntl(FIRST_FD, F_GETFD), FD_CLOEXEC);
	expect_nothing_left();
	if (before < 0) {
		close(FIRST_FD);
		return;
	}
	assert_int_equal(dup3(before, FIRST_FD, O_CLOEXEC), FIRST_FD);
	close(before);
}

static void test_socket_of_another_process(void **state)
{
	int fd = 0;

	(void)state;
	hand_over(getppid(), "1");
	assert_int_equal(service_manager_take_socket(&fd), 0);
	assert_int_equal(fd, -1);
	expect_nothing_left();
}

static void test_not_one_socket(void **state)
{
	static const char *const counts[] = {"0", "2", "-1", "", "one", "1x"};
	int fd = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		hand_over(getpid(), counts[i]);
		assert_int_equal(service_manager_take_socket(&fd), -EINVAL);
		expect_nothing_left();
	}
}

/* Tells a socket that is bound to `address`, and named `name` in the environment. */
static void expect_ready(const struct sockaddr_un *address, socklen_t bytes, const char *name)
{
	char text[32] = {0};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)address, bytes), 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	assert_int_equal(service_manager_tell_ready(), 0);
	assert_int_equal(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT), 7);
	assert_string_equal(text, "READY=1");
	assert_null(getenv("NOTIFY_SOCKET"));
	close(fd);
}

static void test_ready_at_a_path(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char folder[] = "/tmp/rnic-service-manager-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", folder);
	expect_ready(&address, sizeof(address), address.sun_path);
	assert_int_equal(unlink(address.sun_path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void test_ready_at_an_abstract_name(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[64];
	int length = snprintf(name, sizeof(name), "@rnic-service-manager-%d", (int)getpid());

	(void)state;
	memcpy(address.sun_path + 1, name + 1, (size_t)length - 1);
	expect_ready(&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length),
		     name);
}

static void test_nobody_hears(void **state)
{
	(void)state;
	assert_int_equal(setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1), 0);
	assert_int_equal(service_manager_tell_ready(), -ENOENT);
	assert_int_equal(setenv("NOTIFY_SOCKET", "relative", 1), 0);
	assert_int_equal(service_manager_tell_ready(), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_service_manager),
		cmocka_unit_test(test_socket_is_taken),
		cmocka_unit_test(test_socket_of_another_process),
		cmocka_unit_test(test_not_one_socket),
		cmocka_unit_test(test_ready_at_a_path),
		cmocka_unit_test(test_ready_at_an_abstract_name),
		cmocka_unit_test(test_nobody_hears),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
