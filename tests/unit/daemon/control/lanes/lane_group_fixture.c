/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/control/lanes/lane_group_fixture.h"

#include "lib/nic/port/udp/udp_sockets.h"
#include "proto/wire/gid.h"
#include "tests/unit/all_descriptors.h"
#include "tests/unit/unit_test.h"

#include <grp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOBODY	65534
#define WAIT_MS 5000

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

struct port_guards lane_fixture_guards;

/*
 * On a host where a daemon of root runs, the ports of lanes are root's. A network namespace of the
 * test's own has all of them.
 */
static void leave_the_network(void)
{
	if (unshare(CLONE_NEWNET) != 0 || system("ip link set lo up") != 0)
		print_message("no network namespace: the test needs the ports of the host\n");
}

int lane_fixture_be_ordinary(void **state)
{
	(void)state;
	if (!take_all_descriptors())
		return -1;
	port_guards_init(&lane_fixture_guards, geteuid() == 0 ? NOBODY : geteuid());
	if (geteuid() != 0)
		return 0;
	leave_the_network();
	if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) != 0)
		return -1;
	/* Processes that the test makes may look at each other, as those of a user may. */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

void lane_fixture_open(struct lane_group *group, const struct rnic_gid *gid, uint16_t udp_port,
		       uint32_t socket_count)
{
	const struct lane_group_options options = {
		.gid = *gid,
		.udp_port = udp_port,
		.socket_count = socket_count,
		.is_gro_on = true,
		.guards = &lane_fixture_guards,
	};
	char text[PORT_TEXT_BYTES];
	int result = lane_group_open(group, &options, text);

	if (result != 0)
		print_message("%s\n", text);
	assert_int_equal(result, 0);
	assert_string_equal(text, "");
	assert_int_equal(group->socket_count, socket_count);
}

struct lane_datagram lane_fixture_datagram(uint32_t dest_qpn, uint32_t number)
{
	return (struct lane_datagram){
		.bth = {[5] = (uint8_t)(dest_qpn >> 16),
			(uint8_t)(dest_qpn >> 8),
			(uint8_t)dest_qpn},
		.number = number,
	};
}

ssize_t lane_fixture_send(int fd, const struct lane_group *group,
			  const struct lane_datagram *datagrams, uint32_t count)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(uint16_t)),
				.cmsg_level = IPPROTO_UDP,
				.cmsg_type = UDP_SEGMENT}};
	const uint16_t segment_bytes = sizeof(*datagrams);
	struct iovec vector = {(void *)datagrams, count * sizeof(*datagrams)};
	union udp_address address;
	struct msghdr header = {
		.msg_name = &address,
		.msg_namelen =
			udp_address_write(&address, &group->options.gid, group->options.udp_port,
					  group->options.netdev_index),
		.msg_iov = &vector,
		.msg_iovlen = 1,
	};

	if (count > 1) {
		memcpy(CMSG_DATA(&control.header), &segment_bytes, sizeof(segment_bytes));
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
	}
	return sendmsg(fd, &header, 0);
}

uint32_t lane_fixture_receive(int fd, struct lane_datagram *into, uint32_t max)
{
	ssize_t bytes = recv(fd, into, max * sizeof(*into), MSG_DONTWAIT | MSG_TRUNC);

	if (bytes < 0) {
		assert_int_equal(errno, EAGAIN);
		return 0;
	}
	assert_true((size_t)bytes <= max * sizeof(*into));
	assert_int_equal((size_t)bytes % sizeof(*into), 0);
	return (uint32_t)((size_t)bytes / sizeof(*into));
}

bool lane_fixture_wait(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	return poll(&polled, 1, WAIT_MS) > 0;
}

int lane_fixture_socket(const struct lane_group *group)
{
	int fd = socket(rnic_gid_is_ipv4(&group->options.gid) ? AF_INET : AF_INET6,
			SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return fd;
}
