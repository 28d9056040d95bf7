/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/udp_sockets.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <netinet/udp.h>
#include <unistd.h>

static void test_address(void **state)
{
	static const struct {
		const char *gid;
		int family;
		uint32_t scope;
	} cases[] = {
		{"192.0.2.1", AF_INET, 0},
		{"2001:db8::1", AF_INET6, 0},
		{"fe80::1", AF_INET6, 7},
		{"ff02::1", AF_INET6, 7},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct rnic_gid gid = fixture_gid(cases[i].gid);
		union udp_address address;
		socklen_t length = udp_address_write(&address, &gid, 4791, 7);

		assert_int_equal(address.any.sa_family, cases[i].family);
		if (cases[i].family == AF_INET) {
			assert_int_equal(length, sizeof(struct sockaddr_in));
			assert_int_equal(ntohs(address.ipv4.sin_port), 4791);
			assert_memory_equal(&address.ipv4.sin_addr, rnic_gid_ipv4(&gid), 4);
		} else {
			assert_int_equal(length, sizeof(struct sockaddr_in6));
			assert_int_equal(ntohs(address.ipv6.sin6_port), 4791);
			assert_int_equal(address.ipv6.sin6_scope_id, cases[i].scope);
			assert_memory_equal(&address.ipv6.sin6_addr, gid.bytes, 16);
		}
	}
}

/*
 * The kernel walks control messages as CMSG_NXTHDR does. Packets to one host get the hop limit of
 * the route.
 */
static void test_control(void **state)
{
	static const struct {
		const char *source, *dest;
		uint16_t segment_bytes;
		struct {
			int level, type, value;
		} expected[3];
		uint32_t count;
	} cases[] = {
		{"192.0.2.1", "192.0.2.2", 0, {{IPPROTO_IP, IP_TOS, 0x6a}}, 1},
		{"192.0.2.1",
		 "239.1.2.3",
		 4112,
		 {{IPPROTO_IP, IP_TOS, 0x6a}, {IPPROTO_IP, IP_TTL, 3}, {IPPROTO_UDP, 103, 4112}},
		 3},
		{"2001:db8::1",
		 "2001:db8::2",
		 1000,
		 {{IPPROTO_IPV6, IPV6_TCLASS, 0x6a}, {IPPROTO_UDP, 103, 1000}},
		 2},
		{"2001:db8::1",
		 "ff15::1",
		 0,
		 {{IPPROTO_IPV6, IPV6_TCLASS, 0x6a}, {IPPROTO_IPV6, IPV6_HOPLIMIT, 3}},
		 2},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		uint8_t control[UDP_CONTROL_BYTES] __attribute__((aligned(8)));
		struct rnic_addresses addresses = {.source = fixture_gid(cases[i].source),
						   .dest = fixture_gid(cases[i].dest),
						   .traffic_class = 0x6a,
						   .hop_limit = 3};
		struct msghdr header = {.msg_control = control};
		uint32_t count = 0;

		header.msg_controllen =
			udp_control_write(control, &addresses, cases[i].segment_bytes);
		assert_true(header.msg_controllen <= sizeof(control));
		for (struct cmsghdr *at = CMSG_FIRSTHDR(&header); at != NULL;
		     at = CMSG_NXTHDR(&header, at), count++) {
			int value = 0;

			assert_true(count < cases[i].count);
			memcpy(&value, CMSG_DATA(at), at->cmsg_len - CMSG_LEN(0));
			assert_int_equal(at->cmsg_level, cases[i].expected[count].level);
			assert_int_equal(at->cmsg_type, cases[i].expected[count].type);
			assert_int_equal(value, cases[i].expected[count].value);
		}
		assert_int_equal(count, cases[i].count);
	}
}

/* Splits into equal parts and a shorter last one, and hands out in portions. */
static void test_arrivals(void **state)
{
	static uint8_t bytes[100];
	struct udp_arrival arrivals[3] = {
		{.bytes = bytes, .length = 70, .segment_bytes = 30},
		{.bytes = bytes + 70, .length = 0, .segment_bytes = 0},
		{.bytes = bytes + 70, .length = 30, .segment_bytes = 30},
	};
	struct port_counters counters = {0};
	struct datagram into[4];
	uint32_t next = 0;

	(void)state;
	assert_int_equal(udp_arrivals_take(arrivals, &next, 3, into, 2, &counters, 9), 2);
	assert_ptr_equal(into[0].bytes, bytes);
	assert_ptr_equal(into[1].bytes, bytes + 30);
	assert_int_equal(into[1].length, 30);
	assert_int_equal(into[1].received_ns, 9);
	assert_int_equal(next, 0);
	assert_int_equal(udp_arrivals_take(arrivals, &next, 3, into, 1, &counters, 9), 1);
	assert_int_equal(into[0].length, 10);
	assert_int_equal(next, 2);
	assert_int_equal(udp_arrivals_take(arrivals, &next, 3, into, 4, &counters, 9), 1);
	assert_ptr_equal(into[0].bytes, bytes + 70);
	assert_int_equal(next, 3);
	assert_int_equal(counters.received_datagrams, 4);
	assert_int_equal(counters.received_bytes, 100);
	assert_int_equal(udp_arrivals_take(arrivals, &next, 3, into, 4, &counters, 9), 0);
}

static void test_arrival_cut_by_the_kernel(void **state)
{
	struct udp_socket sock = {.gid = fixture_gid("192.0.2.1")};
	union udp_address from = {.ipv4 = {.sin_family = AF_INET}};
	struct msghdr header = {.msg_name = &from, .msg_flags = MSG_TRUNC};
	struct udp_arrival arrival;
	uint8_t bytes[1];

	(void)state;
	assert_int_equal(udp_arrival_read(&arrival, &sock, &header, bytes, 1), -EMSGSIZE);
}

/*
 * What 10 Gb/s have under way in 10 ms arrives while the process waits for a processor. The kernel
 * doubles what is asked for, to charge a packet with more than its bytes.
 */
static void test_receive_buffer(void **state)
{
	enum { UNDER_WAY_BYTES = 12500000, LITTLE_BYTES = 4096 };
	const int little = LITTLE_BYTES;
	const struct rnic_gid gid = fixture_own_gid(43);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), value = 0;
	socklen_t length = sizeof(value);

	(void)state;
	assert_true(fd >= 0);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &little, sizeof(little)) != 0) {
		close(fd);
		print_message("skipped: no right to a buffer beyond the system's limit\n");
		skip();
	}
	assert_int_equal(udp_socket_set_options(fd, &gid, 0), 0);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, &length), 0);
	assert_true(value / 2 >= UNDER_WAY_BYTES);
	close(fd);
}

/* DF set and identification 0 need the first two; the third lets Linux rxe in over IPv6. */
static void test_options(void **state)
{
	struct rnic_gid gids[2] = {fixture_own_gid(41), fixture_gid("::1")};
	struct udp_options options = {.gids = gids,
				      .gid_count = 2,
				      .udp_port = fixture_udp_port(),
				      .segmentation = SEGMENTATION_ON};
	static const struct {
		uint32_t socket;
		int level, name, value;
	} cases[] = {
		{0, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE},
		{1, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE},
		{1, IPPROTO_UDP, 102, 1},
		{0, IPPROTO_UDP, 104, 1},
	};
	struct datagram datagram = {0};
	struct udp_sockets sockets;
	char text[PORT_TEXT_BYTES];

	(void)state;
	if (udp_sockets_open(&sockets, &options, 0, text) < 0) {
		print_message("skipped: %s\n", text);
		skip();
	}
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		int value = -1;
		socklen_t length = sizeof(value);

		assert_int_equal(getsockopt(sockets.sockets[cases[i].socket].fd, cases[i].level,
					    cases[i].name, &value, &length),
				 0);
		assert_int_equal(value, cases[i].value);
	}
	datagram.addresses.source = gids[1];
	assert_ptr_equal(udp_sockets_find(&sockets, &datagram), &sockets.sockets[1]);
	gids[0] = fixture_own_gid(42);
	datagram.addresses.source = gids[0];
	assert_null(udp_sockets_find(&sockets, &datagram));
	udp_sockets_close(&sockets);
	assert_int_equal(sockets.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),	 cmocka_unit_test(test_control),
		cmocka_unit_test(test_arrivals), cmocka_unit_test(test_arrival_cut_by_the_kernel),
		cmocka_unit_test(test_options),	 cmocka_unit_test(test_receive_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
