/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/port/udp/udp_lane_fixture.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <string.h>
#include <unistd.h>

#define BTH_LANE_OFFSET 5

static int open_bound(const struct udp_lane_fixture *fixture, uint16_t udp_port, bool is_shared)
{
	union udp_address address;
	socklen_t address_bytes = udp_address_write(&address, &fixture->gid, udp_port, 0);
	int fd = socket(address.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int one = 1;

	assert_true(fd >= 0);
	assert_int_equal(udp_socket_set_options(fd, &fixture->gid, 0), 0);
	if (is_shared)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)), 0);
	if (bind(fd, &address.any, address_bytes) == 0)
		return fd;
	close(fd);
	return -errno;
}

/* The index in the group: the top byte of the QPN less RNIC_LANE_ZERO; 0 for what is outside. */
static void attach_program(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, BTH_LANE_OFFSET),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, RNIC_LANE_FIRST, 0, 2),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, RNIC_LANE_ZERO),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, UDP_LANE_FIXTURE_SOCKETS, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	const struct sock_fprog program = {RNIC_COUNT_OF(code), code};

	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)), 0);
}

bool udp_lane_fixture_open(struct udp_lane_fixture *fixture, const struct rnic_gid *gid,
			   uint16_t udp_port)
{
	*fixture = (struct udp_lane_fixture){.gid = *gid, .udp_port = udp_port};
	for (int i = 0; i < UDP_LANE_FIXTURE_SOCKETS; i++) {
		fixture->fds[i] = open_bound(fixture, udp_port, true);
		if (i == 0 && fixture->fds[0] < 0) {
			print_message("skipped: %s\n", strerror(-fixture->fds[0]));
			return false;
		}
		assert_true(fixture->fds[i] >= 0);
	}
	attach_program(fixture->fds[0]);
	return true;
}

void udp_lane_fixture_close(struct udp_lane_fixture *fixture)
{
	for (int i = 0; i < UDP_LANE_FIXTURE_SOCKETS; i++)
		close(fixture->fds[i]);
}

struct udp_lane_sockets udp_lane_fixture_sockets(const struct udp_lane_fixture *fixture,
						 uint8_t lane)
{
	struct udp_lane_sockets sockets = {
		.receive_fd = fcntl(fixture->fds[lane - RNIC_LANE_ZERO], F_DUPFD_CLOEXEC, 0),
	};

	assert_true(sockets.receive_fd >= 0);
	for (int i = 0; i < RNIC_LANE_SEND_SOCKETS; i++) {
		sockets.send_fds[i] = lane == RNIC_LANE_ZERO ? -1 : open_bound(fixture, 0, false);
		assert_true(lane == RNIC_LANE_ZERO || sockets.send_fds[i] >= 0);
	}
	return sockets;
}

uint16_t udp_lane_fixture_port_of(int fd)
{
	union udp_address address;
	socklen_t address_bytes = sizeof(address);

	assert_int_equal(getsockname(fd, &address.any, &address_bytes), 0);
	return ntohs(address.any.sa_family == AF_INET ? address.ipv4.sin_port
						      : address.ipv6.sin6_port);
}

void udp_lane_fixture_set_qpn(struct datagram *datagram, uint32_t dest_qpn)
{
	datagram->bytes[BTH_LANE_OFFSET] = (uint8_t)(dest_qpn >> 16);
	datagram->bytes[BTH_LANE_OFFSET + 1] = (uint8_t)(dest_qpn >> 8);
	datagram->bytes[BTH_LANE_OFFSET + 2] = (uint8_t)dest_qpn;
}
