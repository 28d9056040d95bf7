/* SPDX-License-Identifier: MIT */
/*
 * librdmacm with several devices: cm_devices ADDRESS... with the address of each device, in the
 * order of the devices. An identifier is on the device of its address; a listener on any address is
 * on all of them. At the end the program says "lose 1" and waits for a line: the daemon of the
 * second device is to end meanwhile.
 */
#include "unit_test.h"

#include <rdma/rdma_cma.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define DEVICES_MAX 8
#define WAIT_MS	    10000

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

/* The second device goes: its identifiers are told, and nobody else. */
static void test_lost_device(void **state)
{
	struct rdma_event_channel *requests = make_channel(), *others = make_channel();
	struct rdma_cm_id *listener = listen_on_all(requests), *ends[2];
	struct rdma_cm_id *bound = make_id(others), *kept = make_id(others), *fresh;
	struct pollfd ready = {.fd = others->fd, .events = POLLIN};
	struct rdma_cm_event *event;
	char line[16];
	int count;

	(void)state;
	assert_int_equal(rdma_bind_addr(bound, address_of(1, 0)), 0);
	assert_int_equal(rdma_bind_addr(kept, address_of(0, 0)), 0);
	printf("lose 1\n");
	fflush(stdout);
	assert_non_null(fgets(line, sizeof(line), stdin));
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
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_bound_address),
		cmocka_unit_test(test_resolved_address),
		cmocka_unit_test(test_listener_on_all),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_lost_device),
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
