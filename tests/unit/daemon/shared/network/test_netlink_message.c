/* SPDX-License-Identifier: MIT */
#include "daemon/shared/network/netlink_message.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>

/* A datagram under construction. */
struct datagram_maker {
	_Alignas(8) uint8_t bytes[1024];
	size_t length;
	size_t message; /* where the last message begins */
};

static void append(struct datagram_maker *maker, const void *bytes, size_t length)
{
	memcpy(maker->bytes + maker->length, bytes, length);
	maker->length += length;
	((struct nlmsghdr *)(void *)(maker->bytes + maker->message))->nlmsg_len =
		(uint32_t)(maker->length - maker->message);
	maker->length = NLMSG_ALIGN(maker->length);
}

static void begin(struct datagram_maker *maker, uint16_t type, uint16_t flags, const void *payload,
		  size_t length)
{
	const struct nlmsghdr header = {.nlmsg_type = type, .nlmsg_flags = flags};

	maker->message = maker->length;
	append(maker, &header, sizeof(header));
	append(maker, payload, length);
}

static void attribute(struct datagram_maker *maker, uint16_t type, const void *value, size_t length)
{
	const struct rtattr header = {.rta_type = type,
				      .rta_len = (uint16_t)(sizeof(header) + length)};
	uint8_t bytes[160];

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), value, length);
	append(maker, bytes, sizeof(header) + length);
}

static void link_message(struct datagram_maker *maker, uint16_t type, int family, unsigned flags,
			 uint32_t mtu)
{
	const struct ifinfomsg link = {
		.ifi_family = (uint8_t)family, .ifi_index = 7, .ifi_flags = flags};

	begin(maker, type, 0, &link, sizeof(link));
	attribute(maker, IFLA_IFNAME, "eth0", 5);
	attribute(maker, IFLA_MTU, &mtu, sizeof(mtu));
}

static void address_message(struct datagram_maker *maker, uint16_t type, const char *address,
			    uint8_t flags)
{
	const struct rnic_gid gid = fixture_gid(address);
	const bool is_ipv4 = rnic_gid_is_ipv4(&gid);
	const struct ifaddrmsg message = {
		.ifa_family = is_ipv4 ? AF_INET : AF_INET6, .ifa_flags = flags, .ifa_index = 7};

	begin(maker, type, NLM_F_MULTI, &message, sizeof(message));
	attribute(maker, IFA_ADDRESS, is_ipv4 ? rnic_gid_ipv4(&gid) : gid.bytes, is_ipv4 ? 4 : 16);
}

static bool next(struct netlink_reader *reader, struct netlink_fact *fact,
		 enum netlink_fact_kind kind)
{
	return netlink_next(reader, fact) && fact->kind == kind;
}

static void test_links(void **state)
{
	struct datagram_maker maker = {.length = 0};
	struct netlink_reader reader;
	struct netlink_fact fact;

	(void)state;
	link_message(&maker, RTM_NEWLINK, AF_UNSPEC, IFF_UP | IFF_LOWER_UP, 9000);
	link_message(&maker, RTM_NEWLINK, AF_UNSPEC, IFF_UP, 1500);
	link_message(&maker, RTM_DELLINK, AF_BRIDGE, IFF_UP, 1500);
	link_message(&maker, RTM_DELLINK, AF_UNSPEC, 0, 1500);
	netlink_reader_init(&reader, maker.bytes, maker.length);
	assert_true(next(&reader, &fact, NETLINK_LINK));
	assert_int_equal(fact.netdev_index, 7);
	assert_int_equal(fact.mtu_bytes, 9000);
	assert_true(fact.is_running);
	assert_true(next(&reader, &fact, NETLINK_LINK));
	assert_int_equal(fact.mtu_bytes, 1500);
	assert_false(fact.is_running);
	/* It left a bridge, and is there all the same. */
	assert_true(next(&reader, &fact, NETLINK_LINK_GONE));
	assert_false(netlink_next(&reader, &fact));
}

/* What a link message says about IPv6. */
struct ipv6_link {
	uint16_t type;
	unsigned flags;
	size_t mac_bytes, settings_bytes;
	int32_t is_off;
	uint8_t mode;
};

static void ipv6_link_message(struct datagram_maker *maker, const struct ipv6_link *link)
{
	static const uint8_t mac[8] = {2, 1, 2, 3, 4, 5};
	const struct ifinfomsg header = {
		.ifi_type = link->type, .ifi_index = 7, .ifi_flags = IFF_UP | link->flags};
	int32_t settings[DEVCONF_DISABLE_IPV6 + 4] = {0};
	size_t families, family;

	settings[DEVCONF_DISABLE_IPV6] = link->is_off;
	begin(maker, RTM_NEWLINK, 0, &header, sizeof(header));
	attribute(maker, IFLA_ADDRESS, mac, link->mac_bytes);
	families = maker->length;
	attribute(maker, IFLA_AF_SPEC | NLA_F_NESTED, "", 0);
	family = maker->length;
	attribute(maker, AF_INET6, "", 0);
	attribute(maker, IFLA_INET6_CONF, settings, link->settings_bytes);
	attribute(maker, IFLA_INET6_ADDR_GEN_MODE, &link->mode, sizeof(link->mode));
	((struct rtattr *)(void *)(maker->bytes + families))->rta_len =
		(uint16_t)(maker->length - families);
	((struct rtattr *)(void *)(maker->bytes + family))->rta_len =
		(uint16_t)(maker->length - family);
	attribute(maker, IFLA_IFNAME, "eth0", 5);
}

/* The kernel makes a link-local address of an Ethernet interface's MAC address, or does not. */
static void test_mac_id(void **state)
{
	const size_t all = (DEVCONF_DISABLE_IPV6 + 4) * sizeof(int32_t);
	const struct {
		struct ipv6_link link;
		bool has_mac_id;
	} cases[] = {
		{{ARPHRD_ETHER, 0, 6, all, 0, IN6_ADDR_GEN_MODE_EUI64}, true},
		{{ARPHRD_ETHER, 0, 6, all, 1, IN6_ADDR_GEN_MODE_EUI64}, false},
		{{ARPHRD_ETHER, 0, 6, all, 0, IN6_ADDR_GEN_MODE_NONE}, false},
		{{ARPHRD_ETHER, 0, 6, all, 0, IN6_ADDR_GEN_MODE_STABLE_PRIVACY}, false},
		{{ARPHRD_ETHER, IFF_SLAVE, 6, all, 0, IN6_ADDR_GEN_MODE_EUI64}, false},
		{{ARPHRD_LOOPBACK, 0, 6, all, 0, IN6_ADDR_GEN_MODE_EUI64}, false},
		{{ARPHRD_ETHER, 0, 8, all, 0, IN6_ADDR_GEN_MODE_EUI64}, false},
		/* A kernel without this setting. */
		{{ARPHRD_ETHER, 0, 6, DEVCONF_DISABLE_IPV6 * sizeof(int32_t), 0, 0}, false},
	};
	static const uint8_t mac[6] = {2, 1, 2, 3, 4, 5};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct datagram_maker maker = {.length = 0};
		struct netlink_reader reader;
		struct netlink_fact fact;

		ipv6_link_message(&maker, &cases[i].link);
		netlink_reader_init(&reader, maker.bytes, maker.length);
		assert_true(next(&reader, &fact, NETLINK_LINK));
		assert_int_equal(fact.has_mac_id, cases[i].has_mac_id);
		if (fact.has_mac_id)
			assert_memory_equal(fact.mac, mac, sizeof(mac));
	}
}

static void test_addresses(void **state)
{
	static const struct {
		const char *address;
		uint8_t flags;
		bool is_duplicate;
	} cases[] = {
		{"192.0.2.1", IFA_F_PERMANENT, false},
		{"2001:db8::1", 0, false},
		{"fe80::1", IFA_F_TENTATIVE, false},
		{"fe80::1", IFA_F_TENTATIVE | IFA_F_DADFAILED, true},
		{"fe80::1", IFA_F_DADFAILED, true},
	};
	struct datagram_maker maker = {.length = 0};
	struct netlink_reader reader;
	struct netlink_fact fact;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		address_message(&maker, RTM_NEWADDR, cases[i].address, cases[i].flags);
	address_message(&maker, RTM_DELADDR, "192.0.2.1", 0);
	netlink_reader_init(&reader, maker.bytes, maker.length);
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct rnic_gid gid = fixture_gid(cases[i].address);

		assert_true(next(&reader, &fact, NETLINK_ADDRESS));
		assert_int_equal(fact.netdev_index, 7);
		assert_true(rnic_gid_equal(&fact.gid, &gid));
		assert_int_equal(fact.is_duplicate, cases[i].is_duplicate);
	}
	assert_true(next(&reader, &fact, NETLINK_ADDRESS_GONE));
	assert_false(netlink_next(&reader, &fact));
}

/* Of a point-to-point link the local address counts; flags beyond 8 bits have an attribute. */
static void test_address_attributes(void **state)
{
	const struct rnic_gid ours = fixture_gid("192.0.2.1");
	const uint32_t flags = IFA_F_DADFAILED | IFA_F_NOPREFIXROUTE;
	struct datagram_maker maker = {.length = 0};
	struct netlink_reader reader;
	struct netlink_fact fact;

	(void)state;
	address_message(&maker, RTM_NEWADDR, "192.0.2.99", 0);
	attribute(&maker, IFA_LOCAL, rnic_gid_ipv4(&ours), 4);
	attribute(&maker, IFA_FLAGS, &flags, sizeof(flags));
	netlink_reader_init(&reader, maker.bytes, maker.length);
	assert_true(next(&reader, &fact, NETLINK_ADDRESS));
	assert_true(rnic_gid_equal(&fact.gid, &ours));
	assert_true(fact.is_duplicate);
}

static void test_dumps(void **state)
{
	static const struct {
		uint16_t type, flags;
		int32_t error;
		bool is_fact;
		enum netlink_fact_kind kind;
	} cases[] = {
		{NLMSG_DONE, 0, 0, true, NETLINK_DUMP_END},
		{NLMSG_DONE, NLM_F_DUMP_INTR, 0, true, NETLINK_DUMP_FAILED},
		{NLMSG_ERROR, 0, -16, true, NETLINK_DUMP_FAILED},
		{NLMSG_ERROR, 0, 0, false, NETLINK_DUMP_END},
		{NLMSG_NOOP, 0, 0, false, NETLINK_DUMP_END},
	};
	struct netlink_reader reader;
	struct netlink_fact fact;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct datagram_maker maker = {.length = 0};

		begin(&maker, cases[i].type, cases[i].flags, &cases[i].error, sizeof(int32_t));
		netlink_reader_init(&reader, maker.bytes, maker.length);
		assert_int_equal(netlink_next(&reader, &fact), cases[i].is_fact);
		if (cases[i].is_fact)
			assert_int_equal(fact.kind, cases[i].kind);
	}
}

/* The interface that was asked for is not there. */
static void test_no_such_link(void **state)
{
	const struct {
		int32_t error;
		struct nlmsghdr request;
		struct ifinfomsg link;
	} answer = {
		.error = -19,
		.request = {.nlmsg_type = RTM_GETLINK},
		.link = {.ifi_index = 7},
	};
	struct netlink_reader reader;
	struct netlink_fact fact;

	(void)state;
	for (size_t length = sizeof(int32_t); length <= sizeof(answer); length++) {
		struct datagram_maker maker = {.length = 0};

		begin(&maker, NLMSG_ERROR, 0, &answer, length);
		netlink_reader_init(&reader, maker.bytes, sizeof(struct nlmsghdr) + length);
		if (length < sizeof(int32_t) + sizeof(struct nlmsghdr))
			assert_true(next(&reader, &fact, NETLINK_DUMP_FAILED));
		else
			assert_int_equal(netlink_next(&reader, &fact), length == sizeof(answer));
	}
	assert_int_equal(fact.kind, NETLINK_LINK_GONE);
	assert_int_equal(fact.netdev_index, 7);
}

/* Every cut, and every byte that is another one, ends well and reads nothing beyond the datagram,
 * which a sanitizer would see. */
static void test_damaged(void **state)
{
	struct datagram_maker maker = {.length = 0};
	struct netlink_reader reader;
	struct netlink_fact fact;

	(void)state;
	link_message(&maker, RTM_NEWLINK, AF_UNSPEC, IFF_UP, 1500);
	address_message(&maker, RTM_NEWADDR, "fe80::1", 0);
	address_message(&maker, RTM_NEWADDR, "192.0.2.1", 0);
	for (size_t length = 1; length <= maker.length; length++) {
		for (size_t at = 0; at < length; at++) {
			uint8_t *bytes = malloc(length);
			uint32_t facts = 0;

			assert_non_null(bytes);
			memcpy(bytes, maker.bytes, length);
			bytes[at] ^= (uint8_t)(0xff >> at % 8);
			netlink_reader_init(&reader, bytes, length);
			while (netlink_next(&reader, &fact))
				assert_true(++facts <= 3);
			free(bytes);
		}
	}
}

static void neighbour_message(struct datagram_maker *maker, const char *address, uint16_t state)
{
	const struct rnic_gid gid = fixture_gid(address);
	const bool is_ipv4 = rnic_gid_is_ipv4(&gid);
	const struct ndmsg message = {
		.ndm_family = is_ipv4 ? AF_INET : AF_INET6, .ndm_ifindex = 7, .ndm_state = state};

	begin(maker, RTM_NEWNEIGH, NLM_F_MULTI, &message, sizeof(message));
	attribute(maker, NDA_DST, is_ipv4 ? rnic_gid_ipv4(&gid) : gid.bytes, is_ipv4 ? 4 : 16);
}

static void test_neighbours(void **state)
{
	static const struct {
		const char *address;
		uint16_t state;
		bool is_silent, is_known;
	} cases[] = {
		{"192.0.2.1", NUD_INCOMPLETE, true, false},
		{"192.0.2.2", NUD_FAILED, true, false},
		{"192.0.2.3", NUD_REACHABLE, false, true},
		{"192.0.2.4", NUD_STALE, false, true},
		{"192.0.2.5", NUD_DELAY, false, true},
		{"192.0.2.6", NUD_PROBE, false, true},
		{"2001:db8::1", NUD_FAILED, true, false},
		{"192.0.2.7", NUD_PERMANENT, false, true},
		{"192.0.2.8", NUD_NOARP, false, true},
		{"192.0.2.9", NUD_NONE, false, false},
	};
	const struct ndmsg nameless = {.ndm_family = AF_INET, .ndm_ifindex = 7};
	struct datagram_maker maker = {.length = 0};
	struct netlink_reader reader;
	struct netlink_fact fact;

	(void)state;
	begin(&maker, RTM_NEWNEIGH, NLM_F_MULTI, &nameless, sizeof(nameless));
	begin(&maker, RTM_NEWNEIGH, NLM_F_MULTI, &nameless, sizeof(nameless) - 1);
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		neighbour_message(&maker, cases[i].address, cases[i].state);
	netlink_reader_init(&reader, maker.bytes, maker.length);
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct rnic_gid gid = fixture_gid(cases[i].address);

		assert_true(next(&reader, &fact, NETLINK_NEIGHBOUR));
		assert_int_equal(fact.netdev_index, 7);
		assert_true(rnic_gid_equal(&fact.gid, &gid));
		assert_int_equal(fact.is_silent, cases[i].is_silent);
		assert_int_equal(fact.is_known, cases[i].is_known);
	}
	assert_false(netlink_next(&reader, &fact));
}

/* A route by a router, whose address may be of the other family. */
struct route_case {
	const char *router; /* NULL: none */
	uint8_t type;
	bool is_via;
	uint32_t netdev_index;
};

static void route_message(struct datagram_maker *maker, const struct route_case *route)
{
	const struct rtmsg message = {.rtm_family = AF_INET, .rtm_type = route->type};
	const struct rnic_gid gid =
		route->router != NULL ? fixture_gid(route->router) : (struct rnic_gid){0};
	uint8_t via[2 + sizeof(gid.bytes)] = {AF_INET6};

	begin(maker, RTM_NEWROUTE, 0, &message, sizeof(message));
	if (route->netdev_index != 0)
		attribute(maker, RTA_OIF, &route->netdev_index, sizeof(route->netdev_index));
	memcpy(via + 2, gid.bytes, sizeof(gid.bytes));
	if (route->is_via)
		attribute(maker, RTA_VIA, via, sizeof(via));
	else if (route->router != NULL)
		attribute(maker, RTA_GATEWAY, rnic_gid_ipv4(&gid), 4);
}

static void test_routes(void **state)
{
	static const struct route_case cases[] = {
		{NULL, RTN_UNICAST, false, 7},		 {"192.0.2.254", RTN_UNICAST, false, 7},
		{"2001:db8::254", RTN_UNICAST, true, 7}, {NULL, RTN_LOCAL, false, 1},
		{NULL, RTN_MULTICAST, false, 7},	 {NULL, RTN_UNICAST, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct datagram_maker maker = {.length = 0};
		struct netlink_reader reader;
		struct netlink_fact fact;
		struct rnic_gid router = {0};

		if (cases[i].router != NULL)
			router = fixture_gid(cases[i].router);
		route_message(&maker, &cases[i]);
		netlink_reader_init(&reader, maker.bytes, maker.length);
		assert_int_equal(next(&reader, &fact, NETLINK_ROUTE), cases[i].netdev_index != 0);
		if (cases[i].netdev_index == 0)
			continue;
		assert_int_equal(fact.netdev_index, cases[i].netdev_index);
		assert_int_equal(fact.is_to_host, cases[i].type == RTN_UNICAST);
		assert_true(rnic_gid_equal(&fact.gid, &router));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links),	   cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_neighbours), cmocka_unit_test(test_address_attributes),
		cmocka_unit_test(test_dumps),	   cmocka_unit_test(test_no_such_link),
		cmocka_unit_test(test_damaged),	   cmocka_unit_test(test_mac_id),
		cmocka_unit_test(test_routes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
