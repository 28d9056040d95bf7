/* SPDX-License-Identifier: MIT */
#include "daemon/shared/network/unreachable_neighbours.h"

#include "daemon/shared/network/netlink_message.h"
#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <net/if.h>

#define NETDEV 7

static void test_silent_ones_of_the_interface(void **state)
{
	static const struct {
		struct netlink_fact fact;
		bool matches;
	} cases[] = {
		{{.kind = NETLINK_NEIGHBOUR, .netdev_index = NETDEV, .is_silent = true}, true},
		{{.kind = NETLINK_NEIGHBOUR, .netdev_index = NETDEV}, false},
		{{.kind = NETLINK_NEIGHBOUR, .netdev_index = NETDEV + 1, .is_silent = true}, false},
		{{.kind = NETLINK_ADDRESS, .netdev_index = NETDEV, .is_silent = true}, false},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		assert_int_equal(unreachable_neighbours_match(&cases[i].fact, NETDEV),
				 cases[i].matches);
}

static void test_loopback_has_no_neighbours(void **state)
{
	struct rnic_gid silent[4];

	(void)state;
	assert_int_equal(unreachable_neighbours_ask(if_nametoindex("lo"), silent, 4), 0);
}

static void test_one_socket_serves_all_questions(void **state)
{
	struct rnic_gid silent[4];

	(void)state;
	assert_int_equal(unreachable_neighbours_prepare(), 0);
	for (int i = 0; i < 3; i++) {
		/* No room: the answer stays in the socket. */
		assert_int_equal(unreachable_neighbours_ask(if_nametoindex("lo"), silent, 0), 0);
		assert_int_equal(unreachable_neighbours_ask(if_nametoindex("lo"), silent, 4), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent_ones_of_the_interface),
		cmocka_unit_test(test_loopback_has_no_neighbours),
		cmocka_unit_test(test_one_socket_serves_all_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
