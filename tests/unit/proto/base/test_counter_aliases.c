/* SPDX-License-Identifier: MIT */
#include "proto/base/counter_aliases.h"

#include "tests/unit/unit_test.h"

#include <string.h>

static uint32_t alias_of(const char *name)
{
	uint32_t i = 0;

	while (strcmp(rnic_counter_alias(i)->name, name) != 0)
		i++;
	return i;
}

static void test_sums(void **state)
{
	const uint32_t buffer = alias_of("out_of_buffer"), naks = alias_of("packet_seq_err");
	struct rnic_alias_sums sums = {.values = {0}};

	(void)state;
	rnic_alias_sums_add(&sums, "send_rnr_err", 3);
	rnic_alias_sums_add(&sums, "sent_pkts", 90);
	rnic_alias_sums_add(&sums, "dropped_no_receive", 4);
	assert_true(sums.is_there[buffer]);
	assert_int_equal(sums.values[buffer], 7);
	assert_false(sums.is_there[naks]);
	assert_int_equal(sums.values[naks], 0);
	assert_null(rnic_counter_alias(RNIC_COUNTER_ALIASES));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
