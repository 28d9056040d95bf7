/* SPDX-License-Identifier: MIT */
/* A context on its two connections: how it comes to be, and how the loss of either one ends it. */
#include "tests/unit/lib/client/native/fake_daemon.h"

#include "tests/unit/unit_test.h"

#include <rnic/rnic.h>
#include <rnic/rnic_cm.h>

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 10000

static struct rnic_context *open_context(struct fake_daemon *daemon)
{
	struct rnic_context *context;

	fake_daemon_start(daemon);
	assert_int_equal(rnic_open(daemon->path, &context), 0);
	fake_daemon_join(daemon);
	return context;
}

/* The client has closed its end. */
static void expect_hang_up(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};
	char byte;

	assert_int_equal(poll(&end, 1, WAIT_MS), 1);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
}

/* The program is told once; from then on every call says that the device is gone. */
static void expect_lost(struct rnic_context *context)
{
	struct rnic_async_event event;
	struct rnic_port_attributes port;
	struct rnic_cm_channel *channel;
	struct rnic_pd *pd;

	assert_int_equal(rnic_get_async_event(context, &event), 0);
	assert_int_equal(event.type, RNIC_EVENT_DEVICE_FATAL);
	assert_int_equal(rnic_get_async_event(context, &event), -ENODEV);
	assert_int_equal(rnic_query_port(context, &port), -ENODEV);
	assert_int_equal(rnic_alloc_pd(context, &pd), -ENODEV);
	assert_int_equal(rnic_cm_create_channel(context, &channel), -ENODEV);
}

/* The process's memory goes to the device, and no descriptor to the control plane. */
static void test_memory_goes_to_the_device(void **state)
{
	struct fake_daemon daemon = {0};
	struct rnic_context *context = open_context(&daemon);

	(void)state;
	assert_int_equal(daemon.hello_fds, 0);
	assert_int_equal(daemon.open_fds, 1);
	rnic_close(context);
	expect_hang_up(daemon.control);
	expect_hang_up(daemon.device);
	fake_daemon_stop(&daemon);
}

static void test_refusals_say_why(void **state)
{
	static const struct {
		struct fake_daemon daemon;
		int error;
		const char *reason;
	} cases[] = {
		{{.hello_status = -EACCES}, -EACCES, "HELLO is refused"},
		{{.hello_status = -ENOSPC}, -ENOSPC, "HELLO is refused"},
		{{.open_status = -EINVAL}, -EINVAL, "OPEN_DEVICE is refused"},
		{{.hang_ups = 2}, -ENODEV, ""},
		/* Regions of another build are not read. */
		{{.shm_version_step = -1}, -EIO, ""},
		{{.shm_version_step = 1}, -EIO, ""},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		struct fake_daemon daemon = cases[i].daemon;
		struct rnic_context *context;

		fake_daemon_start(&daemon);
		assert_int_equal(rnic_open(daemon.path, &context), cases[i].error);
		assert_string_equal(rnic_refusal_reason(), cases[i].reason);
		fake_daemon_join(&daemon);
		expect_hang_up(daemon.control);
		if (daemon.device >= 0)
			expect_hang_up(daemon.device);
		fake_daemon_stop(&daemon);
	}
}

/* A device process that dies under the request has a successor. */
static void test_the_next_device_process_serves(void **state)
{
	struct fake_daemon daemon = {.hang_ups = 1};
	struct rnic_context *context = open_context(&daemon);

	(void)state;
	assert_int_equal(daemon.hang_ups, 0);
	rnic_close(context);
	expect_hang_up(daemon.control);
	fake_daemon_stop(&daemon);
}

static void test_device_process_dies(void **state)
{
	struct fake_daemon daemon = {0};
	struct rnic_context *context = open_context(&daemon);

	(void)state;
	close(daemon.device);
	close(daemon.events);
	daemon.device = daemon.events = -1;
	expect_lost(context);
	expect_hang_up(daemon.control);
	rnic_close(context);
	fake_daemon_stop(&daemon);
}

/* The device process still answers, but a probe sees that the control plane is gone. */
static void test_control_plane_dies(void **state)
{
	struct fake_daemon daemon = {0};
	struct rnic_context *context = open_context(&daemon);
	struct rnic_port_attributes port;

	(void)state;
	close(daemon.control);
	daemon.control = -1;
	assert_int_equal(rnic_query_port(context, &port), -ENODEV);
	expect_hang_up(daemon.device);
	expect_lost(context);
	rnic_close(context);
	fake_daemon_stop(&daemon);
}

/* Opens a context, leaves a child that waits for the end of the pipe, and is killed. */
static void die_with_a_child(const struct fake_daemon *daemon, const int ends[2])
{
	struct rnic_context *context;
	char byte;

	close(ends[1]);
	if (rnic_open(daemon->path, &context) != 0)
		_exit(1);
	if (fork() == 0) {
		if (read(ends[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	raise(SIGKILL);
}

/* A child's copies of the connections must not hide the parent's death. */
static void test_child_closes_both(void **state)
{
	struct fake_daemon daemon = {0};
	int ends[2], status;
	pid_t parent;

	(void)state;
	fake_daemon_start(&daemon);
	assert_int_equal(pipe(ends), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (parent == 0)
		die_with_a_child(&daemon, ends);
	close(ends[0]);
	fake_daemon_join(&daemon);
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_true(WIFSIGNALED(status));
	expect_hang_up(daemon.control);
	expect_hang_up(daemon.device);
	close(ends[1]);
	fake_daemon_stop(&daemon);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_goes_to_the_device),
		cmocka_unit_test(test_refusals_say_why),
		cmocka_unit_test(test_the_next_device_process_serves),
		cmocka_unit_test(test_device_process_dies),
		cmocka_unit_test(test_control_plane_dies),
		cmocka_unit_test(test_child_closes_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
