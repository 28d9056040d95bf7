/* SPDX-License-Identifier: MIT */
/* Distinct names for the devices of daemons that do not know of each other. */
#include "native/device_list.h"
#include "unit_test.h"

#include <stdio.h>

/* A daemon and the name that its device is to have; "" for a daemon that does not answer. */
struct named_daemon {
	const char *own_name;
	const char *expected;
};

static void expect_names(const struct named_daemon *daemons, uint32_t count)
{
	struct rnic_listed_device devices[8] = {0};
	struct rnic_device_list list = {.devices = devices};

	for (uint32_t i = 0; i < count; i++) {
		struct rnic_listed_device *device = &devices[list.count];

		if (daemons[i].own_name[0] == '\0')
			continue;
		device->index = i;
		snprintf(device->attributes.name, sizeof(device->attributes.name), "%s",
			 daemons[i].own_name);
		rnic_device_list_choose_name(&list, device);
		assert_string_equal(device->attributes.name, daemons[i].expected);
		list.count++;
	}
}

static void test_unnamed(void **state)
{
	static const struct named_daemon all[] = {
		{"rnic0", "rnic0"}, {"rnic0", "rnic1"}, {"rnic0", "rnic2"}};
	/* Names do not move when a daemon has ended. */
	static const struct named_daemon some[] = {
		{"", ""}, {"rnic0", "rnic1"}, {"rnic0", "rnic2"}};

	(void)state;
	expect_names(all, COUNT_OF(all));
	expect_names(some, COUNT_OF(some));
}

static void test_named(void **state)
{
	static const struct named_daemon daemons[] = {{"left", "left"},	  {"rnic3", "rnic3"},
						      {"left", "rnic2"},  {"rnic0", "rnic35"},
						      {"right", "right"}, {"rnic0", "rnic5"}};

	(void)state;
	expect_names(daemons, COUNT_OF(daemons));
}

/* A daemon may say what it likes; the names become names of files. */
static void test_no_file_names(void **state)
{
	static const struct named_daemon daemons[] = {
		{"../../x", "rnic0"}, {".", "rnic1"}, {"a/b", "rnic2"}, {"a.b", "a.b"}};

	(void)state;
	expect_names(daemons, COUNT_OF(daemons));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unnamed),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_no_file_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
