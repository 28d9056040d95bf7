/* SPDX-License-Identifier: MIT */
#include "daemon/control/view/pci_shape.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <unistd.h>

static void test_addresses(void **state)
{
	static const char *const good[] = {"0000:18:00.0", "ffff:ff:1f.7", "0001:0a:10.1"};
	static const char *const bad[] = {
		"",
		"18:00.0",
		"0000:18:00.8",
		"0000:18:20.0",
		"0000:18:00.00",
		"0000:18:00:0",
		"0000:1g:00.0",
		"0000:1A:00.0",
		"0000:18:00.",
		"0000-18:00.0",
		"../../18:0.0",
		"0000:18:00.0/",
		" 0000:18:00.0",
		"000018:00.0 0",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++)
		if (!pci_shape_is_address(good[i]))
			fail_msg("%s is no address", good[i]);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (pci_shape_is_address(bad[i]))
			fail_msg("%s is an address", bad[i]);
}

/* A machine without such a node has the device near all of its processors. */
static void test_processors(void **state)
{
	const long count = sysconf(_SC_NPROCESSORS_CONF);
	struct pci_shape shape;
	char list[32];
	int bits = 0;

	(void)state;
	pci_shape_fill(&shape, "0000:18:00.0", 1000);
	assert_string_equal(shape.address, "0000:18:00.0");
	assert_int_equal(shape.numa_node, 1000);
	snprintf(list, sizeof(list), count > 1 ? "0-%ld" : "%ld", count - 1);
	assert_string_equal(shape.local_cpulist, list);
	for (const char *digit = shape.local_cpus; *digit != '\0'; digit++)
		if (*digit != ',')
			bits += __builtin_popcount(
				(unsigned)strtoul((char[]){*digit, '\0'}, NULL, 16));
	assert_int_equal(bits, count);
	if (access("/sys/devices/system/node/node0/cpulist", R_OK) != 0)
		return;
	pci_shape_fill(&shape, "0000:18:00.0", 0);
	assert_non_null(strchr(shape.local_cpulist, '0'));
	assert_null(strchr(shape.local_cpulist, '\n'));
	assert_true(strlen(shape.local_cpus) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
