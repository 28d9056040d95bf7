/* SPDX-License-Identifier: MIT */
#include "proto/wire/gid.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>

static void test_kinds_and_text(void **state)
{
	static const struct {
		const char *address; /* as IPv6 */
		const char *text;
		bool ipv4, zero, link_local, multicast;
	} cases[] = {
		{"::", "::", false, true, false, false},
		{"::ffff:192.0.2.1", "192.0.2.1", true, false, false, false},
		{"::ffff:0.0.0.0", "0.0.0.0", true, false, false, false},
		{"::ffff:224.0.0.1", "224.0.0.1", true, false, false, true},
		{"::ffff:239.255.255.255", "239.255.255.255", true, false, false, true},
		{"::ffff:240.0.0.1", "240.0.0.1", true, false, false, false},
		{"::fffe:0:1", "::fffe:0:1", false, false, false, false},
		{"2001:db8::1", "2001:db8::1", false, false, false, false},
		{"fe80::1", "fe80::1", false, false, true, false},
		{"febf::1", "febf::1", false, false, true, false},
		{"fec0::1", "fec0::1", false, false, false, false},
		{"ff02::1", "ff02::1", false, false, false, true},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false, false, false, true},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		char text[RNIC_GID_TEXT_BYTES];
		uint8_t address[16];
		struct rnic_gid gid;

		assert_int_equal(inet_pton(AF_INET6, cases[i].address, address), 1);
		gid = rnic_gid_from_ipv6(address);
		assert_ptr_equal(rnic_gid_text(&gid, text), text);
		assert_string_equal(text, cases[i].text);
		assert_int_equal(rnic_gid_is_ipv4(&gid), cases[i].ipv4);
		assert_int_equal(rnic_gid_is_zero(&gid), cases[i].zero);
		assert_int_equal(rnic_gid_is_link_local(&gid), cases[i].link_local);
		assert_int_equal(rnic_gid_is_multicast(&gid), cases[i].multicast);
	}
}

/* Kernels keep groups of the scope of an interface from the wire, and pass all others. */
static void test_on_wire(void **state)
{
	static const struct {
		const char *gid, *on_wire;
	} cases[] = {
		{"ff01:0:2:c985::1", "ff02:0:2:c985::1"}, /* perftest's own */
		{"ff11::1", "ff12::1"},
		{"ff02::1", "ff02::1"},
		{"ff0e::1", "ff0e::1"},
		{"fe01::1", "fe01::1"},
		{"::ffff:239.1.1.1", "239.1.1.1"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		char text[RNIC_GID_TEXT_BYTES];
		uint8_t bytes[16];
		struct rnic_gid gid;

		assert_int_equal(inet_pton(AF_INET6, cases[i].gid, bytes), 1);
		gid = rnic_gid_from_ipv6(bytes);
		gid = rnic_gid_on_wire(&gid);
		assert_string_equal(rnic_gid_text(&gid, text), cases[i].on_wire);
	}
}

static void test_ipv4_round_trip(void **state)
{
	static const uint8_t address[4] = {192, 0, 2, 1};
	static const uint8_t mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
	struct rnic_gid gid = rnic_gid_from_ipv4(address);
	struct rnic_gid same = rnic_gid_from_ipv6(mapped);

	(void)state;
	assert_true(rnic_gid_equal(&gid, &same));
	assert_memory_equal(rnic_gid_ipv4(&gid), address, 4);
	same.bytes[15] ^= 1;
	assert_false(rnic_gid_equal(&gid, &same));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_and_text),
		cmocka_unit_test(test_on_wire),
		cmocka_unit_test(test_ipv4_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
