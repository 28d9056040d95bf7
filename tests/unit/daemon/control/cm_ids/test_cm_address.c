/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm_ids/cm_address.h"

#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>

static struct rnic_gid gid(const char *text)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1)
		return rnic_gid_from_ipv4(bytes);
	assert_int_equal(inet_pton(AF_INET6, text, bytes), 1);
	return rnic_gid_from_ipv6(bytes);
}

/* A device on an interface, and one on loopback. */
static struct rnic_ctl_gids_reply table(const char *const *addresses, uint32_t count)
{
	struct rnic_ctl_gids_reply gids = {.count = count};

	for (uint32_t i = 0; i < count; i++)
		if (addresses[i] != NULL)
			gids.entries[i].gid = gid(addresses[i]);
	return gids;
}

static const char *const on_interface[] = {"fe80::1", "192.0.2.7", NULL, "2001:db8::7"};
static const char *const on_loopback[] = {"127.9.9.2"};

static void test_endpoints(void **state)
{
	static const struct {
		const char *address;
		uint8_t family;
		bool is_good;
		bool is_any;
	} cases[] = {
		{"192.0.2.1", 4, true, false},
		{"2001:db8::1", 6, true, false},
		{"0.0.0.0", 4, true, true},
		{"::", 6, true, true},
		{"::", 4, true, true},
		{"192.0.2.1", 6, false, false},
		{"2001:db8::1", 4, false, false},
		{"192.0.2.1", 0, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rnic_endpoint endpoint = {
			.address = gid(cases[i].address),
			.family = cases[i].family,
			.port = 7,
		};
		struct cm_address address;

		print_message("%s as IPv%u\n", cases[i].address, cases[i].family);
		assert_int_equal(cm_address_from_endpoint(&endpoint, &address), cases[i].is_good);
		if (!cases[i].is_good)
			continue;
		assert_int_equal(address.port, 7);
		assert_int_equal(cm_address_is_any(&address), cases[i].is_any);
	}
}

static void test_loopback_stands_for_the_device(void **state)
{
	const struct rnic_ctl_gids_reply interface = table(on_interface, 4);
	const struct rnic_ctl_gids_reply loopback = table(on_loopback, 1);
	const struct rnic_gid own = gid("192.0.2.7");
	struct cm_address address = {.gid = gid("127.0.0.1")};

	(void)state;
	assert_true(cm_address_to_own(&interface, &address));
	assert_true(rnic_gid_equal(&address.gid, &own));
	/* There 127.0.0.1 may be another RNIC. */
	address.gid = gid("127.0.0.1");
	assert_false(cm_address_to_own(&loopback, &address));
	address.gid = gid("127.9.9.2");
	assert_true(cm_address_to_own(&loopback, &address));
	address.gid = gid("192.0.2.8");
	assert_false(cm_address_to_own(&interface, &address));
}

static void test_a_peer_that_is_oneself_is_its_own_source(void **state)
{
	const struct rnic_ctl_gids_reply gids = table(on_interface, 4);
	const struct rnic_gid peer = gid("2001:db8::7");
	struct rnic_gid source;

	(void)state;
	assert_int_equal(cm_address_choose_source(&gids, &peer, &source), 0);
	assert_true(rnic_gid_equal(&source, &peer));
}

static void test_groups_and_link_local_peers_need_no_route(void **state)
{
	const struct rnic_ctl_gids_reply gids = table(on_interface, 4);
	const struct rnic_gid group = gid("239.1.2.3"), neighbour = gid("fe80::99");
	const struct rnic_gid ipv4 = gid("192.0.2.7"), link_local = gid("fe80::1");
	struct rnic_gid source;

	(void)state;
	assert_int_equal(cm_address_choose_source(&gids, &group, &source), 0);
	assert_true(rnic_gid_equal(&source, &ipv4));
	assert_int_equal(cm_address_choose_source(&gids, &neighbour, &source), 0);
	assert_true(rnic_gid_equal(&source, &link_local));
}

static void test_a_family_that_the_device_lacks(void **state)
{
	const struct rnic_ctl_gids_reply gids = table(on_loopback, 1);
	const struct rnic_gid peer = gid("2001:db8::9");
	struct rnic_gid source;

	(void)state;
	assert_int_equal(cm_address_choose_source(&gids, &peer, &source), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endpoints),
		cmocka_unit_test(test_loopback_stands_for_the_device),
		cmocka_unit_test(test_a_peer_that_is_oneself_is_its_own_source),
		cmocka_unit_test(test_groups_and_link_local_peers_need_no_route),
		cmocka_unit_test(test_a_family_that_the_device_lacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
