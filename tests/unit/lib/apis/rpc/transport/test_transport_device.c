/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/transport/transport_device.h"

#include "lib/apis/rpc/wire/rpc_sender.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

/* Since the machine started it is not that long ago. */
#define FAR_NS (UINT64_C(1) << 60)

static struct {
	int completions[2]; /* pipes, as the library's descriptors are */
	int cm_events[2];
	uint32_t acknowledged;
} world;

static struct transport_device device;

/* --- what is not there ------------------------------------------------------------------------ */

int rnic_open(const char *socket_path, struct rnic_context **context)
{
	(void)socket_path;
	(void)context;
	return 0;
}

void rnic_close(struct rnic_context *context)
{
	(void)context;
}

int rnic_alloc_pd(struct rnic_context *context, struct rnic_pd **pd)
{
	(void)context;
	(void)pd;
	return 0;
}

int rnic_dealloc_pd(struct rnic_pd *pd)
{
	(void)pd;
	return 0;
}

int rnic_create_channel(struct rnic_context *context, struct rnic_channel **channel)
{
	(void)context;
	(void)channel;
	return 0;
}

int rnic_destroy_channel(struct rnic_channel *channel)
{
	(void)channel;
	return 0;
}

int rnic_channel_fd(const struct rnic_channel *channel)
{
	(void)channel;
	return world.completions[0];
}

int rnic_get_cq_event(struct rnic_channel *channel, struct rnic_cq **cq)
{
	char byte;

	(void)channel;
	*cq = NULL;
	return read(world.completions[0], &byte, 1) == 1 ? 0 : -errno;
}

void rnic_ack_cq_events(struct rnic_cq *cq, uint32_t count)
{
	(void)cq;
	world.acknowledged += count;
}

int rnic_cm_create_channel(struct rnic_context *context, struct rnic_cm_channel **channel)
{
	(void)context;
	(void)channel;
	return 0;
}

int rnic_cm_destroy_channel(struct rnic_cm_channel *channel)
{
	(void)channel;
	return 0;
}

int rnic_cm_channel_fd(const struct rnic_cm_channel *channel)
{
	(void)channel;
	return world.cm_events[0];
}

int rnic_wait(struct rnic_context *context, struct pollfd *descriptors, unsigned count,
	      int timeout_ms)
{
	(void)context;
	int ready = poll(descriptors, count, timeout_ms);

	return ready < 0 ? -errno : ready;
}

/* --- scenarios -------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	(void)state;
	world.acknowledged = 0;
	if (pipe2(world.completions, O_CLOEXEC) != 0 || pipe2(world.cm_events, O_CLOEXEC) != 0)
		return -1;
	return transport_device_open(&device, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	transport_device_close(&device);
	for (int i = 0; i < 2; i++) {
		close(world.completions[i]);
		close(world.cm_events[i]);
	}
	return 0;
}

static bool is_readable(void)
{
	struct pollfd descriptor = {.fd = device.epoll_fd, .events = POLLIN};

	return poll(&descriptor, 1, 0) == 1;
}

static void test_a_wait_clears_completion_events(void **state)
{
	(void)state;
	assert_int_equal(write(world.completions[1], "xx", 2), 2);
	assert_true(is_readable());
	assert_int_equal(transport_device_wait(&device, -1), 0);
	assert_int_equal(world.acknowledged, 2);
	assert_false(is_readable());
	assert_false(device.has_cm_events);
}

static void test_a_wait_notes_events_of_connections(void **state)
{
	(void)state;
	assert_int_equal(write(world.cm_events[1], "x", 1), 1);
	assert_int_equal(transport_device_wait(&device, -1), 0);
	assert_true(device.has_cm_events);
}

/* A deadline that moves away with each datagram costs nothing; one that comes nearer counts. */
static void test_the_timer_fires_at_the_earliest_time_asked_for(void **state)
{
	(void)state;
	transport_device_set_timer(&device, 2 * FAR_NS);
	transport_device_set_timer(&device, 3 * FAR_NS);
	assert_true(device.timer_ns == 2 * FAR_NS);
	transport_device_set_timer(&device, FAR_NS);
	assert_true(device.timer_ns == FAR_NS);
}

static void test_a_wait_forgets_the_timer_that_fired(void **state)
{
	(void)state;
	transport_device_set_timer(&device, 1);
	assert_int_equal(transport_device_wait(&device, -1), 0);
	assert_false(is_readable());
	assert_true(device.timer_ns == RPC_NEVER);
}

static void test_waking_makes_it_readable_until_somebody_works(void **state)
{
	(void)state;
	transport_device_wake(&device);
	transport_device_wake(&device);
	assert_true(is_readable());
	assert_int_equal(transport_device_wait(&device, -1), 0);
	transport_device_begin_work(&device);
	assert_false(is_readable());
	transport_device_end_work(&device);
}

/* What is asked for at work is done at work; what is left over is said at its end. */
static void test_who_works_is_not_woken_but_by_time(void **state)
{
	(void)state;
	transport_device_begin_work(&device);
	transport_device_wake(&device);
	assert_false(is_readable());
	transport_device_set_timer(&device, 0);
	assert_true(is_readable());
	transport_device_end_work(&device);
	transport_device_begin_work(&device);
	assert_false(is_readable());
	transport_device_end_work(&device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_wait_clears_completion_events, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_wait_notes_events_of_connections, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_timer_fires_at_the_earliest_time_asked_for,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_wait_forgets_the_timer_that_fired, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_waking_makes_it_readable_until_somebody_works,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_who_works_is_not_woken_but_by_time, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
