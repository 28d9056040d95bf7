/* SPDX-License-Identifier: MIT */
#include "daemon/control/view/device_view.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW_NS UINT64_C(1000000000)

static char folder[] = "/tmp/rnic-view-XXXXXX";
static char socket_path[64];
static const struct rnic_device_attributes device = {.name = "rnic0", .netdev = "lo"};
static struct rnic_ctl_port_reply port = {.state = RNIC_PORT_ACTIVE};
static const struct rnic_ctl_gids_reply gids;
static const struct rnic_ctl_pkeys_reply pkeys;
static char reason[VIEW_TREE_REASON_BYTES];

/* A port counter and two of the hardware. */
static uint64_t values[3];
static uint32_t hw_count;

static bool read_counter(const void *context, enum view_counter_folder which, uint32_t index,
			 struct view_counter *counter)
{
	static const char *const names[] = {"port", "first", "second"};
	uint32_t number = index + (which == VIEW_HW_COUNTERS);

	(void)context;
	if (index >= (which == VIEW_COUNTERS ? 1 : hw_count))
		return false;
	*counter = (struct view_counter){names[number % 3], values[number % 3]};
	return true;
}

static const struct view_config config = {
	.socket_path = socket_path,
	.mode = 0750,
	.facts = {&device, &port, &gids, &pkeys, NULL},
	.counter = read_counter,
};

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(socket_path, sizeof(socket_path), "%s/r.sock", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int open_counter(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s.view/sys/class/infiniband/rnic0/ports/1/%s", socket_path,
		 name);
	return open(path, O_RDONLY);
}

static void assert_reads(int fd, const char *expected)
{
	char text[32];
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	assert_true(length >= 0);
	text[length] = '\0';
	assert_string_equal(text, expected);
}

static void assert_counter(const char *name, const char *expected)
{
	int fd = open_counter(name);

	assert_true(fd >= 0);
	assert_reads(fd, expected);
	close(fd);
}

static void test_counters_follow(void **state)
{
	struct device_view view;
	int kept;

	(void)state;
	hw_count = 2;
	values[0] = 9;
	values[1] = values[2] = 0;
	assert_int_equal(device_view_open(&view, &config, reason), 0);
	assert_counter("counters/port", "9\n");
	assert_counter("hw_counters/first", "0\n");
	assert_counter("hw_counters/lifespan", "250\n");
	kept = open_counter("counters/port");
	assert_true(kept >= 0);

	/* Nothing is written before it is due, and nothing becomes due by itself. */
	values[0] = 10;
	values[2] = UINT64_MAX;
	device_view_refresh(&view, UINT64_MAX - 1);
	assert_counter("counters/port", "9\n");
	device_view_note(&view, NOW_NS);
	device_view_note(&view, NOW_NS + VIEW_PERIOD_NS);
	assert_int_equal(view.due_ns, NOW_NS + VIEW_PERIOD_NS);
	device_view_refresh(&view, NOW_NS + VIEW_PERIOD_NS - 1);
	assert_counter("counters/port", "9\n");
	device_view_refresh(&view, NOW_NS + VIEW_PERIOD_NS);
	assert_counter("counters/port", "10\n");
	assert_counter("hw_counters/first", "0\n");
	assert_counter("hw_counters/second", "18446744073709551615\n");
	assert_int_equal(view.due_ns, UINT64_MAX);

	/*
	 * A reader that keeps the file open sees the new number too, and no rest of a longer one.
	 */
	assert_reads(kept, "10\n");
	values[0] = 7;
	device_view_hasten(&view, NOW_NS + 2 * VIEW_PERIOD_NS);
	device_view_refresh(&view, NOW_NS + 2 * VIEW_PERIOD_NS);
	assert_reads(kept, "7\n");
	close(kept);
	device_view_close(&view);
}

/* A look after the end of each of a few programs finds its counters, a stream of ends is bounded.
 */
static void test_haste_is_bounded(void **state)
{
	const uint64_t step_ns = VIEW_HASTE_NS / 100;
	struct device_view view;
	unsigned writes = 0;

	(void)state;
	hw_count = 0;
	assert_int_equal(device_view_open(&view, &config, reason), 0);
	for (unsigned i = 0; i < 1000; i++) {
		const uint64_t now_ns = NOW_NS + i * step_ns;

		device_view_hasten(&view, now_ns);
		assert_true(i >= VIEW_HASTE_BURST || view.due_ns == now_ns);
		writes += view.due_ns <= now_ns;
		device_view_refresh(&view, now_ns);
	}
	assert_in_range(writes, VIEW_HASTE_BURST + 9, VIEW_HASTE_BURST + 11);
	device_view_hasten(&view, 2 * NOW_NS);
	assert_true(view.due_ns <= NOW_NS + 1000 * step_ns + VIEW_HASTE_NS);
	device_view_close(&view);
}

static void test_facts_change(void **state)
{
	struct device_view view;
	struct stat status;
	int kept;

	(void)state;
	hw_count = 0;
	assert_int_equal(device_view_open(&view, &config, reason), 0);
	kept = open_counter("link_layer");
	assert_true(kept >= 0);
	assert_counter("state", "4: ACTIVE\n");
	port.state = RNIC_PORT_DOWN;
	assert_int_equal(device_view_follow(&view), 0);
	assert_counter("state", "1: DOWN\n");
	port.state = RNIC_PORT_ACTIVE;
	/* Files that say the same are the same. */
	assert_int_equal(fstat(kept, &status), 0);
	assert_int_equal(status.st_nlink, 1);
	close(kept);
	device_view_close(&view);
}

static bool has_event(int watch)
{
	char event[4096];

	return read(watch, event, sizeof(event)) > 0;
}

/*
 * Whoever watches a counter makes no work for whoever renews it: no watch hears of a number that is
 * as long as the one before.
 */
static void test_watches_hear_nothing(void **state)
{
	const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct device_view view;
	char path[256];

	(void)state;
	hw_count = 0;
	values[0] = 10;
	assert_int_equal(device_view_open(&view, &config, reason), 0);
	snprintf(path, sizeof(path), "%s.view/sys/class/infiniband/rnic0/ports/1/counters",
		 socket_path);
	assert_true(watch >= 0 && inotify_add_watch(watch, path, IN_MODIFY) >= 0);
	for (uint64_t value = 11; value < 100; value++) {
		char expected[32];

		values[0] = value;
		device_view_hasten(&view, NOW_NS * value);
		device_view_refresh(&view, NOW_NS * value);
		assert_false(has_event(watch));
		snprintf(expected, sizeof(expected), "%u\n", (unsigned)value);
		assert_counter("counters/port", expected);
	}
	values[0] = 100;
	device_view_hasten(&view, NOW_NS * 100);
	device_view_refresh(&view, NOW_NS * 100);
	assert_true(has_event(watch));
	assert_counter("counters/port", "100\n");
	close(watch);
	device_view_close(&view);
}

/* Numbers that get longer need a write. When those have cost too much, they wait, and come. */
static void test_writes_have_a_share(void **state)
{
	struct device_view view;

	(void)state;
	hw_count = 2;
	values[0] = values[1] = values[2] = 9;
	assert_int_equal(device_view_open(&view, &config, reason), 0);
	view.writes_cost_ns = VIEW_WRITES_NS;
	values[0] = values[1] = 10;
	values[2] = 8;
	device_view_hasten(&view, NOW_NS);
	device_view_refresh(&view, NOW_NS);
	assert_counter("counters/port", "9\n");
	assert_counter("hw_counters/first", "9\n");
	assert_counter("hw_counters/second", "8\n");
	assert_int_equal(view.due_ns, NOW_NS + VIEW_WRITES_NS * VIEW_WRITES_PARTS);
	device_view_refresh(&view, view.due_ns);
	assert_counter("counters/port", "10\n");
	assert_counter("hw_counters/first", "10\n");
	assert_int_equal(view.due_ns, UINT64_MAX);
	device_view_close(&view);
}

static void test_mode(void **state)
{
	struct device_view view;
	struct stat status;
	char path[128];

	(void)state;
	hw_count = 0;
	assert_int_equal(device_view_open(&view, &config, reason), 0);
	snprintf(path, sizeof(path), "%s.view", socket_path);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0750);
	device_view_close(&view);
	assert_int_equal(access(path, F_OK), -1);
}

/* A write that fails half way leaves nothing, neither files nor descriptors. */
static void test_too_many_counters(void **state)
{
	struct device_view view;
	int before = dup(0), after;

	(void)state;
	close(before);
	hw_count = VIEW_COUNTERS_MAX;
	assert_int_equal(device_view_open(&view, &config, reason), -ENOSPC);
	assert_non_null(strstr(reason, socket_path));
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters_follow),
		cmocka_unit_test(test_haste_is_bounded),
		cmocka_unit_test(test_facts_change),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_too_many_counters),
		cmocka_unit_test(test_watches_hear_nothing),
		cmocka_unit_test(test_writes_have_a_share),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
