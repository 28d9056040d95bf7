/* SPDX-License-Identifier: MIT */
/* Whose the ports are that the device sends from, where the test may be two users. */
#include "daemon/control/lanes/port_guards.h"

#include "daemon/control/lanes/port_holder.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ORDINARY 31001
#define STRANGER 31002
#define FIRST	 61000
#define LAST	 62016

static struct port_guards guards, others;
static char text[PORT_GUARDS_WARNING_BYTES];

/* Binds 127.0.0.1:`port` as the user, with SO_REUSEPORT. Negative errno of bind(2). */
static int bind_as(uid_t user, uint16_t port)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port),
	};
	const int on = 1;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), result = 0;

	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, user, (gid_t)-1), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		result = -errno;
	if (result == 0)
		return fd;
	close(fd);
	return result;
}

static void expect_held(uid_t user, uint16_t port)
{
	int fd;

	assert_int_equal(bind_as(STRANGER, port), -EADDRINUSE);
	fd = bind_as(user, port);
	assert_true(fd >= 0);
	close(fd);
}

static void expect_free(uint16_t port)
{
	int fd = bind_as(STRANGER, port);

	assert_true(fd >= 0);
	close(fd);
}

/* Root's daemon holds the ports of all lanes, for whoever gets one. */
static void test_all_ports(void **state)
{
	(void)state;
	port_guards_init(&guards, 0);
	port_guards_hold_all(&guards, PORT_GUARDS_LANES);
	for (uint16_t port = FIRST; port <= LAST; port++)
		expect_held(0, port);
	expect_free(FIRST - 1);
	expect_free(LAST + 1);
	assert_int_equal(port_guards_port(&guards, 0, 0), LAST);
	assert_int_equal(port_guards_port(&guards, 0xfe, 7), LAST - 1);
	port_guards_text(&guards, text);
	assert_string_equal(text, "1017 held");
	assert_false(port_guards_warning(&guards, text));
	assert_true(port_guards_take_news(&guards));
	assert_false(port_guards_take_news(&guards));
	/* Another daemon of the same user has them, too. */
	port_guards_init(&others, 0);
	port_guards_hold_all(&others, PORT_GUARDS_LANES);
	assert_int_equal(others.taken_count + others.open_count, 0);
	port_guards_close(&guards);
	expect_held(0, FIRST);
	port_guards_close(&others);
	expect_free(FIRST);
}

/* A daemon of an ordinary user holds the ports of the lanes that it uses. */
static void test_lane_by_lane(void **state)
{
	(void)state;
	port_guards_init(&guards, ORDINARY);
	port_guards_hold(&guards, 0x81);
	port_guards_hold(&guards, 0x81);
	port_guards_hold(&guards, 0);
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		expect_held(ORDINARY, port_guards_port(&guards, 0x81, i));
	expect_held(ORDINARY, LAST);
	expect_free(FIRST);
	port_guards_text(&guards, text);
	assert_string_equal(text, "9 held");
	port_guards_close(&guards);
}

/* The user's daemon next to root's: it sends from ports that root does not hold, and holds those.
 */
static void test_next_to_root(void **state)
{
	uint16_t port;

	(void)state;
	port_guards_init(&others, 0);
	port_guards_hold_all(&others, PORT_GUARDS_LANES);
	port_guards_init(&guards, ORDINARY);
	port_guards_hold(&guards, 0x80);
	port_guards_hold(&guards, 0);
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++) {
		port = port_guards_port(&guards, 0x80, i);
		assert_false(port >= FIRST && port <= LAST);
		expect_held(ORDINARY, port);
		assert_true(i == 0 || port != port_guards_port(&guards, 0x80, i - 1));
	}
	port_guards_text(&guards, text);
	assert_string_equal(text, "9 held, 9 of them instead of ports of other programs");
	assert_true(port_guards_warning(&guards, text));
	print_message("%s\n", text);
	assert_non_null(strstr(text, "others have 9 of the UDP ports"));
	assert_non_null(strstr(text, "(user 0 has 61000)"));
	port_guards_close(&guards);
	port_guards_close(&others);
}

/* A stranger was there before root's daemon, with more sockets than the kernel compares one by one.
 */
static void check_stranger(uint32_t socket_count)
{
	int fds[16];

	for (uint32_t i = 0; i < socket_count; i++)
		fds[i] = bind_as(STRANGER, FIRST + 9);
	port_guards_init(&guards, 0);
	port_guards_hold_all(&guards, 2);
	assert_int_equal(guards.taken_count, 1);
	assert_int_equal(guards.guarded_count, 2 * RNIC_LANE_SEND_SOCKETS + 1);
	assert_int_not_equal(port_guards_port(&guards, 0x81, 1), FIRST + 9);
	expect_held(0, port_guards_port(&guards, 0x81, 1));
	assert_true(port_guards_warning(&guards, text));
	assert_non_null(strstr(text, "others have 1 of the UDP ports"));
	assert_non_null(strstr(text, "(user 31002 has 61009)"));
	port_guards_close(&guards);
	for (uint32_t i = 0; i < socket_count; i++)
		close(fds[i]);
}

static void test_stranger_was_first(void **state)
{
	(void)state;
	check_stranger(1);
	check_stranger(16);
}

/* The linker lets the code under test call this in place of socket(2). */
int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);

static bool has_no_ipv6;

int __wrap_socket(int domain, int type, int protocol)
{
	if (domain == AF_INET6 && has_no_ipv6) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return __real_socket(domain, type, protocol);
}

static void test_host_without_ipv6(void **state)
{
	(void)state;
	has_no_ipv6 = true;
	port_guards_init(&guards, 0);
	port_guards_hold(&guards, 0);
	expect_held(0, LAST);
	port_guards_close(&guards);
	has_no_ipv6 = false;
}

static void test_no_descriptors(void **state)
{
	struct rlimit before, few;
	int fd = dup(0);

	(void)state;
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){(rlim_t)fd + 4, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	port_guards_init(&guards, 0);
	port_guards_hold(&guards, 0x80);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(guards.guarded_count, 4);
	assert_int_equal(guards.open_count, RNIC_LANE_SEND_SOCKETS - 4);
	assert_int_equal(port_guards_port(&guards, 0x80, 7), FIRST + 7);
	port_guards_text(&guards, text);
	assert_string_equal(text, "4 held, 4 open to other users");
	assert_true(port_guards_warning(&guards, text));
	assert_non_null(strstr(text, "other users can send from 4 of the UDP ports of this "
				     "device: no socket holds them: Too many open files"));
	port_guards_close(&guards);
}

static int be_alone(void **state)
{
	struct rlimit files = {4096, 4096};

	(void)state;
	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0 || system("ip link set lo up") != 0 ||
	    setrlimit(RLIMIT_NOFILE, &files) != 0) {
		print_message("skipped: the test needs root and a network namespace\n");
		exit(0);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_ports),	  cmocka_unit_test(test_lane_by_lane),
		cmocka_unit_test(test_next_to_root),	  cmocka_unit_test(test_stranger_was_first),
		cmocka_unit_test(test_host_without_ipv6), cmocka_unit_test(test_no_descriptors),
	};

	return cmocka_run_group_tests(tests, be_alone, NULL);
}
