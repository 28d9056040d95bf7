/* SPDX-License-Identifier: MIT */
/*
 * What callers of librdmacm rely on and no program of the distribution does: cm_calls ADDRESS
 *
 * Both ends of each connection are in this process, on channels of their own. ADDRESS is the
 * device's.
 */
#include <rdma/rdma_cma.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RESOLVE_MS   2000
#define READ_COUNT   16
#define READ_BYTES   65536
#define PATIENCE_SEC 60 /* until a call that hangs ends the program */

static struct sockaddr_in device;

struct ends {
	struct rdma_event_channel *server_events;
	struct rdma_event_channel *client_events;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *server;
	struct rdma_cm_id *client;
};

/* The event is acknowledged; its private data is gone. */
static struct rdma_cm_event take_event(struct rdma_event_channel *events,
				       enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_event taken;

	assert_int_equal(rdma_get_cm_event(events, &event), 0);
	taken = *event;
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_string_equal(rdma_event_str(taken.event), rdma_event_str(type));
	return taken;
}

static void create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attributes = {
		.cap = {.max_send_wr = READ_COUNT,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	assert_int_equal(rdma_create_qp(id, NULL, &attributes), 0);
}

static void listen_anywhere(struct ends *ends)
{
	struct sockaddr_in any = {.sin_family = AF_INET};

	*ends = (struct ends){.server_events = rdma_create_event_channel()};
	ends->client_events = rdma_create_event_channel();
	assert_non_null(ends->server_events);
	assert_non_null(ends->client_events);
	assert_int_equal(rdma_create_id(ends->server_events, &ends->listener, NULL, RDMA_PS_TCP),
			 0);
	assert_int_equal(rdma_bind_addr(ends->listener, (struct sockaddr *)&any), 0);
	assert_int_equal(rdma_listen(ends->listener, 8), 0);
}

static void resolve(struct ends *ends)
{
	struct sockaddr_in address = device;

	address.sin_port = rdma_get_src_port(ends->listener);
	assert_int_equal(rdma_create_id(ends->client_events, &ends->client, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(
		rdma_resolve_addr(ends->client, NULL, (struct sockaddr *)&address, RESOLVE_MS), 0);
	take_event(ends->client_events, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(ends->client, RESOLVE_MS), 0);
	take_event(ends->client_events, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void ask(struct ends *ends, uint8_t initiator_depth)
{
	struct rdma_conn_param parameters = {
		.initiator_depth = initiator_depth,
		.responder_resources = initiator_depth,
		.retry_count = 7,
	};

	resolve(ends);
	create_qp(ends->client);
	assert_int_equal(rdma_connect(ends->client, &parameters), 0);
}

static int answer(struct ends *ends, uint8_t responder_resources)
{
	struct rdma_conn_param parameters = {
		.responder_resources = responder_resources,
		.initiator_depth = 1,
	};

	return rdma_accept(ends->server, &parameters);
}

static void take_request(struct ends *ends)
{
	struct rdma_cm_event request =
		take_event(ends->server_events, RDMA_CM_EVENT_CONNECT_REQUEST);

	assert_ptr_equal(request.listen_id, ends->listener);
	ends->server = request.id;
	create_qp(ends->server);
}

static void expect_standing(struct ends *ends)
{
	take_event(ends->client_events, RDMA_CM_EVENT_ESTABLISHED);
	take_event(ends->server_events, RDMA_CM_EVENT_ESTABLISHED);
}

static void part(struct ends *ends)
{
	assert_int_equal(rdma_disconnect(ends->client), 0);
	take_event(ends->client_events, RDMA_CM_EVENT_DISCONNECTED);
	take_event(ends->server_events, RDMA_CM_EVENT_DISCONNECTED);
}

static void destroy_id(struct rdma_cm_id *id)
{
	if (id == NULL)
		return;
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void destroy(struct ends *ends)
{
	destroy_id(ends->client);
	destroy_id(ends->server);
	destroy_id(ends->listener);
	rdma_destroy_event_channel(ends->client_events);
	rdma_destroy_event_channel(ends->server_events);
}

/* READs `READ_COUNT` times at once what the other end has. */
static void read_at_once(struct ends *ends, const uint8_t *from, uint8_t *into)
{
	struct ibv_mr *source =
		ibv_reg_mr(ends->server->pd, (void *)from, READ_BYTES, IBV_ACCESS_REMOTE_READ);
	struct ibv_mr *sink =
		ibv_reg_mr(ends->client->pd, into, READ_BYTES, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge range = {.addr = (uintptr_t)into, .length = READ_BYTES};
	struct ibv_send_wr request = {
		.sg_list = &range,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *refused;

	assert_non_null(source);
	assert_non_null(sink);
	range.lkey = sink->lkey;
	request.wr.rdma.remote_addr = (uintptr_t)from;
	request.wr.rdma.rkey = source->rkey;
	for (int i = 0; i < READ_COUNT; i++)
		assert_int_equal(ibv_post_send(ends->client->qp, &request, &refused), 0);
	for (int i = 0; i < READ_COUNT;) {
		struct ibv_wc completion;
		int count = ibv_poll_cq(ends->client->send_cq, 1, &completion);

		assert_true(count >= 0);
		if (count == 1)
			assert_string_equal(ibv_wc_status_str(completion.status), "success");
		i += count;
	}
	assert_int_equal(ibv_dereg_mr(source), 0);
	assert_int_equal(ibv_dereg_mr(sink), 0);
}

/* rdma_accept(3): what is granted may be less than what was asked for. */
static void test_depth_is_what_the_peer_grants(void **state)
{
	static uint8_t from[READ_BYTES] = "what is to be read", into[READ_BYTES];
	struct ibv_qp_attr attributes;
	struct ibv_qp_init_attr initial;
	struct ends ends;

	(void)state;
	listen_anywhere(&ends);
	ask(&ends, READ_COUNT);
	take_request(&ends);
	assert_int_equal(answer(&ends, 1), 0);
	expect_standing(&ends);
	assert_int_equal(
		ibv_query_qp(ends.client->qp, &attributes, IBV_QP_MAX_QP_RD_ATOMIC, &initial), 0);
	assert_int_equal(attributes.max_rd_atomic, 1);
	read_at_once(&ends, from, into);
	assert_memory_equal(from, into, sizeof(from));
	part(&ends);
	destroy(&ends);
}

/* An identifier has one queue pair, and what was made with it stays with it. */
static void test_second_queue_pair(void **state)
{
	struct ibv_qp_init_attr attributes = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_cq *cq;
	struct ends ends;

	(void)state;
	listen_anywhere(&ends);
	resolve(&ends);
	create_qp(ends.client);
	cq = ends.client->send_cq;
	assert_non_null(cq);
	assert_int_equal(rdma_create_qp(ends.client, NULL, &attributes), -1);
	assert_int_equal(errno, EINVAL);
	assert_ptr_equal(ends.client->send_cq, cq);
	assert_non_null(ends.client->recv_cq_channel);
	destroy(&ends);
}

/* What is wrong with the parameters is not the queue pair's fault. */
static void test_accept_again(void **state)
{
	struct ends ends;

	(void)state;
	listen_anywhere(&ends);
	ask(&ends, 1);
	take_request(&ends);
	assert_int_equal(answer(&ends, 254), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(answer(&ends, 1), 0);
	expect_standing(&ends);
	part(&ends);
	destroy(&ends);
}

/* rdma_migrate_id(3): what waits goes along, and the old channel is empty. */
static void test_events_migrate(void **state)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct ends ends;

	(void)state;
	listen_anywhere(&ends);
	ask(&ends, 1);
	take_request(&ends);
	assert_int_equal(answer(&ends, 1), 0);
	take_event(ends.client_events, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(rdma_migrate_id(ends.server, other), 0);
	take_event(other, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(fcntl(ends.server_events->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rdma_get_cm_event(ends.server_events, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(rdma_disconnect(ends.client), 0);
	take_event(other, RDMA_CM_EVENT_DISCONNECTED);
	destroy(&ends);
	rdma_destroy_event_channel(other);
}

/* A request that nobody took is refused with its listener. */
static void test_listener_ends_with_requests(void **state)
{
	struct ends ends;

	(void)state;
	listen_anywhere(&ends);
	ask(&ends, 1);
	destroy_id(ends.listener);
	ends.listener = NULL;
	take_event(ends.client_events, RDMA_CM_EVENT_REJECTED);
	destroy(&ends);
}

/* A call that waits for ever would hide as a slow one. */
static int set_limit(void **state)
{
	(void)state;
	alarm(PATIENCE_SEC);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_depth_is_what_the_peer_grants, set_limit),
		cmocka_unit_test_setup(test_second_queue_pair, set_limit),
		cmocka_unit_test_setup(test_accept_again, set_limit),
		cmocka_unit_test_setup(test_events_migrate, set_limit),
		cmocka_unit_test_setup(test_listener_ends_with_requests, set_limit),
	};

	device.sin_family = AF_INET;
	if (argc != 2 || inet_pton(AF_INET, argv[1], &device.sin_addr) != 1)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
