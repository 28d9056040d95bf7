/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/view_path.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#define TREE "/run/r.view"

static const struct {
	const char *path;
	const char *mapped; /* NULL: not covered */
} cases[] = {
	{"/sys/class/infiniband", TREE "/sys/class/infiniband"},
	{"/sys/class/infiniband/", TREE "/sys/class/infiniband/"},
	{"/sys/class/infiniband/rnic0/ports/1/gids/0",
	 TREE "/sys/class/infiniband/rnic0/ports/1/gids/0"},
	{"/sys/class/infiniband_verbs/uverbs0/ibdev",
	 TREE "/sys/class/infiniband_verbs/uverbs0/ibdev"},
	{"/sys/devices/virtual/infiniband/rnic0/node_type",
	 TREE "/sys/devices/virtual/infiniband/rnic0/node_type"},
	{"/dev/infiniband/uverbs0", TREE "/dev/infiniband/uverbs0"},

	/* Spellings of the same place. */
	{"//sys///class/./infiniband//rnic0", TREE "/sys/class/infiniband//rnic0"},
	{"/./sys/class/infiniband/.", TREE "/sys/class/infiniband/."},
	{"/sys/class/infiniband/rnic0/../rnic0", TREE "/sys/class/infiniband/rnic0/../rnic0"},
	{"/sys/class/infiniband/a/..", TREE "/sys/class/infiniband/a/.."},

	/* Names that only begin alike. */
	{"/sys/class/infiniband_mad", NULL},
	{"/sys/class/infiniband2/rnic0", NULL},
	{"/sys/class/infini", NULL},
	{"/sys/class", NULL},
	{"/sys/devices/virtual", NULL},
	{"/sys", NULL},
	{"/", NULL},
	{"", NULL},
	{"/sys/class/net/infiniband", NULL},
	{"/home/sys/class/infiniband", NULL},
	{"/dev/infiniband0", NULL},
	{"/sys/class/.infiniband", NULL},

	/* Out of the view again, or there by a way that may lead through links. */
	{"/sys/class/infiniband/..", NULL},
	{"/sys/class/infiniband/../net/lo", NULL},
	{"/sys/class/infiniband/a/../../net", NULL},
	{"/sys/class/infiniband/a/../../infiniband/rnic0", NULL},
	{"/sys/class/../class/infiniband", NULL},
	{"/sys/class/infiniband/./..", NULL},

	/* The base of these relative paths is unknown to the view. */
	{"sys/class/infiniband", NULL},
	{"infiniband", NULL},
};

static void test_map(void **state)
{
	char mapped[RNIC_VIEW_PATH_BYTES];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		bool is_covered = rnic_view_map(TREE, cases[i].path, mapped);

		if (is_covered != (cases[i].mapped != NULL))
			fail_msg("%s: covered %d", cases[i].path, is_covered);
		if (is_covered)
			assert_string_equal(mapped, cases[i].mapped);
	}
}

static const struct {
	const char *path;
	const char *mapped; /* NULL: not covered */
	const char *probe;
} cases_there[] = {
	/* Listings that the view has as a whole, or not at all. */
	{"/sys/bus/pci/devices", TREE "/sys/bus/pci/devices", TREE "/sys/bus/pci/devices"},
	{"/sys/bus/pci/devices/0000:18:00.0/class", TREE "/sys/bus/pci/devices/0000:18:00.0/class",
	 TREE "/sys/bus/pci/devices"},
	{"/sys/class/pci_bus/0000:18", TREE "/sys/class/pci_bus/0000:18",
	 TREE "/sys/class/pci_bus"},
	{"/sys/bus/pci/drivers/rnicd", TREE "/sys/bus/pci/drivers/rnicd",
	 TREE "/sys/bus/pci/drivers/rnicd"},
	{"/sys/bus/pci/drivers", NULL, NULL},
	{"/sys/bus/pci", NULL, NULL},

	/* Directories that the kernel may have too: each path counts. */
	{"/sys/devices/pci0000:18/0000:18:00.0", TREE "/sys/devices/pci0000:18/0000:18:00.0",
	 TREE "/sys/devices/pci0000:18/0000:18:00.0"},
	{"/sys/devices/platform/pci0000:18", NULL, NULL},
	{"/sys/devices", NULL, NULL},

	/* The device of an interface, if the view has it. */
	{"/sys/class/net/eth0/device/infiniband", TREE "/sys/class/net/eth0/device/infiniband",
	 TREE "/sys/class/net/eth0/device/infiniband"},
	{"/sys//class/net/eth0/device/infiniband/rnic0/ports/1",
	 TREE "/sys/class/net/eth0/device/infiniband/rnic0/ports/1",
	 TREE "/sys/class/net/eth0/device/infiniband"},
	{"/sys/class/net/eth0/device", NULL, NULL},
	{"/sys/class/net/eth0/device/infiniband/..", NULL, NULL},
	{"/sys/class/net/device/infiniband", NULL, NULL},

	/* Up from a device, through the link that it is. */
	{"/sys/class/infiniband/rnic0/../..", TREE "/sys/class/infiniband/rnic0/../..",
	 TREE "/sys/class/infiniband/rnic0/../.."},
	{"/sys/class/pci_bus/0000:18/../../0000:18:00.0",
	 TREE "/sys/class/pci_bus/0000:18/../../0000:18:00.0",
	 TREE "/sys/class/pci_bus/0000:18/../../0000:18:00.0"},
	{"/sys/class/infiniband/../net", NULL, NULL},
	{"/sys/class/infiniband/..", NULL, NULL},
	{"/sys/bus/pci/devices/../drivers", NULL, NULL},
	{"pci", NULL, NULL},
};

static void test_map_there(void **state)
{
	char mapped[RNIC_VIEW_PATH_BYTES], probe[RNIC_VIEW_PATH_BYTES];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases_there); i++) {
		bool is_covered = rnic_view_map_there(TREE, cases_there[i].path, mapped, probe);

		if (is_covered != (cases_there[i].mapped != NULL))
			fail_msg("%s: covered %d", cases_there[i].path, is_covered);
		if (!is_covered)
			continue;
		assert_string_equal(mapped, cases_there[i].mapped);
		assert_string_equal(probe, cases_there[i].probe);
	}
}

/* Too long is not covered; the longest that fits is, with its final zero. */
static void test_length(void **state)
{
	char path[2 * RNIC_VIEW_PATH_BYTES], mapped[RNIC_VIEW_PATH_BYTES + 1];
	const size_t fits = RNIC_VIEW_PATH_BYTES - sizeof(TREE);

	(void)state;
	memset(path, 'x', sizeof(path));
	memcpy(path, "/dev/infiniband/", strlen("/dev/infiniband/"));
	mapped[RNIC_VIEW_PATH_BYTES] = '!';
	path[fits] = '\0';
	assert_true(rnic_view_map(TREE, path, mapped));
	assert_int_equal(strlen(mapped), RNIC_VIEW_PATH_BYTES - 1);
	path[fits] = 'x';
	path[fits + 1] = '\0';
	assert_false(rnic_view_map(TREE, path, mapped));
	assert_int_equal(mapped[RNIC_VIEW_PATH_BYTES], '!');
}

static void test_join(void **state)
{
	char joined[RNIC_VIEW_PATH_BYTES], longest[RNIC_VIEW_PATH_BYTES];

	(void)state;
	assert_true(rnic_view_join("/sys/class", "infiniband/x", joined));
	assert_string_equal(joined, "/sys/class/infiniband/x");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_false(rnic_view_join(longest, "a", joined));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_there),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
