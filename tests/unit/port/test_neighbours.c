/* SPDX-License-Identifier: MIT */
#include "port/udp/neighbours.h"

#include "base/bits.h"
#include "port/udp/netlink_message.h"
#include "port_fixture.h"
#include "wire/gid.h"
#include "unit_test.h"

#include <net/if.h>

#define NETDEV 7

static struct netlink_fact neighbour(uint32_t netdev_index, uint8_t host, bool is_silent)
{
	return (struct netlink_fact){
		.kind = NETLINK_NEIGHBOUR,
		.netdev_index = netdev_index,
		.gid = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, host}),
		.is_silent = is_silent,
	};
}

static void test_who_is_known(void **state)
{
	const struct netlink_fact facts[] = {
		neighbour(NETDEV, 1, true),
		neighbour(NETDEV, 2, false),
		neighbour(NETDEV + 1, 3, true),
		{.kind = NETLINK_ADDRESS, .netdev_index = NETDEV, .is_silent = true},
	};
	struct neighbours neighbours;

	(void)state;
	neighbours_init(&neighbours, NETDEV);
	for (size_t i = 0; i < RNIC_COUNT_OF(facts); i++)
		neighbours_apply(&neighbours, &facts[i], 0);
	for (size_t i = 0; i < RNIC_COUNT_OF(facts); i++)
		assert_int_equal(neighbours_has(&neighbours, &facts[i].gid), i == 0);
	for (uint32_t host = 1; host <= NEIGHBOURS_MAX + 1; host++) {
		struct netlink_fact fact = neighbour(NETDEV, (uint8_t)host, true);

		neighbours_apply(&neighbours, &fact, 0);
		assert_int_equal(neighbours_has(&neighbours, &fact.gid), host <= NEIGHBOURS_MAX);
	}
	assert_int_equal(neighbours.count, NEIGHBOURS_MAX);
}

/* Now and then one packet goes. */
static void test_who_is_held(void **state)
{
	const struct netlink_fact fact = neighbour(NETDEV, 1, true),
				  other = neighbour(NETDEV, 2, 0);
	struct neighbours neighbours;

	(void)state;
	neighbours_init(&neighbours, NETDEV);
	assert_false(neighbours_try_hold(&neighbours, &fact.gid, 1000));
	neighbours_apply(&neighbours, &fact, 1000);
	neighbours_apply(&neighbours, &fact, 2000); /* once more changes nothing */
	assert_false(neighbours_try_hold(&neighbours, &other.gid, 1000));
	for (uint64_t at_ns = 1000; at_ns < UINT64_C(3000000000); at_ns += NEIGHBOURS_TRY_NS) {
		assert_true(neighbours_try_hold(&neighbours, &fact.gid, at_ns));
		assert_true(
			neighbours_try_hold(&neighbours, &fact.gid, at_ns + NEIGHBOURS_TRY_NS - 1));
		assert_false(
			neighbours_try_hold(&neighbours, &fact.gid, at_ns + NEIGHBOURS_TRY_NS));
	}
}

/* The loopback interface has no neighbours: a neighbour thought silent is silent no more. */
static void test_look(void **state)
{
	struct netlink_fact fact;
	struct neighbours neighbours;

	(void)state;
	neighbours_init(&neighbours, if_nametoindex("lo"));
	fact = neighbour(neighbours.netdev_index, 1, true);
	neighbours_apply(&neighbours, &fact, 0);
	neighbours_look(&neighbours, 1000);
	assert_false(neighbours_has(&neighbours, &fact.gid));
	neighbours_apply(&neighbours, &fact, 0);
	neighbours_look(&neighbours, 999 + NEIGHBOURS_LOOK_NS);
	assert_true(neighbours_has(&neighbours, &fact.gid));
	neighbours_look(&neighbours, 1000 + NEIGHBOURS_LOOK_NS);
	assert_false(neighbours_has(&neighbours, &fact.gid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_known),
		cmocka_unit_test(test_who_is_held),
		cmocka_unit_test(test_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
