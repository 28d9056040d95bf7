/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/addressing.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <stdio.h>

static struct rnic_gid gid_of(const char *address)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, address, bytes) == 1)
		return rnic_gid_from_ipv4(bytes);
	assert_int_equal(inet_pton(AF_INET6, address, bytes), 1);
	return rnic_gid_from_ipv6(bytes);
}

/* "name address" with "!" before the name of an interface that is down. */
static struct interface_address address_of(const char *line)
{
	struct interface_address out = {.is_up = line[0] != '!'};
	char address[RNIC_GID_TEXT_BYTES];

	assert_int_equal(sscanf(line + !out.is_up, "%15s %45s", out.netdev, address), 2);
	out.is_loopback = strcmp(out.netdev, "lo") == 0;
	out.gid = gid_of(address);
	return out;
}

static uint32_t table_of(const char *const *lines, struct interface_address *table)
{
	uint32_t count = 0;

	for (; lines[count] != NULL; count++)
		table[count] = address_of(lines[count]);
	return count;
}

static void test_choose_netdev(void **state)
{
	static const struct {
		const char *lines[6];
		const char *default_route;
		const char *expected;
	} cases[] = {
		{{"lo 127.0.0.1", "eth0 192.0.2.1", "eth1 198.51.100.1"}, "eth1", "eth1"},
		{{"lo 127.0.0.1", "eth0 192.0.2.1", "eth1 198.51.100.1"}, "", "eth0"},
		{{"lo 127.0.0.1", "eth0 192.0.2.1", "!eth1 198.51.100.1"}, "eth1", "eth0"},
		{{"lo 127.0.0.1", "!eth0 192.0.2.1", "eth1 fe80::1"}, "", "eth1"},
		{{"lo 127.0.0.1", "eth0 192.0.2.1"}, "eth7", "eth0"},
		{{"lo 127.0.0.1", "!eth0 192.0.2.1"}, "", "lo"},
		{{"lo ::1"}, "eth0", "lo"},
		{{"!lo ::1"}, "", NULL},
		{{NULL}, "eth0", NULL},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct interface_address table[8];
		uint32_t count = table_of(cases[i].lines, table);
		const char *found = addressing_choose_netdev(table, count, cases[i].default_route);

		if (cases[i].expected == NULL) {
			assert_null(found);
		} else {
			assert_non_null(found);
			assert_string_equal(found, cases[i].expected);
		}
	}
}

static void test_find_netdev(void **state)
{
	static const char *const lines[] = {
		"lo 127.0.0.1", "lo ::1",	    "eth0 192.0.2.1", "eth0 fe80::1",
		"eth1 fe80::1", "eth1 2001:db8::1", "eth1 127.8.0.1", NULL};
	static const struct {
		const char *netdev, *address, *expected;
	} cases[] = {
		{NULL, "192.0.2.1", "eth0"}, {NULL, "2001:db8::1", "eth1"},
		{NULL, "127.0.0.9", "lo"},   {NULL, "127.255.0.1", "lo"},
		{NULL, "127.8.0.1", "eth1"}, {NULL, "::1", "lo"},
		{NULL, "fe80::1", "eth0"},   {"eth1", "fe80::1", "eth1"},
		{"eth1", "192.0.2.1", NULL}, {"eth0", "127.0.0.9", NULL},
		{"lo", "127.0.0.9", "lo"},   {NULL, "192.0.2.2", NULL},
		{NULL, "126.0.0.1", NULL},   {NULL, "::2", NULL},
	};
	struct interface_address table[8];
	uint32_t count = table_of(lines, table);

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct rnic_gid gid = gid_of(cases[i].address);
		const char *found = addressing_find_netdev(table, count, cases[i].netdev, &gid);

		if (cases[i].expected == NULL) {
			assert_null(found);
		} else {
			assert_non_null(found);
			assert_string_equal(found, cases[i].expected);
		}
	}
}

/* All addresses of the interface, or the one asked for; any of 127.0.0.0/8 stands for the rest. */
static void test_filter(void **state)
{
	static const char *const there[] = {"fe80::1", "192.0.2.1", "127.0.0.1"};
	static const struct {
		const char *wanted; /* NULL: all */
		const char *expected[4];
	} cases[] = {
		{NULL, {"fe80::1", "192.0.2.1", "127.0.0.1"}},
		{"192.0.2.1", {"192.0.2.1"}},
		{"127.9.9.9", {"127.9.9.9"}},
		{"192.0.2.2", {NULL}},
	};
	struct gid_address addresses[3], found[3];

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		addresses[i] = (struct gid_address){gid_of(there[i]), i == 0};
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct addressing addressing = {.has_one_address = cases[i].wanted != NULL};
		uint32_t count;

		if (cases[i].wanted != NULL)
			addressing.address = gid_of(cases[i].wanted);
		count = addressing_filter(&addressing, addresses, 3, found);
		for (uint32_t j = 0; j < count; j++) {
			char text[RNIC_GID_TEXT_BYTES];

			assert_non_null(cases[i].expected[j]);
			assert_string_equal(rnic_gid_text(&found[j].gid, text),
					    cases[i].expected[j]);
			assert_int_equal(found[j].is_duplicate, strcmp(text, "fe80::1") == 0);
		}
		assert_null(cases[i].expected[count]);
	}
}

static void test_path_mtu(void **state)
{
	static const struct {
		uint32_t netdev_mtu, path_mtu;
	} cases[] = {
		{0, 0},	      {351, 0},	    {352, 256},	  {608, 512},	 {1119, 512},
		{1120, 1024}, {1400, 1024}, {1500, 1024}, {2144, 2048},	 {4191, 2048},
		{4192, 4096}, {4200, 4096}, {9000, 4096}, {65536, 4096},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		assert_int_equal(addressing_path_mtu(cases[i].netdev_mtu), cases[i].path_mtu);
}

static void test_guid(void **state)
{
	static const uint8_t mac[6] = {0x02, 0xfc, 0x00, 0x12, 0x34, 0x56};
	struct rnic_gid one = gid_of("127.0.0.2"), other = gid_of("127.0.0.3"),
			ipv6 = gid_of("::1");

	(void)state;
	assert_int_equal(addressing_guid_from_mac(mac), UINT64_C(0x00fc00fffe123456));
	assert_int_equal(addressing_guid_from_gid(&one), UINT64_C(0x0200ffff7f000002));
	assert_int_equal(addressing_guid_from_gid(&other), UINT64_C(0x0200ffff7f000003));
	assert_int_equal(addressing_guid_from_gid(&ipv6), UINT64_C(0x0200000000000001));
}

#define ROUTE_TITLE "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n"
#define ZEROS	    "00000000000000000000000000000000"

static void test_default_route(void **state)
{
	static const struct {
		bool is_ipv6;
		const char *text;
		const char *expected;
	} cases[] = {
		{false, "", NULL},
		{false, ROUTE_TITLE, NULL},
		{false, ROUTE_TITLE "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
		 NULL},
		{false,
		 ROUTE_TITLE "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
			     "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n",
		 "eth0"},
		/* 0.0.0.0/1 is not a default route */
		{false, ROUTE_TITLE "tun0\t00000000\t0\t0003\t0\t0\t0\t00000080\t0\t0\t0\n", NULL},
		/* unreachable default */
		{false, ROUTE_TITLE "*\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n",
		 NULL},
		{true, "", NULL},
		{true,
		 ZEROS " 00 " ZEROS " 00 " ZEROS " ffffffff 00000001 00000000 00200200       lo\n",
		 NULL},
		{true,
		 "fe800000000000000000000000000000 40 " ZEROS " 00 " ZEROS
		 " 00000100 00000002 00000000 00000001     eth1\n" ZEROS " 00 " ZEROS
		 " 00 fd000000000000000000000000000001 00000400 00000002 00000000 00000003     "
		 "eth0\n",
		 "eth0"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		char netdev[IF_NAMESIZE] = "?";
		bool is_found = cases[i].is_ipv6
					? addressing_default_route_ipv6(cases[i].text, netdev)
					: addressing_default_route_ipv4(cases[i].text, netdev);

		assert_int_equal(is_found, cases[i].expected != NULL);
		assert_string_equal(netdev, is_found ? cases[i].expected : "?");
	}
}

static void test_resolve_loopback(void **state)
{
	struct addressing found;
	char text[PORT_TEXT_BYTES], name[RNIC_GID_TEXT_BYTES];

	(void)state;
	assert_int_equal(addressing_resolve(&found, NULL, "127.9.8.7", text), 0);
	assert_string_equal(found.netdev, "lo");
	assert_int_equal(found.netdev_index, if_nametoindex("lo"));
	assert_int_equal(found.path_mtu_bytes, 4096);
	assert_true(found.has_one_address);
	assert_string_equal(rnic_gid_text(&found.address, name), "127.9.8.7");
	assert_int_equal(found.node_guid, UINT64_C(0x0200ffff7f090807));

	assert_int_equal(addressing_resolve(&found, "lo", NULL, text), 0);
	assert_false(found.has_one_address);
	assert_string_equal(rnic_gid_text(&found.address, name), "127.0.0.1");

	assert_int_equal(addressing_resolve(&found, NULL, NULL, text), 0);
	assert_true(found.netdev_index != 0 && found.node_guid != 0);
}

static void test_resolve_errors(void **state)
{
	static const struct {
		const char *netdev, *address;
		int error;
		const char *text;
	} cases[] = {
		{"nosuch0", NULL, -ENODEV, "there is no network interface nosuch0"},
		{"a-name-that-is-too-long-for-one", NULL, -ENODEV,
		 "there is no network interface a-name-that-is-too-long-for-one"},
		{NULL, "203.0.113.77", -EADDRNOTAVAIL,
		 "203.0.113.77 is not an address of this machine"},
		{"lo", "203.0.113.77", -EADDRNOTAVAIL, "203.0.113.77 is not an address of lo"},
		{NULL, "localhost", -EINVAL, "\"localhost\" is not an IPv4 or IPv6 address"},
		{NULL, "lo", -EINVAL,
		 "\"lo\" is not an IPv4 or IPv6 address; the option for an interface is --netdev"},
		{"127.0.0.2", NULL, -ENODEV,
		 "there is no network interface 127.0.0.2; the option for an address is --address"},
		{NULL, "", -EINVAL, "\"\" is not an IPv4 or IPv6 address"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct addressing found = {.speed_mbps = 77};
		char text[PORT_TEXT_BYTES];

		assert_int_equal(
			addressing_resolve(&found, cases[i].netdev, cases[i].address, text),
			cases[i].error);
		assert_string_equal(text, cases[i].text);
		assert_int_equal(found.speed_mbps, 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choose_netdev),
		cmocka_unit_test(test_find_netdev),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_path_mtu),
		cmocka_unit_test(test_guid),
		cmocka_unit_test(test_default_route),
		cmocka_unit_test(test_resolve_loopback),
		cmocka_unit_test(test_resolve_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
