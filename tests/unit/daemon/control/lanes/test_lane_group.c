/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/lane_group.h"

#include "lib/nic/port/udp/udp_sockets.h"
#include "proto/wire/gid.h"
#include "tests/unit/daemon/control/lanes/lane_group_fixture.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL LANE_GROUP_SOCKETS_MAX

static int value_of(int fd, int level, int name)
{
	socklen_t bytes = sizeof(int);
	int value = -1;

	assert_int_equal(getsockopt(fd, level, name, &value, &bytes), 0);
	return value;
}

static uint16_t port_of(int fd)
{
	union udp_address address;
	socklen_t bytes = sizeof(address);

	assert_int_equal(getsockname(fd, &address.any, &bytes), 0);
	return ntohs(address.any.sa_family == AF_INET ? address.ipv4.sin_port
						      : address.ipv6.sin6_port);
}

/* A datagram to the queue pair arrives at the socket with the index `expected`, and at no other. */
static void expect_index(const struct lane_group *group, int sender, uint32_t dest_qpn,
			 uint32_t expected)
{
	struct lane_datagram sent = lane_fixture_datagram(dest_qpn, dest_qpn), received = {0};

	assert_int_equal(lane_fixture_send(sender, group, &sent, 1), sizeof(sent));
	assert_true(lane_fixture_wait(group->fds[expected]));
	assert_int_equal(lane_fixture_receive(group->fds[expected], &received, 1), 1);
	assert_int_equal(received.number, dest_qpn);
}

static void expect_silence(const struct lane_group *group)
{
	struct lane_datagram received;

	for (uint32_t i = 0; i < group->socket_count; i++)
		assert_int_equal(lane_fixture_receive(group->fds[i], &received, 1), 0);
}

static void check_steering(struct lane_group *group)
{
	static const uint32_t lane_zero_qpns[] = {0, 1, 2, 0x7fffff, 0x7f0000, 0xff0000, 0xffffff};
	int sender = lane_fixture_socket(group);
	union udp_address address;
	socklen_t address_bytes =
		udp_address_write(&address, &group->options.gid, group->options.udp_port, 0);
	struct lane_datagram received;

	for (uint32_t lane = RNIC_LANE_FIRST; lane <= RNIC_LANE_LAST; lane++) {
		uint32_t index = lane - RNIC_LANE_FIRST + 1;

		expect_index(group, sender, lane << 16, index < group->socket_count ? index : 0);
		expect_index(group, sender, lane << 16 | 0xffff,
			     index < group->socket_count ? index : 0);
	}
	for (size_t i = 0; i < COUNT_OF(lane_zero_qpns); i++)
		expect_index(group, sender, lane_zero_qpns[i], 0);
	/* A datagram too short for a destination queue pair. */
	for (size_t length = 0; length <= 5; length++) {
		assert_int_equal(sendto(sender, "\x80\x80\x80\x80\x80", length, 0, &address.any,
					address_bytes),
				 length);
		assert_true(lane_fixture_wait(group->fds[0]));
		assert_int_equal(recv(group->fds[0], &received, sizeof(received), 0), length);
	}
	expect_silence(group);
	close(sender);
}

static void test_steering_ipv4(void **state)
{
	struct rnic_gid gid = fixture_own_gid(1);
	struct lane_group group;

	(void)state;
	lane_fixture_open(&group, &gid, 0, ALL);
	assert_true(lane_group_is_steered(&group));
	assert_int_equal(port_of(group.fds[0]), RNIC_UDP_PORT);
	check_steering(&group);
	lane_group_close(&group);
}

static void test_steering_ipv6(void **state)
{
	struct rnic_gid gid = fixture_gid("::1");
	struct lane_group group;

	(void)state;
	if (access("/proc/net/if_inet6", F_OK) != 0) {
		print_message("skipped: no IPv6\n");
		return;
	}
	lane_fixture_open(&group, &gid, fixture_udp_port(), ALL);
	check_steering(&group);
	lane_group_close(&group);
}

static void test_small_group(void **state)
{
	struct rnic_gid gid = fixture_own_gid(2);
	struct lane_group group;

	(void)state;
	lane_fixture_open(&group, &gid, 0, 5);
	check_steering(&group);
	lane_group_close(&group);
}

/* Without steering, the first lane and lane 0 have the only socket by turns. */
static void test_one_socket(void **state)
{
	struct rnic_gid gid = fixture_own_gid(3);
	struct lane_group group;
	struct udp_lane_sockets sockets;
	char text[PORT_TEXT_BYTES];

	(void)state;
	lane_fixture_open(&group, &gid, 0, 1);
	assert_false(lane_group_is_steered(&group));
	check_steering(&group);
	assert_int_equal(lane_group_take(&group, 0, &sockets, text), 0);
	assert_int_equal(port_of(sockets.receive_fd), RNIC_UDP_PORT);
	assert_true(sockets.send_fds[0] >= 0);
	assert_int_equal(sockets.send_fds[1], -1);
	udp_lane_sockets_close(&sockets);
	/* The first lane never sends by it. */
	assert_int_equal(lane_group_take(&group, RNIC_LANE_FIRST, &sockets, text), 0);
	assert_int_equal(port_of(sockets.receive_fd), RNIC_UDP_PORT);
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		assert_int_equal(port_of(sockets.send_fds[i]), 61000 + i);
	udp_lane_sockets_close(&sockets);
	/* Meanwhile lane 0 can send. */
	assert_int_equal(lane_group_take_sender(&group, &sockets, text), 0);
	assert_int_equal(port_of(sockets.receive_fd), 62016);
	assert_int_equal(sockets.send_fds[0], -1);
	udp_lane_sockets_close(&sockets);
	lane_group_close(&group);
}

static void test_exclusive(void **state)
{
	struct lane_group_options options = {.gid = fixture_own_gid(4), .socket_count = 2};
	struct lane_group first, second;
	struct udp_lane_sockets held;
	char text[PORT_TEXT_BYTES], expected[64];

	(void)state;
	lane_fixture_open(&first, &options.gid, 0, 2);
	snprintf(expected, sizeof(expected), "is taken by PID %d (", (int)getpid());
	assert_int_equal(lane_group_open(&second, &options, text), -EADDRINUSE);
	print_message("%s\n", text);
	assert_non_null(strstr(text, "UDP port 4791 on 127."));
	assert_non_null(strstr(text, expected));
	/* A holder of a lane keeps the port too. */
	assert_int_equal(lane_group_take(&first, 0x80, &held, text), 0);
	lane_group_close(&first);
	assert_int_equal(lane_group_open(&second, &options, text), -EADDRINUSE);
	udp_lane_sockets_close(&held);
	assert_int_equal(lane_group_open(&second, &options, text), 0);
	lane_group_close(&second);
}

static void send_descriptor(int way_fd, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec data = {.iov_base = "", .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	control.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(fd)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	};
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	assert_int_equal(sendmsg(way_fd, &message, MSG_NOSIGNAL), 1);
}

/* A socket on its way between two processes belongs to no process: nobody can be named. */
static void test_nobody_visible(void **state)
{
	struct lane_group_options options = {.gid = fixture_own_gid(12), .socket_count = 2};
	struct lane_group first, second;
	char text[PORT_TEXT_BYTES];
	int ways[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ways), 0);
	lane_fixture_open(&first, &options.gid, 0, 1);
	send_descriptor(ways[0], first.fds[0]);
	lane_group_close(&first);
	assert_int_equal(lane_group_open(&second, &options, text), -EBUSY);
	assert_non_null(strstr(text, "is taken by another program; ss -lnup shows by which"));
	close(ways[0]);
	close(ways[1]);
	assert_int_equal(lane_group_open(&second, &options, text), 0);
	lane_group_close(&second);
}

/* Waits in the kernel for the end of the child of vfork(2), as a hung process waits. */
static void hang(const int ready_fds[2])
{
	if (vfork() == 0) {
		if (write(ready_fds[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	_exit(0);
}

static void test_hung_holder(void **state)
{
	struct lane_group_options options = {.gid = fixture_own_gid(11), .socket_count = 2};
	char text[PORT_TEXT_BYTES], byte, expected[64];
	struct lane_group first, second;
	int ready_fds[2], result;
	pid_t holder;

	(void)state;
	assert_int_equal(pipe(ready_fds), 0);
	lane_fixture_open(&first, &options.gid, 0, 2);
	holder = fork();
	assert_true(holder >= 0);
	if (holder == 0) {
		/* The group lets the child of vfork(2) be killed with its parent. */
		setpgid(0, 0);
		hang(ready_fds);
	}
	assert_int_equal(read(ready_fds[0], &byte, 1), 1);
	lane_group_close(&first);
	result = lane_group_open(&second, &options, text);
	kill(-holder, SIGKILL);
	waitpid(holder, NULL, 0);
	print_message("%s\n", text);
	snprintf(expected, sizeof(expected), "is taken by PID %d (test_lane_group), which hangs",
		 (int)holder);
	assert_int_equal(result, -EADDRINUSE);
	assert_non_null(strstr(text, expected));
	close(ready_fds[0]);
	close(ready_fds[1]);
}

/* A stranger with the port at all addresses, of either family, keeps the group from opening. */
static void check_wildcard(int family, uint8_t host)
{
	struct lane_group_options options = {.gid = fixture_own_gid(host), .socket_count = 2};
	union udp_address any = {.any.sa_family = (sa_family_t)family};
	socklen_t bytes = family == AF_INET ? sizeof(any.ipv4) : sizeof(any.ipv6);
	struct lane_group group;
	char text[PORT_TEXT_BYTES];
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	assert_int_equal(bind(fd, &any.any, bytes), 0);
	options.udp_port = port_of(fd);
	assert_int_equal(lane_group_open(&group, &options, text), -EADDRINUSE);
	assert_non_null(strstr(text, "is taken by PID"));
	close(fd);
}

static void test_wildcard(void **state)
{
	(void)state;
	check_wildcard(AF_INET, 5);
	check_wildcard(AF_INET6, 6);
}

static void test_no_such_address(void **state)
{
	const struct lane_group_options options = {.gid = fixture_gid("192.0.2.77"),
						   .socket_count = 3};
	struct lane_group group;
	char text[PORT_TEXT_BYTES];

	(void)state;
	assert_int_equal(lane_group_open(&group, &options, text), -EADDRNOTAVAIL);
	assert_non_null(strstr(text, "192.0.2.77 is not an address of this machine"));
	assert_int_equal(group.socket_count, 0);
}

static void test_send_sockets(void **state)
{
	struct rnic_gid gid = fixture_own_gid(7);
	struct lane_group group;
	struct udp_lane_sockets sockets, again;
	char text[PORT_TEXT_BYTES];

	(void)state;
	lane_fixture_open(&group, &gid, 0, ALL);
	assert_int_equal(lane_group_take(&group, 0xfe, &sockets, text), 0);
	assert_int_equal(port_of(sockets.receive_fd), RNIC_UDP_PORT);
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++) {
		struct lane_datagram datagram = lane_fixture_datagram(0xfe0001, i);

		assert_int_equal(port_of(sockets.send_fds[i]), 61000 + 8 * 126 + i);
		assert_int_equal(value_of(sockets.send_fds[i], IPPROTO_IP, IP_MTU_DISCOVER),
				 IP_PMTUDISC_PROBE);
		assert_true(fcntl(sockets.send_fds[i], F_GETFD) & FD_CLOEXEC);
		assert_true(fcntl(sockets.send_fds[i], F_GETFL) & O_NONBLOCK);
		lane_fixture_send(sockets.send_fds[i], &group, &datagram, 1);
		assert_true(lane_fixture_wait(sockets.receive_fd));
		assert_int_equal(lane_fixture_receive(sockets.receive_fd, &datagram, 1), 1);
		assert_int_equal(datagram.number, i);
	}
	/* Ports in use are no reason to fail. */
	assert_int_equal(lane_group_take(&group, 0xfe, &again, text), 0);
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		assert_int_not_equal(port_of(again.send_fds[i]), 0);
	udp_lane_sockets_close(&again);
	udp_lane_sockets_close(&sockets);
	assert_int_equal(lane_group_take(&group, 0, &sockets, text), 0);
	assert_true(sockets.receive_fd >= 0);
	assert_int_equal(port_of(sockets.send_fds[0]), 61000 + 8 * 127);
	for (uint32_t i = 1; i < RNIC_LANE_SEND_SOCKETS; i++)
		assert_int_equal(sockets.send_fds[i], -1);
	udp_lane_sockets_close(&sockets);
	lane_group_close(&group);
}

/* Strangers cannot fill send sockets, which nobody reads. */
static void test_send_sockets_hear_nothing(void **state)
{
	struct rnic_gid gid = fixture_own_gid(8);
	struct lane_group group, fake;
	struct udp_lane_sockets sockets;
	struct lane_datagram datagram = lane_fixture_datagram(0x800001, 1);
	char text[PORT_TEXT_BYTES];
	struct pollfd polled = {.events = POLLIN};

	(void)state;
	lane_fixture_open(&group, &gid, 0, 2);
	assert_int_equal(lane_group_take(&group, 0x80, &sockets, text), 0);
	fake = group;
	fake.options.udp_port = port_of(sockets.send_fds[1]);
	lane_fixture_send(sockets.send_fds[0], &fake, &datagram, 1);
	/* The second datagram arrives behind the first one. */
	lane_fixture_send(sockets.send_fds[0], &group, &datagram, 1);
	assert_true(lane_fixture_wait(sockets.receive_fd));
	polled.fd = sockets.send_fds[1];
	assert_int_equal(poll(&polled, 1, 0), 0);
	udp_lane_sockets_close(&sockets);
	lane_group_close(&group);
}

/* The linker lets the code under test call this in place of setsockopt(2). */
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t bytes);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t bytes);

static uint32_t programs_attached;

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
	programs_attached += level == SOL_SOCKET && name == SO_ATTACH_REUSEPORT_CBPF;
	return __real_setsockopt(fd, level, name, value, bytes);
}

/* Lanes that come and go leave the program alone: a change under traffic is not safe. */
static void test_one_program(void **state)
{
	struct rnic_gid gid = fixture_own_gid(13);
	struct lane_group group;
	struct udp_lane_sockets sockets;
	char text[PORT_TEXT_BYTES];

	(void)state;
	programs_attached = 0;
	lane_fixture_open(&group, &gid, 0, 4);
	assert_int_equal(programs_attached, 1);
	for (uint8_t lane = 0x80; lane < 0x83; lane++) {
		assert_int_equal(lane_group_take(&group, lane, &sockets, text), 0);
		udp_lane_sockets_close(&sockets);
		lane_group_give_back(&group, lane);
	}
	assert_int_equal(programs_attached, 1);
	lane_group_close(&group);
}

/* A holder leaves a filter. */
static void test_filter_left_behind(void **state)
{
	struct rnic_gid gid = fixture_own_gid(12);
	struct lane_group group;
	struct udp_lane_sockets sockets;
	struct sock_filter to_nobody[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	const struct sock_fprog filter = {1, to_nobody};
	char text[PORT_TEXT_BYTES];
	int sender;

	(void)state;
	lane_fixture_open(&group, &gid, 0, 3);
	sender = lane_fixture_socket(&group);
	assert_int_equal(lane_group_take(&group, 0x80, &sockets, text), 0);
	assert_int_equal(setsockopt(sockets.receive_fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter,
				    sizeof(filter)),
			 0);
	udp_lane_sockets_close(&sockets);
	lane_group_give_back(&group, 0x80);
	assert_int_equal(lane_group_take(&group, 0x80, &sockets, text), 0);
	expect_index(&group, sender, 0x800001, 1);
	udp_lane_sockets_close(&sockets);
	close(sender);
	lane_group_close(&group);
}

static void test_drain(void **state)
{
	enum { BATCH = 16, BATCHES = 20 };
	struct rnic_gid gid = fixture_own_gid(9);
	struct lane_datagram batch[BATCH];
	struct lane_group group;
	struct udp_lane_sockets sockets;
	char text[PORT_TEXT_BYTES];
	int sender;

	(void)state;
	for (uint32_t i = 0; i < BATCH; i++)
		batch[i] = lane_fixture_datagram(0x810000 + i, i);
	lane_fixture_open(&group, &gid, 0, 4);
	sender = lane_fixture_socket(&group);
	assert_int_equal(lane_group_take(&group, 0x81, &sockets, text), 0);
	assert_true(value_of(sockets.receive_fd, SOL_SOCKET, SO_RCVBUF) > 100000);
	for (uint32_t i = 0; i < BATCHES; i++)
		assert_true(lane_fixture_send(sender, &group, batch, BATCH) > 0);
	/* The last one behind all others, to be alone in its lane. */
	batch[0] = lane_fixture_datagram(0x820000, 0);
	lane_fixture_send(sender, &group, batch, 1);
	assert_true(lane_fixture_wait(group.fds[3]));
	udp_lane_sockets_close(&sockets);
	assert_int_equal(group.drained, 0);
	lane_group_give_back(&group, 0x81);
	assert_int_equal(group.drained, BATCH * BATCHES);
	assert_true(value_of(group.fds[2], SOL_SOCKET, SO_RCVBUF) < 10000);
	assert_int_equal(lane_group_take(&group, 0x81, &sockets, text), 0);
	assert_int_equal(lane_fixture_receive(sockets.receive_fd, batch, BATCH), 0);
	assert_true(value_of(sockets.receive_fd, SOL_SOCKET, SO_RCVBUF) > 100000);
	udp_lane_sockets_close(&sockets);
	/* The other lane is untouched. */
	assert_int_equal(lane_fixture_receive(group.fds[3], batch, BATCH), 1);
	close(sender);
	lane_group_close(&group);
}

static void test_gro(void **state)
{
	struct rnic_gid gid = fixture_own_gid(10);
	struct lane_group group;

	(void)state;
	lane_fixture_open(&group, &gid, 0, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(value_of(group.fds[i], IPPROTO_UDP, 104), 1);
	lane_group_set_gro(&group, false);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(value_of(group.fds[i], IPPROTO_UDP, 104), 0);
	lane_group_close(&group);
}

static void test_permitted(void **state)
{
	static const struct {
		rlim_t hard;
		uint32_t descriptors_each, expected;
	} cases[] = {{1 << 20, 51, 128}, {13056, 51, 128}, {4096, 51, 40}, {1024, 51, 10},
		     {1024, 5, 102},	 {100, 5, 10},	   {64, 51, 1},	   {40, 51, 1}};
	struct rlimit before, files;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	/* Each limit is lower than the last one: an ordinary user cannot raise it again. */
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		if (cases[i].hard > before.rlim_max)
			continue;
		files = (struct rlimit){cases[i].hard, cases[i].hard};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
		assert_int_equal(lane_group_sockets_permitted(cases[i].descriptors_each),
				 cases[i].expected);
	}
}

static long slab_kib(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	long kib = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "Slab: %ld", &kib) == 1)
			break;
	if (file != NULL)
		fclose(file);
	return kib;
}

static void test_price(void **state)
{
	enum { GROUPS = 4 };
	static struct lane_group groups[GROUPS];
	static struct udp_lane_sockets sockets[GROUPS];
	char text[PORT_TEXT_BYTES];
	uint64_t begin_ns, open_ns, take_ns;
	long begin_kib = slab_kib(), end_kib;

	(void)state;
	begin_ns = fixture_now_ns();
	for (uint8_t i = 0; i < GROUPS; i++) {
		struct rnic_gid gid = fixture_own_gid((uint8_t)(20 + i));

		lane_fixture_open(&groups[i], &gid, 0, ALL);
	}
	open_ns = fixture_now_ns();
	end_kib = slab_kib();
	for (uint8_t i = 0; i < GROUPS; i++)
		assert_int_equal(lane_group_take(&groups[i], 0x80, &sockets[i], text), 0);
	take_ns = fixture_now_ns();
	print_message("a group of %u sockets: %u us, %ld KiB of slabs; a lane of it: %u us\n", ALL,
		      (unsigned int)((open_ns - begin_ns) / GROUPS / 1000),
		      (end_kib - begin_kib) / GROUPS,
		      (unsigned int)((take_ns - open_ns) / GROUPS / 1000));
	for (uint32_t i = 0; i < GROUPS; i++) {
		udp_lane_sockets_close(&sockets[i]);
		lane_group_close(&groups[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steering_ipv4),
		cmocka_unit_test(test_steering_ipv6),
		cmocka_unit_test(test_small_group),
		cmocka_unit_test(test_one_socket),
		cmocka_unit_test(test_exclusive),
		cmocka_unit_test(test_nobody_visible),
		cmocka_unit_test(test_hung_holder),
		cmocka_unit_test(test_wildcard),
		cmocka_unit_test(test_no_such_address),
		cmocka_unit_test(test_send_sockets),
		cmocka_unit_test(test_send_sockets_hear_nothing),
		cmocka_unit_test(test_one_program),
		cmocka_unit_test(test_filter_left_behind),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_gro),
		cmocka_unit_test(test_price),
		cmocka_unit_test(test_permitted),
	};

	return cmocka_run_group_tests(tests, lane_fixture_be_ordinary, NULL);
}
