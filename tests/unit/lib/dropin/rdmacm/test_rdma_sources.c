/* SPDX-License-Identifier: MIT */
/* What a channel hears of several devices. The test plays their daemons. */
#include "lib/dropin/rdmacm/rdma_sources.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAYED_DEVICES 2

struct rnic_context {
	int link[2]; /* the program's end, and the daemon's, which is -1 once the daemon is gone */
};

struct rnic_cm_channel {
	int events[2]; /* likewise */
};

static struct {
	struct rnic_context contexts[PLAYED_DEVICES];
	struct rnic_cma_device devices[PLAYED_DEVICES];
	struct rnic_cma_channel channel;
	int waits;	/* that were awake */
	bool took_back; /* the first channel that is asked */
} world;

/* --- what is played -------------------------------------------------------------------------- */

static int play_check(struct rnic_context *context)
{
	return context->link[1] < 0 ? -ENODEV : 0;
}

static int play_loss_fd(const struct rnic_context *context)
{
	return context->link[0];
}

static int play_create_channel(struct rnic_context *context, struct rnic_cm_channel **created)
{
	struct rnic_cm_channel *channel = malloc(sizeof(*channel));

	(void)context;
	assert_non_null(channel);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel->events), 0);
	*created = channel;
	return 0;
}

static int play_destroy_channel(struct rnic_cm_channel *channel)
{
	close(channel->events[0]);
	close(channel->events[1]);
	free(channel);
	return 0;
}

static int play_channel_fd(const struct rnic_cm_channel *channel)
{
	return channel->events[0];
}

static int play_get_event(struct rnic_cm_channel *channel, struct rnic_cm_event *event)
{
	uint8_t type;
	const ssize_t bytes = recv(channel->events[0], &type, sizeof(type), 0);

	if (bytes < 0)
		return -errno;
	if (bytes == 0)
		return -ENODEV;
	event->type = type;
	return 0;
}

static bool play_took_back(struct rnic_cm_channel *channel)
{
	const bool took_back = world.took_back;

	(void)channel;
	world.took_back = false;
	return took_back;
}

static void tell(uint32_t device, uint8_t type)
{
	const struct rnic_cm_channel *native = world.channel.sources[device].native;

	assert_int_equal(send(native->events[1], &type, sizeof(type), 0), sizeof(type));
}

/* Device 0 tells an event meanwhile. */
static int play_wait_awake(struct pollfd *descriptors, unsigned count)
{
	world.waits++;
	tell(0, RNIC_CM_ESTABLISHED);
	return poll(descriptors, count, 0);
}

const struct rnic_native_table rnic_native = {
	.context_check = play_check,
	.context_loss_fd = play_loss_fd,
	.cm_create_channel = play_create_channel,
	.cm_destroy_channel = play_destroy_channel,
	.cm_channel_fd = play_channel_fd,
	.cm_get_event = play_get_event,
	.cm_took_back = play_took_back,
	.wait_awake = play_wait_awake,
};

int rnic_cma_devices_get(struct rnic_cma_device *devices[RNIC_CMA_DEVICES_MAX], uint32_t *count)
{
	for (uint32_t i = 0; i < PLAYED_DEVICES; i++)
		devices[i] = &world.devices[i];
	*count = PLAYED_DEVICES;
	return 0;
}

static void end_daemon(uint32_t device)
{
	struct rnic_cm_channel *native = world.channel.sources[device].native;
	const int link = world.contexts[device].link[1];

	world.contexts[device].link[1] = -1;
	close(link);
	if (native != NULL)
		shutdown(native->events[1], SHUT_RDWR);
}

/* --- the scenarios --------------------------------------------------------------------------- */

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	for (uint32_t i = 0; i < PLAYED_DEVICES; i++) {
		world.devices[i].native = &world.contexts[i];
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, world.contexts[i].link) != 0)
			return -1;
	}
	return rnic_cma_sources_open(&world.channel);
}

static int tear_down(void **state)
{
	(void)state;
	rnic_cma_sources_close(&world.channel);
	for (uint32_t i = 0; i < PLAYED_DEVICES; i++) {
		close(world.contexts[i].link[0]);
		if (world.contexts[i].link[1] >= 0)
			close(world.contexts[i].link[1]);
	}
	return 0;
}

static bool looks_ready(void)
{
	struct pollfd channel = {.fd = world.channel.public.fd, .events = POLLIN};

	return poll(&channel, 1, 0) == 1;
}

static void open_source(uint32_t device)
{
	assert_int_equal(rnic_cma_source_open(&world.channel, &world.channel.sources[device]), 0);
}

static void expect_event(uint32_t device, enum rnic_cm_event_type type)
{
	struct rnic_cma_source *source;
	struct rnic_cm_event event;

	assert_int_equal(rnic_cma_sources_take(&world.channel, &event, &source), 0);
	assert_ptr_equal(source, &world.channel.sources[device]);
	assert_int_equal(event.type, type);
}

static void expect_loss(uint32_t device)
{
	struct rnic_cma_source *source;
	struct rnic_cm_event event;

	assert_true(looks_ready());
	assert_int_equal(rnic_cma_sources_take(&world.channel, &event, &source), -ENODEV);
	assert_ptr_equal(source, &world.channel.sources[device]);
}

/* A channel whose identifiers are on no device hears that one is lost, and that all are. */
static void test_losses_without_identifiers(void **state)
{
	(void)state;
	assert_false(looks_ready());
	end_daemon(1);
	expect_loss(1);
	assert_true(rnic_cma_source_leave(&world.channel, &world.channel.sources[1]));
	assert_false(looks_ready());
	end_daemon(0);
	expect_loss(0);
	assert_false(rnic_cma_source_leave(&world.channel, &world.channel.sources[0]));
}

/* A source that is open tells the events that came before the loss, and then the loss. */
static void test_loss_of_an_open_source(void **state)
{
	(void)state;
	open_source(0);
	assert_false(looks_ready());
	tell(0, RNIC_CM_ESTABLISHED);
	end_daemon(0);
	expect_event(0, RNIC_CM_ESTABLISHED);
	expect_loss(0);
	/* Two threads may find the same loss. */
	assert_true(rnic_cma_source_leave(&world.channel, &world.channel.sources[0]));
	assert_true(rnic_cma_source_leave(&world.channel, &world.channel.sources[0]));
	assert_false(looks_ready());
	open_source(1);
	tell(1, RNIC_CM_DISCONNECTED);
	expect_event(1, RNIC_CM_DISCONNECTED);
}

static void test_waits_are_awake_at_first(void **state)
{
	const int fd = world.channel.public.fd;
	struct rnic_cma_source *source;
	struct rnic_cm_event event;

	(void)state;
	open_source(0);
	expect_event(0, RNIC_CM_ESTABLISHED);
	assert_int_equal(world.waits, 1);
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
	assert_int_equal(rnic_cma_sources_take(&world.channel, &event, &source), -EAGAIN);
	assert_int_equal(world.waits, 1);
}

/* A program that polls comes for an event that was taken back; one that waits goes on waiting. */
static void test_taken_back_event(void **state)
{
	struct rnic_cma_source *source;
	struct rnic_cm_event event;

	(void)state;
	open_source(0);
	world.took_back = true;
	assert_int_equal(rnic_cma_sources_take(&world.channel, &event, &source), -EAGAIN);
	assert_int_equal(world.waits, 0);
	expect_event(0, RNIC_CM_ESTABLISHED);
	assert_int_equal(world.waits, 1);
	world.took_back = true;
	expect_event(0, RNIC_CM_ESTABLISHED);
	assert_int_equal(world.waits, 2);
}

/* The child leaves the sources, which are lost to it, and closes the channel. */
static void test_child_of_fork(void **state)
{
	pid_t child;
	int status;

	(void)state;
	open_source(0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (uint32_t i = 0; i < PLAYED_DEVICES; i++)
			rnic_cma_source_leave(&world.channel, &world.channel.sources[i]);
		rnic_cma_sources_close(&world.channel);
		_exit(EXIT_SUCCESS);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	tell(0, RNIC_CM_ESTABLISHED);
	assert_true(looks_ready());
	expect_event(0, RNIC_CM_ESTABLISHED);
	end_daemon(1);
	expect_loss(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_losses_without_identifiers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_loss_of_an_open_source, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waits_are_awake_at_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_taken_back_event, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_child_of_fork, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
