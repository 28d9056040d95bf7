/* SPDX-License-Identifier: MIT */
/*
 * librdmacm with several devices: cm_devices ADDRESS... with the address of each device, in the
 * order of the devices. An identifier is on the device of its address; a listener on any address is
 * on all of them. The program says "stop 1", "continue 1" and at the end "lose 1", and each time
 * waits for a line: the daemon of the second device is to stop, to go on and to end meanwhile.
 */
#include "tests/interop/waiting_call.h"
#include "tests/unit/unit_test.h"

#include <rdma/rdma_cma.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEVICES_MAX	   8
#define WAIT_MS		   10000
#define PATIENCE_SEC	   60
#define STILL_WAITING_NSEC 200000000

static uint32_t device_count;
static struct sockaddr_in addresses[DEVICES_MAX];
static struct ibv_context **contexts;

static struct rdma_event_channel *make_channel(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	assert_non_null(channel);
	return channel;
}

static struct rdma_cm_id *make_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	return id;
}

static struct sockaddr *address_of(uint32_t device, uint16_t port)
{
	static struct sockaddr_in address;

	address = addresses[device];
	address.sin_port = port;
	return (struct sockaddr *)&address;
}

/* Asks whoever runs this program to do something to a daemon. */
static void ask_for(const char *what)
{
	char line[16];

	printf("%s\n", what);
	fflush(stdout);
	assert_non_null(fgets(line, sizeof(line), stdin));
}

/* A call that waits for ever ends the program. */
static int set_limit(void **state)
{
	(void)state;
	alarm(PATIENCE_SEC);
	return 0;
}

/* The next event within the time, or the test fails. The caller acknowledges it. */
static struct rdma_cm_event *next_event(struct rdma_event_channel *channel,
					enum rdma_cm_event_type type)
{
	struct pollfd ready = {.fd = channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;

	assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_string_equal(rdma_event_str(event->event), rdma_event_str(type));
	assert_int_equal(event->status, 0);
	return event;
}

static void expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	rdma_ack_cm_event(next_event(channel, type));
}

static void test_list(void **state)
{
	int count;

	(void)state;
	contexts = rdma_get_devices(&count);
	assert_non_null(contexts);
	assert_int_equal(count, device_count);
	for (uint32_t i = 0; i < device_count; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(ibv_get_device_name(contexts[i]->device),
						ibv_get_device_name(contexts[j]->device));
}

static void test_bound_address(void **state)
{
	struct rdma_event_channel *channel = make_channel();
	struct sockaddr_in stranger = {.sin_family = AF_INET};

	(void)state;
	inet_pton(AF_INET, "192.0.2.1", &stranger.sin_addr);
	for (uint32_t i = 0; i < device_count; i++) {
		struct rdma_cm_id *id = make_id(channel);
		int reuse = 1;

		/* Set on the device that the identifier is on at first. */
		assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
						 &reuse, sizeof(reuse)),
				 0);
		assert_int_equal(rdma_bind_addr(id, address_of(i, 0)), 0);
		assert_ptr_equal(id->verbs, contexts[i]);
		assert_int_equal(rdma_destroy_id(id), 0);
		id = make_id(channel);
		assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&stranger), -1);
		assert_int_equal(errno, EADDRNOTAVAIL);
		assert_int_equal(rdma_destroy_id(id), 0);
	}
	rdma_destroy_event_channel(channel);
}

static void test_resolved_address(void **state)
{
	struct rdma_event_channel *channel = make_channel();

	(void)state;
	for (uint32_t i = 0; i < device_count; i++) {
		const uint32_t peer = (i + 1) % device_count;
		struct sockaddr_in source = addresses[i];
		struct rdma_cm_id *id = make_id(channel);

		assert_int_equal(rdma_resolve_addr(id, (struct sockaddr *)&source,
						   address_of(peer, 7), WAIT_MS),
				 0);
		expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
		assert_ptr_equal(id->verbs, contexts[i]);
		assert_int_equal(rdma_destroy_id(id), 0);
		/* Without a source: a device that has the destination leads there. */
		id = make_id(channel);
		assert_int_equal(rdma_resolve_addr(id, NULL, address_of(peer, 7), WAIT_MS), 0);
		expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
		assert_ptr_equal(id->verbs, contexts[peer]);
		assert_int_equal(rdma_destroy_id(id), 0);
	}
	rdma_destroy_event_channel(channel);
}

static struct rdma_cm_id *listen_on_all(struct rdma_event_channel *channel)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct rdma_cm_id *listener = make_id(channel);

	assert_int_equal(rdma_bind_addr(listener, (struct sockaddr *)&any), 0);
	assert_null(listener->verbs);
	assert_int_equal(rdma_listen(listener, 8), 0);
	assert_int_not_equal(rdma_get_src_port(listener), 0);
	return listener;
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr wanted = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	assert_int_equal(rdma_create_qp(id, NULL, &wanted), 0);
}

static void end_connection(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* Connects from one device to the listener by another one; both ends are then up. */
static void connect_between(struct rdma_event_channel *requests, const struct rdma_cm_id *listener,
			    uint32_t from, uint32_t to, struct rdma_cm_id *ends[2])
{
	struct rdma_event_channel *channel = make_channel();
	struct sockaddr_in source = addresses[from];
	struct rdma_conn_param parameters = {.retry_count = 7};
	struct rdma_cm_event *event;

	ends[0] = make_id(channel);
	assert_int_equal(
		rdma_resolve_addr(ends[0], (struct sockaddr *)&source,
				  address_of(to, rdma_get_src_port((struct rdma_cm_id *)listener)),
				  WAIT_MS),
		0);
	expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(ends[0], WAIT_MS), 0);
	expect_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(ends[0]);
	assert_int_equal(rdma_connect(ends[0], &parameters), 0);
	event = next_event(requests, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(event->listen_id, listener);
	ends[1] = event->id;
	rdma_ack_cm_event(event);
	assert_ptr_equal(ends[0]->verbs, contexts[from]);
	assert_ptr_equal(ends[1]->verbs, contexts[to]);
	make_qp(ends[1]);
	assert_int_equal(rdma_accept(ends[1], &parameters), 0);
	expect_event(channel, RDMA_CM_EVENT_ESTABLISHED);
	expect_event(requests, RDMA_CM_EVENT_ESTABLISHED);
}

/* The end that connected has a channel of its own. */
static void close_between(struct rdma_event_channel *requests, struct rdma_cm_id *ends[2])
{
	struct rdma_event_channel *channel = ends[0]->channel;

	assert_int_equal(rdma_disconnect(ends[0]), 0);
	expect_event(requests, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(rdma_disconnect(ends[1]), 0);
	expect_event(channel, RDMA_CM_EVENT_DISCONNECTED);
	end_connection(ends[0]);
	end_connection(ends[1]);
	rdma_destroy_event_channel(channel);
}

static void test_listener_on_all(void **state)
{
	struct rdma_event_channel *requests = make_channel();
	struct rdma_cm_id *listener = listen_on_all(requests), *ends[2], *second;
	struct sockaddr_in any = {.sin_family = AF_INET};

	(void)state;
	for (uint32_t i = 0; i < device_count; i++) {
		connect_between(requests, listener, (i + 1) % device_count, i, ends);
		close_between(requests, ends);
	}
	/* Another one on the port of all is refused, and leaves nothing behind on any device. */
	any.sin_port = rdma_get_src_port(listener);
	second = make_id(requests);
	assert_int_equal(rdma_bind_addr(second, (struct sockaddr *)&any), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(rdma_destroy_id(listener), 0);
	assert_int_equal(rdma_bind_addr(second, (struct sockaddr *)&any), 0);
	assert_int_equal(rdma_destroy_id(second), 0);
	rdma_destroy_event_channel(requests);
}

static void test_waiting(void **state)
{
	struct rdma_event_channel *channel = make_channel();
	struct pollfd ready = {.fd = channel->fd, .events = POLLIN};
	struct rdma_cm_id *id = make_id(channel), *moved = make_id(NULL);
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct rdma_cm_event *event;

	(void)state;
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rdma_get_cm_event(channel, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(poll(&ready, 1, 0), 0);
	assert_int_equal(rdma_bind_addr(moved, (struct sockaddr *)&any), 0);
	assert_int_equal(rdma_migrate_id(moved, channel), 0);
	assert_int_equal(rdma_resolve_addr(moved, NULL, address_of(device_count - 1, 7), WAIT_MS),
			 0);
	expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_ptr_equal(moved->verbs, contexts[device_count - 1]);
	assert_int_equal(poll(&ready, 1, 0), 0);
	assert_int_equal(rdma_destroy_id(moved), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

/*
 * An identifier that no device can lead to its peer tries another peer, by another device, while
 * the program still has the event that said so.
 */
static void test_resolved_again(void **state)
{
	struct rdma_event_channel *channel = make_channel();
	struct sockaddr_in6 nowhere = {.sin6_family = AF_INET6, .sin6_port = htons(7)};
	const uint32_t last = device_count - 1;
	struct rdma_cm_id *id = make_id(channel);
	struct rdma_cm_event *failure;

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "2001:db8::1", &nowhere.sin6_addr), 1);
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&nowhere, WAIT_MS), 0);
	assert_int_equal(rdma_get_cm_event(channel, &failure), 0);
	assert_int_equal(failure->event, RDMA_CM_EVENT_ADDR_ERROR);
	assert_ptr_equal(failure->id, id);
	assert_int_equal(rdma_resolve_addr(id, NULL, address_of(last, 7), WAIT_MS), 0);
	assert_int_equal(rdma_ack_cm_event(failure), 0);
	expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_ptr_equal(id->verbs, contexts[last]);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

/* What a child does to the channel that it has from its parent changes nothing for the parent. */
static void test_child_of_fork(void **state)
{
	struct rdma_event_channel *channel = make_channel();
	struct rdma_cm_id *id = make_id(channel);
	struct sockaddr_in source = addresses[1];
	struct rdma_cm_event *event;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&source), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		const bool is_told = rdma_get_cm_event(channel, &event) == 0 &&
				     event->event == RDMA_CM_EVENT_DEVICE_REMOVAL &&
				     rdma_ack_cm_event(event) == 0 &&
				     rdma_get_cm_event(channel, &event) != 0 && errno == ENODEV;

		rdma_destroy_id(id);
		rdma_destroy_event_channel(channel);
		_exit(is_told ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, address_of(2, 7), WAIT_MS), 0);
	expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void *take_events(void *channel)
{
	struct rdma_cm_event *event;

	while (rdma_get_cm_event(channel, &event) == 0)
		rdma_ack_cm_event(event);
	return NULL;
}

static bool goes_on_waiting(pthread_t thread)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += STILL_WAITING_NSEC;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT;
}

/*
 * A program that destroys a channel where a thread still waits, and that still has identifiers. The
 * thread goes on waiting to the end of the program, as at a kernel's channel, and the identifiers
 * let go of their ports.
 */
static void test_destroyed_in_use(void **state)
{
	struct rdma_event_channel *channel = make_channel(), *other = make_channel();
	struct rdma_cm_id *listener = listen_on_all(channel), *bound = make_id(channel);
	struct rdma_cm_id *unbound = make_id(channel), *second = make_id(other);
	struct sockaddr_in any = {.sin_family = AF_INET};
	pthread_t waiter;

	(void)state;
	assert_int_equal(rdma_bind_addr(bound, address_of(1, 0)), 0);
	any.sin_port = rdma_get_src_port(listener);
	assert_int_equal(pthread_create(&waiter, NULL, take_events, channel), 0);
	assert_true(goes_on_waiting(waiter));
	rdma_destroy_event_channel(channel);
	assert_int_equal(rdma_bind_addr(second, (struct sockaddr *)&any), 0);
	assert_int_equal(rdma_destroy_id(second), 0);
	assert_int_equal(rdma_destroy_id(listener), 0);
	assert_int_equal(rdma_destroy_id(bound), 0);
	assert_int_equal(rdma_destroy_id(unbound), 0);
	rdma_destroy_event_channel(other);
	assert_true(goes_on_waiting(waiter));
}

static void *count_devices(void *context)
{
	rdma_free_devices(rdma_get_devices(context));
	return NULL;
}

/*
 * A daemon that does not answer keeps nobody waiting who wants another device, also while a thread
 * asks for all devices and waits for that daemon.
 */
static void test_stopped_device(void **state)
{
	struct rdma_event_channel *requests = make_channel(), *channel;
	struct rdma_cm_id *listener, *ends[2];
	pthread_t asker;
	int count;

	(void)state;
	ask_for("stop 1");
	assert_int_equal(pthread_create(&asker, NULL, count_devices, &count), 0);
	assert_true(goes_on_waiting(asker));
	channel = make_channel();
	listener = make_id(requests);
	assert_int_equal(rdma_bind_addr(listener, address_of(2, 0)), 0);
	assert_int_equal(rdma_listen(listener, 8), 0);
	connect_between(requests, listener, 0, 2, ends);
	close_between(requests, ends);
	assert_int_equal(rdma_destroy_id(listener), 0);
	assert_true(goes_on_waiting(asker));
	ask_for("continue 1");
	assert_int_equal(pthread_join(asker, NULL), 0);
	assert_int_equal(count, device_count);
	listener = make_id(channel);
	assert_int_equal(rdma_bind_addr(listener, address_of(1, 0)), 0);
	assert_int_equal(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(channel);
	rdma_destroy_event_channel(requests);
}

/* The second device goes: its identifiers are told, and nobody else. */
struct signalled {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

static int get_event(void *at)
{
	struct signalled *signalled = at;
	struct rdma_cm_event *event;
	int result = rdma_get_cm_event(signalled->channel, &event);

	if (result == 0)
		rdma_ack_cm_event(event);
	return result;
}

static void cause_event(void *at)
{
	struct signalled *signalled = at;

	assert_int_equal(rdma_resolve_addr(signalled->id, NULL, address_of(1, 1), WAIT_MS), 0);
}

/* A channel of several devices answers to signals as that of one. */
static void test_signals(void **state)
{
	static const struct signal_case waiting = {
		"rdma_get_cm_event", get_event, cause_event, false, NULL, false};
	static const int flags[] = {SA_RESTART, 0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct signalled signalled = {.channel = make_channel()};

		signalled.id = make_id(signalled.channel);
		signal_call(&waiting, &signalled, flags[i]);
		assert_int_equal(rdma_destroy_id(signalled.id), 0);
		rdma_destroy_event_channel(signalled.channel);
	}
}

static void test_lost_device(void **state)
{
	struct rdma_event_channel *requests = make_channel(), *others = make_channel();
	struct rdma_cm_id *listener = listen_on_all(requests), *ends[2];
	struct rdma_cm_id *bound = make_id(others), *kept = make_id(others), *fresh;
	struct pollfd ready = {.fd = others->fd, .events = POLLIN};
	struct rdma_cm_event *event;
	int count;

	(void)state;
	assert_int_equal(rdma_bind_addr(bound, address_of(1, 0)), 0);
	assert_int_equal(rdma_bind_addr(kept, address_of(0, 0)), 0);
	ask_for("lose 1");
	event = next_event(others, RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_ptr_equal(event->id, bound);
	rdma_ack_cm_event(event);
	assert_int_equal(fcntl(others->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rdma_get_cm_event(others, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(poll(&ready, 1, 0), 0);
	assert_int_equal(rdma_destroy_id(bound), 0);
	assert_int_equal(rdma_destroy_id(kept), 0);
	/* The listener is still on the others, and so are new identifiers. */
	connect_between(requests, listener, 2, 0, ends);
	close_between(requests, ends);
	assert_int_equal(rdma_destroy_id(listener), 0);
	fresh = make_id(others);
	assert_int_equal(rdma_bind_addr(fresh, address_of(1, 0)), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
	assert_int_equal(rdma_destroy_id(fresh), 0);
	rdma_free_devices(contexts);
	contexts = rdma_get_devices(&count);
	assert_int_equal(count, device_count - 1);
	rdma_free_devices(contexts);
	rdma_destroy_event_channel(requests);
	rdma_destroy_event_channel(others);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_list, set_limit),
		cmocka_unit_test_setup(test_bound_address, set_limit),
		cmocka_unit_test_setup(test_resolved_address, set_limit),
		cmocka_unit_test_setup(test_listener_on_all, set_limit),
		cmocka_unit_test_setup(test_waiting, set_limit),
		cmocka_unit_test_setup(test_resolved_again, set_limit),
		cmocka_unit_test_setup(test_child_of_fork, set_limit),
		cmocka_unit_test_setup(test_destroyed_in_use, set_limit),
		cmocka_unit_test_setup(test_signals, set_limit),
		cmocka_unit_test_setup(test_stopped_device, set_limit),
		cmocka_unit_test_setup(test_lost_device, set_limit),
	};

	device_count = (uint32_t)argc - 1;
	if (device_count < 3 || device_count > DEVICES_MAX)
		return EXIT_FAILURE;
	for (uint32_t i = 0; i < device_count; i++) {
		addresses[i].sin_family = AF_INET;
		if (inet_pton(AF_INET, argv[i + 1], &addresses[i].sin_addr) != 1)
			return EXIT_FAILURE;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
