/* SPDX-License-Identifier: MIT */
/*
 * Two hosts, made of network namespaces and a veth. The host B forges the ICMP message that a
 * router sends when a packet is too big, and the host A must go on as before. Needs root.
 */
#include "daemon/control/lanes/lane_group.h"

#include "lib/nic/port/udp/udp_port.h"
#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "tests/unit/daemon/control/lanes/lane_group_fixture.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#define DATAGRAMS	64
#define DATAGRAM_BYTES	1400
#define FORGED_IPV4_MTU 600
#define FORGED_IPV6_MTU 1280 /* the kernel believes no less */

struct hosts {
	int namespace_a, namespace_b;
	struct rnic_gid a, b;
	struct lane_group group;
	struct port *port_a, *port_b;
	struct fixture_inbox inbox;
};

/* How the host A sends: by a port with a socket of its own, or with those of a lane. */
struct sending {
	enum udp_port_kind kind;
	bool has_lane;
};

static bool run(const char *command)
{
	int status = system(command);

	if (status != 0)
		print_message("skipped: \"%s\" failed\n", command);
	return status == 0;
}

static int new_namespace(void)
{
	if (unshare(CLONE_NEWNET) != 0)
		return -1;
	return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* False, with the reason in a line: this machine cannot. Ends on the host A. */
static bool hosts_connect(struct hosts *hosts)
{
	char command[128];

	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return false;
	}
	hosts->namespace_b = new_namespace();
	hosts->namespace_a = new_namespace();
	if (hosts->namespace_a < 0 || hosts->namespace_b < 0) {
		print_message("skipped: no network namespaces\n");
		return false;
	}
	snprintf(command, sizeof(command),
		 "ip link add veth0 type veth peer name veth1 netns /proc/%d/fd/%d", (int)getpid(),
		 hosts->namespace_b);
	if (!run(command) || !run("ip address add 192.0.2.1/24 dev veth0 && "
				  "ip address add fd77::1/64 dev veth0 nodad && "
				  "ip link set veth0 up"))
		return false;
	assert_int_equal(setns(hosts->namespace_b, CLONE_NEWNET), 0);
	if (!run("ip address add 192.0.2.2/24 dev veth1 && "
		 "ip address add fd77::2/64 dev veth1 nodad && ip link set veth1 up"))
		return false;
	assert_int_equal(setns(hosts->namespace_a, CLONE_NEWNET), 0);
	return true;
}

static struct port *port_open(const struct rnic_gid *gid, enum udp_port_kind kind)
{
	const struct udp_options options = {
		.gids = gid,
		.gid_count = rnic_gid_is_zero(gid) ? 0 : 1,
		.segmentation = SEGMENTATION_ON,
	};
	struct port *port = NULL;
	char text[PORT_TEXT_BYTES] = "";
	int result = port_open_udp(&port, kind, &options, fixture_now_ns(), text);

	if (result == -ENOSYS || result == -EPERM || result == -EOPNOTSUPP) {
		print_message("skipped: %s\n", text);
		return NULL;
	}
	assert_int_equal(result, 0);
	return port;
}

/* The port of the host A; NULL: this machine has no io_uring. */
static struct port *open_sender(struct hosts *hosts, const struct sending *sending)
{
	static const struct rnic_gid none;
	struct udp_lane_sockets sockets;
	char text[PORT_TEXT_BYTES];
	struct port *port = port_open(sending->has_lane ? &none : &hosts->a, sending->kind);

	if (port == NULL || !sending->has_lane)
		return port;
	lane_fixture_open(&hosts->group, &hosts->a, 0, 2);
	assert_int_equal(lane_group_take(&hosts->group, RNIC_LANE_FIRST, &sockets, text), 0);
	assert_int_equal(port->ops->set_gid(port, 0, &hosts->a, &sockets, text), 0);
	return port;
}

/* Sends the datagrams from number `first` on. */
static void transmit(struct hosts *hosts, uint32_t first, uint32_t count)
{
	struct datagram datagrams[DATAGRAMS];

	for (uint32_t i = 0; i < count; i++)
		datagrams[i] = fixture_datagram(first + i, &hosts->a, &hosts->b, DATAGRAM_BYTES);
	fixture_transmit(hosts->port_a, datagrams, count);
}

/* All datagrams so far arrive, and each has a good ICRC. */
static void expect_datagrams(struct hosts *hosts, uint32_t count)
{
	fixture_receive(hosts->port_b, &hosts->inbox, count, 64);
	assert_int_equal(hosts->inbox.count, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct datagram *received = &hosts->inbox.datagrams[i];

		assert_true(fixture_is_datagram(received, i, DATAGRAM_BYTES));
		assert_int_not_equal(rnic_icrc_check(&received->addresses, received->bytes,
						     received->length, NULL),
				     RNIC_ICRC_BAD);
	}
}

static struct udphdr offending_udp(const struct hosts *hosts)
{
	return (struct udphdr){
		.source = htons(hosts->inbox.datagrams[0].addresses.source_port),
		.dest = htons(RNIC_UDP_PORT),
		.len = htons(sizeof(struct udphdr) + DATAGRAM_BYTES),
	};
}

static uint16_t checksum(const void *bytes, size_t count)
{
	const uint16_t *words = bytes;
	uint32_t sum = 0;

	for (size_t i = 0; i < count / 2; i++)
		sum += words[i];
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t) ~(sum + (sum >> 16));
}

static void send_raw(const struct hosts *hosts, int protocol, const void *message, size_t bytes)
{
	union udp_address address;
	socklen_t address_bytes = udp_address_write(&address, &hosts->a, 0, 0);
	int fd;

	assert_int_equal(setns(hosts->namespace_b, CLONE_NEWNET), 0);
	fd = socket(address.any.sa_family, SOCK_RAW | SOCK_CLOEXEC, protocol);
	assert_true(fd >= 0);
	assert_int_equal(sendto(fd, message, bytes, 0, &address.any, address_bytes), bytes);
	close(fd);
	assert_int_equal(setns(hosts->namespace_a, CLONE_NEWNET), 0);
}

/* RFC 792, RFC 1191: a router drops the datagram for want of a larger MTU. */
static void forge_ipv4(const struct hosts *hosts)
{
	struct {
		struct icmphdr icmp;
		struct iphdr ip;
		struct udphdr udp;
	} message = {
		.icmp = {.type = ICMP_DEST_UNREACH,
			 .code = ICMP_FRAG_NEEDED,
			 .un.frag.mtu = htons(FORGED_IPV4_MTU)},
		.ip = {.version = 4,
		       .ihl = 5,
		       .tot_len = htons(sizeof(message.ip) + sizeof(message.udp) + DATAGRAM_BYTES),
		       .frag_off = htons(IP_DF),
		       .ttl = 64,
		       .protocol = IPPROTO_UDP},
		.udp = offending_udp(hosts),
	};

	memcpy(&message.ip.saddr, rnic_gid_ipv4(&hosts->a), 4);
	memcpy(&message.ip.daddr, rnic_gid_ipv4(&hosts->b), 4);
	message.ip.check = checksum(&message.ip, sizeof(message.ip));
	message.icmp.checksum = checksum(&message, sizeof(message));
	send_raw(hosts, IPPROTO_ICMP, &message, sizeof(message));
}

/* RFC 4443, 3.2. The kernel writes the checksum. */
static void forge_ipv6(const struct hosts *hosts)
{
	struct {
		struct icmp6_hdr icmp;
		struct ip6_hdr ip;
		struct udphdr udp;
	} message = {
		.icmp = {.icmp6_type = ICMP6_PACKET_TOO_BIG, .icmp6_mtu = htonl(FORGED_IPV6_MTU)},
		.ip = {.ip6_nxt = IPPROTO_UDP, .ip6_hlim = 64},
		.udp = offending_udp(hosts),
	};

	message.ip.ip6_vfc = 0x60;
	message.ip.ip6_plen = message.udp.len;
	memcpy(&message.ip.ip6_src, hosts->a.bytes, sizeof(message.ip.ip6_src));
	memcpy(&message.ip.ip6_dst, hosts->b.bytes, sizeof(message.ip.ip6_dst));
	send_raw(hosts, IPPROTO_ICMPV6, &message, sizeof(message));
}

/* The report of the MTU reaches the port, which has a sentence for people made of it. */
static void expect_report(struct hosts *hosts, uint32_t mtu_bytes)
{
	struct port *port = hosts->port_a;
	struct datagram received[8];
	uint64_t give_up_ns = fixture_now_ns() + UINT64_C(5000000000);

	while (port->report_count == 0 && fixture_now_ns() < give_up_ns)
		port->ops->receive(port, received, RNIC_COUNT_OF(received), fixture_now_ns());
	assert_int_equal(port->report_count, 1);
	assert_int_equal(port->reports[0].error, -EMSGSIZE);
	assert_int_equal(port->reports[0].mtu_bytes, mtu_bytes);
	assert_true(rnic_gid_equal(&port->reports[0].dest, &hosts->b));
	port->report_count = 0;
}

static void hosts_stop(struct hosts *hosts, const struct sending *sending)
{
	hosts->port_a->ops->close(hosts->port_a);
	hosts->port_b->ops->close(hosts->port_b);
	if (sending->has_lane)
		lane_group_close(&hosts->group);
	hosts->inbox.count = 0;
}

static void check_sending(struct hosts *hosts, const struct sending *sending, bool is_ipv4)
{
	hosts->a = fixture_gid(is_ipv4 ? "192.0.2.1" : "fd77::1");
	hosts->b = fixture_gid(is_ipv4 ? "192.0.2.2" : "fd77::2");
	hosts->port_a = open_sender(hosts, sending);
	if (hosts->port_a == NULL)
		return;
	assert_int_equal(setns(hosts->namespace_b, CLONE_NEWNET), 0);
	hosts->port_b = port_open(&hosts->b, UDP_PORT_SOCKET);
	assert_int_equal(setns(hosts->namespace_a, CLONE_NEWNET), 0);
	transmit(hosts, 0, 1);
	expect_datagrams(hosts, 1);
	if (is_ipv4)
		forge_ipv4(hosts);
	else
		forge_ipv6(hosts);
	expect_report(hosts, is_ipv4 ? FORGED_IPV4_MTU : FORGED_IPV6_MTU);
	transmit(hosts, 1, DATAGRAMS);
	expect_datagrams(hosts, 1 + DATAGRAMS);
	assert_int_equal(hosts->port_a->counters.send_refused, 0);
	hosts_stop(hosts, sending);
}

static void test_forged_mtu(void **state)
{
	static const struct sending ways[] = {
		{UDP_PORT_SOCKET, false},
		{UDP_PORT_URING, false},
		{UDP_PORT_SOCKET, true},
		{UDP_PORT_URING, true},
	};

	(void)state;
	for (uint32_t i = 0; i < 2 * RNIC_COUNT_OF(ways); i++) {
		struct hosts *hosts = calloc(1, sizeof(*hosts));

		assert_non_null(hosts);
		if (!hosts_connect(hosts)) {
			free(hosts);
			skip();
		}
		check_sending(hosts, &ways[i / 2], i % 2 == 0);
		close(hosts->namespace_a);
		close(hosts->namespace_b);
		free(hosts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forged_mtu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
