/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/metric_printer.h"

#include "tests/unit/unit_test.h"

static const struct rnic_show_counter counters[] = {
	{"sent_bytes", UINT64_MAX},   {"of_a_later_daemon", 5}, {"fault drop=1%", 2},
	{"fault corrupt@\"\\=1%", 1}, {"fault drop=1%", 40},
};

static struct rnic_show_device device_with(const char *name)
{
	struct rnic_show_device device = {.client_count = 3};

	memcpy(device.device.name, name, strlen(name));
	memcpy(device.device.netdev, "eth0", 4);
	memcpy(device.device.firmware, "0.2.0", 5);
	device.device.node_guid = 0x0200ffff7f000002;
	device.port.state = RNIC_PORT_ACTIVE;
	return device;
}

/* The page, to be freed. */
static char *page_of(enum metric_format format, const char *name)
{
	const struct rnic_show_device device = device_with(name);
	size_t bytes;
	char *text;
	FILE *stream = open_memstream(&text, &bytes);

	assert_non_null(stream);
	metric_print(stream, format, &device, counters, sizeof(counters) / sizeof(counters[0]));
	fclose(stream);
	return text;
}

static void expect_part(const char *page, const char *part)
{
	if (!strstr(page, part))
		fail_msg("the page lacks\n%s\nit is\n%s", part, page);
}

static void test_prometheus(void **state)
{
	char *page = page_of(METRIC_FORMAT_PROMETHEUS, "rnic0");

	(void)state;
	expect_part(page, "# HELP rnic_device_info What the device is.\n"
			  "# TYPE rnic_device_info gauge\n"
			  "rnic_device_info{device=\"rnic0\",netdev=\"eth0\",version=\"0.2.0\","
			  "guid=\"0x0200ffff7f000002\"} 1\n");
	expect_part(page, "# TYPE rnic_clients gauge\nrnic_clients{device=\"rnic0\"} 3\n");
	expect_part(page, "rnic_port_active{device=\"rnic0\"} 1\n");
	expect_part(page, "# HELP rnic_sent_bytes_total Payload bytes sent.\n"
			  "# TYPE rnic_sent_bytes_total counter\n"
			  "rnic_sent_bytes_total{device=\"rnic0\"} 18446744073709551615\n");
	assert_null(strstr(page, "# UNIT"));
	assert_null(strstr(page, "# EOF"));
	free(page);
}

static void test_openmetrics(void **state)
{
	char *page = page_of(METRIC_FORMAT_OPENMETRICS, "rnic0");

	(void)state;
	expect_part(page, "# HELP rnic_device What the device is.\n"
			  "# TYPE rnic_device info\nrnic_device_info{");
	expect_part(page, "# TYPE rnic_sent_bytes counter\n# UNIT rnic_sent_bytes bytes\n"
			  "rnic_sent_bytes_total{device=\"rnic0\"} ");
	assert_string_equal(page + strlen(page) - strlen("\n# EOF\n"), "\n# EOF\n");
	free(page);
}

/* A counter that the table does not know has no name; one that the daemon lacks has no value. */
static void test_other_daemons(void **state)
{
	char *page = page_of(METRIC_FORMAT_PROMETHEUS, "rnic0");

	(void)state;
	assert_null(strstr(page, "later"));
	assert_null(strstr(page, "rnic_sent_packets"));
	free(page);
}

/* Rules of the same text are one sample, under one head, and no text ends its label. */
static void test_faults(void **state)
{
	char *page = page_of(METRIC_FORMAT_PROMETHEUS, "rnic0");

	(void)state;
	expect_part(page,
		    "# TYPE rnic_fault_actions_total counter\n"
		    "rnic_fault_actions_total{device=\"rnic0\",rule=\"drop=1%\"} 42\n"
		    "rnic_fault_actions_total{device=\"rnic0\",rule=\"corrupt@\\\"\\\\=1%\"} 1\n");
	free(page);
}

static void test_names_are_escaped(void **state)
{
	char *page = page_of(METRIC_FORMAT_PROMETHEUS, "a\"\\\n\xff");

	(void)state;
	expect_part(page, "rnic_clients{device=\"a\\\"\\\\??\"} 3\n");
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prometheus),	  cmocka_unit_test(test_openmetrics),
		cmocka_unit_test(test_other_daemons),	  cmocka_unit_test(test_faults),
		cmocka_unit_test(test_names_are_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
