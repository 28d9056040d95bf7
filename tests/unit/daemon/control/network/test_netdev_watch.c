/* SPDX-License-Identifier: MIT */
/* Against this machine's loopback interface, which is not changed: the interop tests do that. */
#include "daemon/control/network/netdev_watch.h"

#include "proto/wire/gid.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <net/if.h>
#include <unistd.h>

static void test_first_state(void **state)
{
	const struct rnic_gid loopback = fixture_gid("127.0.0.1");
	struct netdev_watch watch;
	char text[PORT_TEXT_BYTES] = "";
	bool is_found = false;

	(void)state;
	assert_int_equal(netdev_watch_open(&watch, "lo", if_nametoindex("lo"), text), 0);
	assert_true(watch.state.is_running && !watch.state.is_gone);
	assert_true(watch.state.mtu_bytes > 0);
	for (uint32_t i = 0; i < watch.state.address_count; i++)
		is_found |= rnic_gid_equal(&watch.state.addresses[i].gid, &loopback);
	assert_true(is_found);
	assert_false(netdev_watch_next(&watch));
	netdev_watch_close(&watch);
	assert_true(fcntl(watch.fd, F_GETFD) < 0);
}

static void test_no_such_interface(void **state)
{
	struct netdev_watch watch;
	char text[PORT_TEXT_BYTES] = "";

	(void)state;
	assert_int_equal(netdev_watch_open(&watch, "none", 0x7fffffff, text), -ENODEV);
	assert_non_null(strstr(text, "cannot follow"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_state),
		cmocka_unit_test(test_no_such_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
