/* SPDX-License-Identifier: MIT */
#include "lib/apis/dial/dial.h"
#include "tests/unit/unit_test.h"

#include <limits.h>

static const struct {
	const char *host;
	uint32_t family;
	uint8_t address[16];
} literals[] = {
	{"10.1.2.3", 4, {[10] = 0xff, 0xff, 10, 1, 2, 3}},
	{"::ffff:10.1.2.3", 4, {[10] = 0xff, 0xff, 10, 1, 2, 3}},
	{"fd77::1", 6, {0xfd, 0x77, [15] = 1}},
};

static void test_takes_addresses_of_both_families(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
		struct rnic_endpoint endpoint;

		assert_int_equal(rnic_dial_resolve(literals[i].host, 7000, 1, &endpoint), 1);
		assert_int_equal(endpoint.family, literals[i].family);
		assert_int_equal(endpoint.port, 7000);
		assert_memory_equal(endpoint.address.bytes, literals[i].address, 16);
	}
}

static void test_gives_no_more_than_there_is_room_for(void **state)
{
	struct rnic_endpoint endpoints[4];

	(void)state;
	assert_true(rnic_dial_resolve(NULL, 1, 4, endpoints) >= 1);
	assert_int_equal(rnic_dial_resolve(NULL, 1, 1, endpoints), 1);
}

static void test_waits_are_rounded_up_and_may_have_no_end(void **state)
{
	const uint64_t now_ns = rnic_dial_now_ns();

	(void)state;
	assert_true(rnic_dial_deadline_ns(-1) == RNIC_DIAL_FOREVER);
	assert_true(rnic_dial_deadline_ns(0) >= now_ns);
	assert_true(rnic_dial_deadline_ns(INT_MAX) - now_ns >= (uint64_t)INT_MAX * 1000000);
	assert_int_equal(rnic_dial_poll_timeout_ms(RNIC_DIAL_FOREVER), -1);
	assert_int_equal(rnic_dial_poll_timeout_ms(now_ns), 0);
	assert_int_equal(rnic_dial_poll_timeout_ms(RNIC_DIAL_FOREVER - 1), INT_MAX);
	assert_true(rnic_dial_poll_timeout_ms(rnic_dial_deadline_ns(INT_MAX)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_addresses_of_both_families),
		cmocka_unit_test(test_gives_no_more_than_there_is_room_for),
		cmocka_unit_test(test_waits_are_rounded_up_and_may_have_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
