/* SPDX-License-Identifier: MIT */
#include "daemon/control/view/view_content.h"

#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>

#define D "sys/devices/virtual/infiniband/rnic7"
#define P D "/ports/1"

static struct rnic_device_attributes device;
static struct rnic_ctl_port_reply port;
static struct rnic_ctl_gids_reply gids;
static const struct rnic_ctl_pkeys_reply pkeys = {.pkeys = {0xffff, 0x1234}};
static struct view_facts facts = {&device, &port, &gids, &pkeys, NULL};

static int set_up(void **state)
{
	static const uint8_t address[4] = {192, 0, 2, 1};

	(void)state;
	facts.pci = NULL;
	device = (struct rnic_device_attributes){
		.name = "rnic7",
		.netdev = "eth5",
		.firmware = "1.2.3",
		.node_guid = UINT64_C(0x0211223344556677),
		.hardware_version = 1,
		.pkey_count = 2,
		.vendor_id = 0x726e69,
		.vendor_part_id = 1,
	};
	port = (struct rnic_ctl_port_reply){.state = RNIC_PORT_ACTIVE, .speed_mbps = 25000};
	memset(&gids, 0, sizeof(gids));
	gids.count = 1;
	gids.entries[1].gid = rnic_gid_from_ipv4(address);
	return 0;
}

/* The expected content of one path, and whether the walk met it. */
struct expectation {
	enum view_entry entry;
	const char *path;
	const char *text;
	unsigned met;
};

static int compare(void *context, enum view_entry entry, const char *path, const char *text)
{
	struct expectation *expected = context;

	assert_true((text == NULL) == (entry == VIEW_DIRECTORY || entry == VIEW_ABSENT));
	for (; expected->path != NULL; expected++) {
		if (strcmp(expected->path, path) != 0)
			continue;
		expected->met++;
		assert_int_equal(entry, expected->entry);
		if (expected->text != NULL)
			assert_string_equal(text, expected->text);
	}
	return 0;
}

static void expect(struct expectation *expected)
{
	assert_int_equal(view_content(&facts, compare, expected), 0);
	for (; expected->path != NULL; expected++)
		if (expected->met != 1)
			fail_msg("%s was met %u times", expected->path, expected->met);
}

static void test_device(void **state)
{
	struct expectation expected[] = {
		{VIEW_TEXT, D "/node_type", "1: CA\n", 0},
		{VIEW_TEXT, D "/node_guid", "0211:2233:4455:6677\n", 0},
		{VIEW_TEXT, D "/sys_image_guid", "0211:2233:4455:6677\n", 0},
		{VIEW_TEXT, D "/fw_ver", "1.2.3\n", 0},
		{VIEW_TEXT, D "/hca_type", "rnicd\n", 0},
		{VIEW_TEXT, D "/board_id", "rnicd\n", 0},
		{VIEW_LINK, D "/device/net/eth5", "/sys/class/net/eth5", 0},
		{VIEW_LINK, "sys/class/infiniband/rnic7", "../../devices/virtual/infiniband/rnic7",
		 0},
		{VIEW_LINK, P "/net/eth5", "/sys/class/net/eth5", 0},
		{VIEW_LINK, "sys/class/net/eth5/device/infiniband/rnic7",
		 "../../../../infiniband/rnic7", 0},
		{VIEW_TEXT, "sys/class/infiniband_verbs/abi_version", "6\n", 0},
		{VIEW_TEXT, "sys/class/infiniband_verbs/uverbs0/ibdev", "rnic7\n", 0},
		{VIEW_LINK, "dev/infiniband/uverbs0", "/dev/null", 0},
		{VIEW_LINK, "dev/infiniband/rdma_cm", "/dev/null", 0},
		{0},
	};

	(void)state;
	expect(expected);
}

static void test_port(void **state)
{
	struct expectation active[] = {
		{VIEW_TEXT, P "/state", "4: ACTIVE\n", 0},
		{VIEW_TEXT, P "/phys_state", "5: LinkUp\n", 0},
		{VIEW_TEXT, P "/rate", "25 Gb/sec (1X EDR)\n", 0},
		{VIEW_TEXT, P "/lid", "0x0\n", 0},
		{VIEW_TEXT, P "/cap_mask", "0x04010000\n", 0},
		{VIEW_TEXT, P "/link_layer", "Ethernet\n", 0},
		{VIEW_TEXT, P "/pkeys/0", "0xffff\n", 0},
		{VIEW_TEXT, P "/pkeys/1", "0x1234\n", 0},
		{VIEW_DIRECTORY, P "/counters", NULL, 0},
		{VIEW_DIRECTORY, P "/hw_counters", NULL, 0},
		{0},
	};
	struct expectation down[] = {
		{VIEW_TEXT, P "/state", "1: DOWN\n", 0},
		{VIEW_TEXT, P "/phys_state", "3: Disabled\n", 0},
		{VIEW_TEXT, P "/rate", "10 Gb/sec (1X QDR)\n", 0},
		{0},
	};

	(void)state;
	expect(active);
	port = (struct rnic_ctl_port_reply){.state = RNIC_PORT_DOWN};
	expect(down);
}

static void test_gids(void **state)
{
	struct expectation expected[] = {
		{VIEW_TEXT, P "/gids/0", "0000:0000:0000:0000:0000:0000:0000:0000\n", 0},
		{VIEW_TEXT, P "/gids/1", "0000:0000:0000:0000:0000:ffff:c000:0201\n", 0},
		{VIEW_TEXT, P "/gids/31", "0000:0000:0000:0000:0000:0000:0000:0000\n", 0},
		{VIEW_TEXT, P "/gid_attrs/types/1", "RoCE v2\n", 0},
		{VIEW_TEXT, P "/gid_attrs/ndevs/1", "eth5\n", 0},
		{VIEW_ABSENT, P "/gid_attrs/types/0", NULL, 0},
		{VIEW_ABSENT, P "/gid_attrs/ndevs/31", NULL, 0},
		{0},
	};

	(void)state;
	expect(expected);
}

/* A directory comes before its entries. */
struct order {
	char directories[64][192];
	size_t count;
};

static int check_order(void *context, enum view_entry entry, const char *path, const char *text)
{
	struct order *order = context;
	const char *slash = strrchr(path, '/');
	bool is_known = slash == NULL;

	(void)text;
	for (size_t i = 0; i < order->count; i++)
		is_known |= slash != NULL &&
			    strncmp(order->directories[i], path, (size_t)(slash - path)) == 0 &&
			    order->directories[i][slash - path] == '\0';
	if (!is_known)
		fail_msg("%s comes before its directory", path);
	if (entry == VIEW_DIRECTORY && order->count < 64)
		snprintf(order->directories[order->count++], 192, "%s", path);
	return 0;
}

static void test_order(void **state)
{
	static struct order order;

	(void)state;
	assert_int_equal(view_content(&facts, check_order, &order), 0);
	assert_true(order.count > 10);
}

static int fail_third(void *context, enum view_entry entry, const char *path, const char *text)
{
	unsigned *calls = context;

	(void)entry;
	(void)path;
	(void)text;
	return ++*calls == 3 ? -ENOSPC : 0;
}

static void test_error_ends_it(void **state)
{
	unsigned calls = 0;

	(void)state;
	assert_int_equal(view_content(&facts, fail_third, &calls), -ENOSPC);
	assert_int_equal(calls, 3);
}

#define B "sys/devices/pci0000:1a"
#define A B "/0000:1a:02.1"

/* The files that programs look for a PCI device by, and the ways to it. */
static void test_pci(void **state)
{
	static const struct pci_shape pci = {
		.address = "0000:1a:02.1",
		.numa_node = 1,
		.local_cpus = "000000f0",
		.local_cpulist = "4-7",
	};
	struct expectation expected[] = {
		{VIEW_TEXT, A "/vendor", "0x6e69\n", 0},
		{VIEW_TEXT, A "/device", "0x0001\n", 0},
		{VIEW_TEXT, A "/class", "0x020000\n", 0},
		{VIEW_TEXT, A "/numa_node", "1\n", 0},
		{VIEW_TEXT, A "/local_cpus", "000000f0\n", 0},
		{VIEW_TEXT, A "/local_cpulist", "4-7\n", 0},
		{VIEW_TEXT, A "/max_link_speed", NULL, 0},
		{VIEW_TEXT, A "/max_link_width", NULL, 0},
		{VIEW_LINK, A "/subsystem", "../../../bus/pci", 0},
		{VIEW_LINK, A "/driver", "../../../bus/pci/drivers/rnicd", 0},
		{VIEW_LINK, A "/net/eth5", "/sys/class/net/eth5", 0},
		{VIEW_LINK, A "/infiniband/rnic7/device", "../../../0000:1a:02.1", 0},
		{VIEW_TEXT, A "/infiniband/rnic7/ports/1/state", "4: ACTIVE\n", 0},
		{VIEW_LINK, A "/infiniband/rnic7/ports/1/net/eth5", "/sys/class/net/eth5", 0},
		{VIEW_LINK, "sys/class/infiniband/rnic7",
		 "../../devices/pci0000:1a/0000:1a:02.1/infiniband/rnic7", 0},
		{VIEW_LINK, "sys/bus/pci/devices/0000:1a:02.1",
		 "../../../devices/pci0000:1a/0000:1a:02.1", 0},
		{VIEW_LINK, "sys/bus/pci/drivers/rnicd/0000:1a:02.1",
		 "../../../../devices/pci0000:1a/0000:1a:02.1", 0},
		{VIEW_LINK, "sys/class/pci_bus/0000:1a", "../../devices/pci0000:1a/pci_bus/0000:1a",
		 0},
		{VIEW_LINK, B "/pci_bus/0000:1a/device", "../../../pci0000:1a", 0},
		{0},
	};
	char path[VIEW_COUNTER_PATH_BYTES];

	(void)state;
	facts.pci = &pci;
	expect(expected);
	view_counter_path(&facts, "hw_counters", "sent_pkts", path);
	assert_string_equal(path, A "/infiniband/rnic7/ports/1/hw_counters/sent_pkts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_device, set_up),
		cmocka_unit_test_setup(test_pci, set_up),
		cmocka_unit_test_setup(test_port, set_up),
		cmocka_unit_test_setup(test_gids, set_up),
		cmocka_unit_test_setup(test_order, set_up),
		cmocka_unit_test_setup(test_error_ends_it, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
