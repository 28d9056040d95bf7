/* SPDX-License-Identifier: MIT */
#include "tests/hostile/forged_source.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "proto/wire/packet.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOBODY 65534

#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51 /* Linux 6.3 */
#endif

union socket_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

struct forged_way {
	const char *ipv4; /* NULL: an IPv6 socket with both families, for packets of both */
	const char *ipv6;
	bool reuses_port;
	bool reuses_address;
	bool is_on_device; /* SO_BINDTODEVICE */
	bool asks_range;   /* for any port of a range that is this port alone */
};

/* An address that is nobody's may be bound too (IP_FREEBIND). */
static const struct forged_way forged_ways[] = {
	{"127.0.0.1", "::1", false, false, false, false},
	{"127.0.0.1", "::1", true, false, false, false},
	{"127.0.0.1", "::1", false, true, false, false},
	{"127.0.0.1", "::1", true, true, false, false},
	{"127.0.0.1", "::1", true, false, true, false},
	{"127.0.0.1", "::1", true, false, false, true},
	{"0.0.0.0", "::", false, false, false, false},
	{"0.0.0.0", "::", true, true, true, false},
	{"192.0.2.77", "fd77::77", true, false, false, false},
	{NULL, "::", false, false, false, false},
	{NULL, "::", true, true, false, false},
	{NULL, "::ffff:127.0.0.1", true, false, false, false},
};

uint32_t forged_source_ways(void)
{
	return RNIC_COUNT_OF(forged_ways);
}

bool forged_source_leave_the_network(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0 ||
	    system("ip link set lo up && "
		   "ip address add " FORGED_IPV6_ADDRESS "/128 dev lo nodad") != 0) {
		print_message("skipped: no network namespace of the test's own\n");
		return false;
	}
	return true;
}

static void set_option(int fd, int level, int name, int value)
{
	assert_int_equal(setsockopt(fd, level, name, &value, sizeof(value)), 0);
}

/* The ICRC covers the flag that forbids fragments. */
static int open_socket(const struct forged_way *way, int family)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	set_option(fd, IPPROTO_IP, IP_FREEBIND, 1);
	if (family == AF_INET6)
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	if (way->reuses_port)
		set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (way->reuses_address)
		set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (way->is_on_device)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2), 0);
	return fd;
}

static union socket_address own_name(int fd)
{
	union socket_address address;
	socklen_t bytes = sizeof(address);

	assert_int_equal(getsockname(fd, &address.any, &bytes), 0);
	return address;
}

int forged_source_open(uint32_t way_number, uint16_t port, const struct rnic_gid *gid)
{
	const struct forged_way *way = &forged_ways[way_number];
	const bool is_ipv4 = rnic_gid_is_ipv4(gid) && way->ipv4 != NULL;
	union socket_address address = {.any.sa_family = is_ipv4 ? AF_INET : AF_INET6};
	const uint32_t range = (uint32_t)port << 16 | port;
	int fd, error = 0;

	/* Both families have the port at the same place. */
	address.ipv4.sin_port = htons(port);
	if (is_ipv4)
		inet_pton(AF_INET, way->ipv4, &address.ipv4.sin_addr);
	else
		inet_pton(AF_INET6, way->ipv6, &address.ipv6.sin6_addr);
	assert_int_equal(seteuid(NOBODY), 0);
	fd = open_socket(way, address.any.sa_family);
	/* Where the kernel has no ranges, the port is that of the address. */
	if (way->asks_range &&
	    setsockopt(fd, IPPROTO_IP, IP_LOCAL_PORT_RANGE, &range, sizeof(range)) == 0)
		address.ipv4.sin_port = 0;
	if (bind(fd, &address.any, is_ipv4 ? sizeof(address.ipv4) : sizeof(address.ipv6)) != 0)
		error = -errno;
	assert_int_equal(seteuid(0), 0);
	/* The kernel takes the range as a wish, and may give another port. */
	if (error == 0 && own_name(fd).ipv4.sin_port != htons(port))
		error = -EADDRINUSE;
	if (error == 0)
		return fd;
	close(fd);
	return error;
}

/* To the device's address: an IPv6 socket sends IPv4 packets to its mapped form. */
static socklen_t write_destination(union socket_address *to, const struct rnic_gid *gid,
				   bool is_ipv6)
{
	*to = (union socket_address){.any.sa_family = is_ipv6 ? AF_INET6 : AF_INET};
	to->ipv4.sin_port = htons(RNIC_UDP_PORT);
	if (is_ipv6)
		memcpy(&to->ipv6.sin6_addr, gid->bytes, sizeof(gid->bytes));
	else
		memcpy(&to->ipv4.sin_addr, rnic_gid_ipv4(gid), sizeof(to->ipv4.sin_addr));
	return is_ipv6 ? sizeof(to->ipv6) : sizeof(to->ipv4);
}

void forged_source_send(int fd, const struct rnic_gid *gid, const uint8_t *bytes, size_t length)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = {0};
	const bool is_ipv6 = own_name(fd).any.sa_family == AF_INET6;
	struct iovec data = {(void *)bytes, length};
	struct in6_pktinfo ipv6 = {0};
	struct in_pktinfo ipv4 = {0};
	union socket_address to;
	struct msghdr message = {
		.msg_name = &to,
		.msg_namelen = write_destination(&to, gid, is_ipv6),
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = is_ipv6 ? CMSG_SPACE(sizeof(ipv6)) : CMSG_SPACE(sizeof(ipv4)),
	};

	memcpy(&ipv6.ipi6_addr, gid->bytes, sizeof(gid->bytes));
	if (rnic_gid_is_ipv4(gid))
		memcpy(&ipv4.ipi_spec_dst, rnic_gid_ipv4(gid), sizeof(ipv4.ipi_spec_dst));
	control.header.cmsg_level = is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;
	control.header.cmsg_type = is_ipv6 ? IPV6_PKTINFO : IP_PKTINFO;
	control.header.cmsg_len = is_ipv6 ? CMSG_LEN(sizeof(ipv6)) : CMSG_LEN(sizeof(ipv4));
	if (is_ipv6)
		memcpy(CMSG_DATA(&control.header), &ipv6, sizeof(ipv6));
	else
		memcpy(CMSG_DATA(&control.header), &ipv4, sizeof(ipv4));
	assert_int_equal(sendmsg(fd, &message, 0), length);
}
