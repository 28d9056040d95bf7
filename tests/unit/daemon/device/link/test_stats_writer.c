/* SPDX-License-Identifier: MIT */
/* When the statistics page of a device is written anew. */
#include "daemon/device/link/stats_writer.h"

#include "daemon/device/device.h"
#include "tests/unit/unit_test.h"

#include <sys/mman.h>
#include <unistd.h>

#define START_NS UINT64_C(1000000000)

static uint64_t packets;
static unsigned walks;
static bool has_rule;

/* A device that has one counter. */
bool device_counter(const struct device *device, uint32_t index, const char **name, uint64_t *value)
{
	(void)device;
	*name = "packets";
	*value = packets;
	return index == 0;
}

bool device_port_counter(const struct device *device, uint32_t index, const char **name,
			 uint64_t *value)
{
	(void)device;
	(void)index;
	(void)name;
	(void)value;
	return false;
}

uint64_t device_lost_by_faults(const struct device *device)
{
	(void)device;
	return 0;
}

bool device_has_rules(const struct device *device)
{
	(void)device;
	return has_rule;
}

void device_rule_read(const struct device *device, uint32_t slot, uint32_t *id, uint64_t *hits)
{
	(void)device;
	*id = has_rule && slot == 5 ? 9 : 0;
	*hits = *id != 0 ? packets : 0;
}

void device_fill_stats(const struct device *device, struct rnic_stats_page *stats)
{
	(void)device;
	(void)stats;
	walks++;
}

static int set_up(void **state)
{
	static struct stats_writer writer;
	const int fd = memfd_create("statistics", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, sizeof(struct rnic_stats_file)), 0);
	assert_int_equal(stats_writer_open(&writer, fd), 0);
	close(fd);
	packets = 0;
	walks = 0;
	has_rule = false;
	stats_writer_refresh(&writer, NULL, START_NS);
	*state = &writer;
	return 0;
}

static int tear_down(void **state)
{
	stats_writer_close(*state);
	return 0;
}

static uint64_t shown(const struct stats_writer *writer)
{
	return writer->stats->counters[0].value;
}

static void a_page_that_shows_all_is_never_due(void **state)
{
	const struct stats_writer *writer = *state;

	assert_int_equal(stats_writer_due_ns(writer, 0), UINT64_MAX);
	assert_int_equal(stats_writer_due_ns(writer, START_NS), UINT64_MAX);
}

static void activity_is_shown_soon(void **state)
{
	struct stats_writer *writer = *state;
	const uint64_t due_ns = stats_writer_due_ns(writer, START_NS + 1);

	packets = 7;
	assert_int_equal(due_ns, START_NS + STATS_WRITER_REFRESH_NS);
	stats_writer_refresh_if_due(writer, NULL, due_ns - 1);
	assert_int_equal(shown(writer), 0);
	stats_writer_refresh_if_due(writer, NULL, due_ns);
	assert_int_equal(shown(writer), 7);
	assert_int_equal(stats_writer_due_ns(writer, START_NS + 1), UINT64_MAX);
}

/* A change takes a walk over all queue pairs; counters alone do not. */
static void a_change_is_shown_sooner(void **state)
{
	struct stats_writer *writer = *state;

	stats_writer_note_change(writer);
	assert_int_equal(stats_writer_due_ns(writer, 0), START_NS + STATS_WRITER_CHANGE_NS);
	assert_int_equal(walks, 1);
	stats_writer_refresh_if_due(writer, NULL, START_NS + STATS_WRITER_CHANGE_NS);
	assert_int_equal(walks, 2);
	stats_writer_refresh_if_due(writer, NULL, START_NS + 2 * STATS_WRITER_REFRESH_NS);
	assert_int_equal(walks, 2);
}

/* The page shows a rule and its hits, and nothing of it once it has gone. */
static void a_rule_is_shown_while_it_is_loaded(void **state)
{
	struct stats_writer *writer = *state;
	const struct rnic_stats_rule *rule = &writer->stats->rules[5];

	has_rule = true;
	packets = 7;
	stats_writer_refresh(writer, NULL, START_NS + 1);
	assert_int_equal(rule->id, 9);
	assert_int_equal(rule->hits, 7);
	has_rule = false;
	stats_writer_refresh(writer, NULL, START_NS + 2);
	assert_int_equal(rule->id, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_page_that_shows_all_is_never_due, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(activity_is_shown_soon, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_change_is_shown_sooner, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_rule_is_shown_while_it_is_loaded, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
