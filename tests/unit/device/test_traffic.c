/* SPDX-License-Identifier: MIT */
#include "device/device_limits.h"
#include "device/traffic.h"
#include "unit_test.h"

static void test_what_is_bulk(void **state)
{
	static const struct {
		uint64_t later_ns;
		uint64_t more_bytes;
		bool is_bulk;
	} steps[] = {
		{LIMIT_BULK_NS, 0, false},
		{10, LIMIT_BULK_BYTES - 1, false},
		{10, 1, true}, /* at once */
		{LIMIT_BULK_NS - 21, 0, true},
		{1, 0, true},
		{LIMIT_BULK_NS, LIMIT_BULK_BYTES, true},
		{LIMIT_BULK_NS, LIMIT_BULK_BYTES - 1, false}, /* when a millisecond has passed */
		{5, LIMIT_BULK_BYTES / 2, false},
		{LIMIT_BULK_NS, LIMIT_BULK_BYTES / 4, false},
		{100 * (uint64_t)LIMIT_BULK_NS, LIMIT_BULK_BYTES, false}, /* after a sleep */
		{1, LIMIT_BULK_BYTES, true},
	};
	uint64_t now_ns = 1000, moved_bytes = 0;
	struct traffic traffic = {0};

	(void)state;
	traffic_note(&traffic, moved_bytes, now_ns);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		now_ns += steps[i].later_ns;
		moved_bytes += steps[i].more_bytes;
		assert_int_equal(traffic_note(&traffic, moved_bytes, now_ns), steps[i].is_bulk);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_bulk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
