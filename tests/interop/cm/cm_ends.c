/* SPDX-License-Identifier: MIT */
#include "tests/interop/cm/cm_ends.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define RESOLVE_MS   2000
#define PATIENCE_SEC 60

static struct sockaddr_in device = {.sin_family = AF_INET};

int cm_ends_find_device(int argc, char **argv)
{
	if (argc == 2 && inet_pton(AF_INET, argv[1], &device.sin_addr) == 1)
		return 0;
	fprintf(stderr, "usage: %s ADDRESS\n", argv[0]);
	return -1;
}

int cm_ends_set_limit(void **state)
{
	(void)state;
	alarm(PATIENCE_SEC);
	return 0;
}

void cm_ends_create(struct cm_ends *ends)
{
	*ends = (struct cm_ends){.client_events = rdma_create_event_channel()};
	cm_ends_begin(ends);
}

void cm_ends_begin(struct cm_ends *ends)
{
	struct sockaddr_in any = {.sin_family = AF_INET};

	ends->server_events = rdma_create_event_channel();
	assert_non_null(ends->server_events);
	assert_non_null(ends->client_events);
	assert_int_equal(rdma_create_id(ends->server_events, &ends->listener, ends, RDMA_PS_TCP),
			 0);
	assert_int_equal(rdma_bind_addr(ends->listener, (struct sockaddr *)&any), 0);
	assert_int_equal(rdma_listen(ends->listener, 8), 0);
	assert_int_equal(rdma_create_id(ends->client_events, &ends->client, NULL, RDMA_PS_TCP), 0);
}

void cm_ends_destroy_id(struct rdma_cm_id *id)
{
	if (id == NULL)
		return;
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

void cm_ends_destroy(struct cm_ends *ends)
{
	cm_ends_destroy_id(ends->client);
	cm_ends_destroy_id(ends->server);
	cm_ends_destroy_id(ends->listener);
	rdma_destroy_event_channel(ends->client_events);
	rdma_destroy_event_channel(ends->server_events);
}

struct rdma_cm_event *cm_ends_next_event(struct rdma_event_channel *events,
					 enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	assert_int_equal(rdma_get_cm_event(events, &event), 0);
	if (event->event != type)
		fail_msg("%s (status %d) instead of %s", rdma_event_str(event->event),
			 event->status, rdma_event_str(type));
	return event;
}

void cm_ends_take_event(struct rdma_event_channel *events, enum rdma_cm_event_type type)
{
	assert_int_equal(rdma_ack_cm_event(cm_ends_next_event(events, type)), 0);
}

void cm_ends_expect_no_event(const struct rdma_event_channel *events)
{
	struct pollfd polled = {.fd = events->fd, .events = POLLIN};

	assert_int_equal(poll(&polled, 1, 0), 0);
}

void cm_ends_begin_resolving(struct cm_ends *ends)
{
	struct sockaddr_in address = device;

	address.sin_port = rdma_get_src_port(ends->listener);
	assert_int_not_equal(address.sin_port, 0);
	assert_int_equal(
		rdma_resolve_addr(ends->client, NULL, (struct sockaddr *)&address, RESOLVE_MS), 0);
}

void cm_ends_resolve(struct cm_ends *ends)
{
	cm_ends_begin_resolving(ends);
	cm_ends_take_event(ends->client_events, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(ends->client, RESOLVE_MS), 0);
	cm_ends_take_event(ends->client_events, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void cm_ends_create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attributes = {
		.cap = {.max_send_wr = CM_ENDS_DEPTH,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	assert_int_equal(rdma_create_qp(id, NULL, &attributes), 0);
}

struct rdma_cm_event *cm_ends_ask(struct cm_ends *ends, struct rdma_conn_param *parameters)
{
	struct rdma_cm_event *request;

	assert_int_equal(rdma_connect(ends->client, parameters), 0);
	request = cm_ends_next_event(ends->server_events, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(request->listen_id, ends->listener);
	assert_ptr_equal(request->id->context, ends);
	ends->server = request->id;
	return request;
}

void cm_ends_expect_standing(struct cm_ends *ends)
{
	cm_ends_take_event(ends->client_events, RDMA_CM_EVENT_ESTABLISHED);
	cm_ends_take_event(ends->server_events, RDMA_CM_EVENT_ESTABLISHED);
}
