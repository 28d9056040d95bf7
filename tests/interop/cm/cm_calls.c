/* SPDX-License-Identifier: MIT */
/*
 * What callers of librdmacm rely on and no program of the distribution does: cm_calls ADDRESS
 *
 * Both ends of each connection are in this process, on channels of their own. ADDRESS is the
 * device's.
 */
#include "tests/interop/cm/cm_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define READ_COUNT CM_ENDS_DEPTH
#define READ_BYTES 65536

#define LATE_MS		 2 /* between a look at the channel and the call */
#define ANNOUNCED_EVENTS 20
#define PATIENCE_MS	 10000
#define SILENCE_MS	 300
#define TIMEWAIT_MS	 512

/* Until the server has the request, and a queue pair for it. */
static void ask(struct cm_ends *ends, uint8_t initiator_depth)
{
	struct rdma_conn_param parameters = {
		.initiator_depth = initiator_depth,
		.responder_resources = initiator_depth,
		.retry_count = 7,
	};

	cm_ends_resolve(ends);
	cm_ends_create_qp(ends->client);
	assert_int_equal(rdma_ack_cm_event(cm_ends_ask(ends, &parameters)), 0);
	cm_ends_create_qp(ends->server);
}

static int answer(struct cm_ends *ends, uint8_t responder_resources)
{
	struct rdma_conn_param parameters = {
		.responder_resources = responder_resources,
		.initiator_depth = 1,
	};

	return rdma_accept(ends->server, &parameters);
}

/* Two ends whose connection stands. */
static void stand(struct cm_ends *ends)
{
	cm_ends_create(ends);
	ask(ends, 1);
	assert_int_equal(answer(ends, 1), 0);
	cm_ends_expect_standing(ends);
}

static void part(struct cm_ends *ends)
{
	assert_int_equal(rdma_disconnect(ends->client), 0);
	cm_ends_take_event(ends->server_events, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(rdma_disconnect(ends->server), 0);
	cm_ends_take_event(ends->client_events, RDMA_CM_EVENT_DISCONNECTED);
}

/* READs `READ_COUNT` times at once what the other end has. */
static void read_at_once(struct cm_ends *ends, const uint8_t *from, uint8_t *into)
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
	struct cm_ends ends;

	(void)state;
	cm_ends_create(&ends);
	ask(&ends, READ_COUNT);
	assert_int_equal(answer(&ends, 1), 0);
	cm_ends_expect_standing(&ends);
	assert_int_equal(
		ibv_query_qp(ends.client->qp, &attributes, IBV_QP_MAX_QP_RD_ATOMIC, &initial), 0);
	assert_int_equal(attributes.max_rd_atomic, 1);
	read_at_once(&ends, from, into);
	assert_memory_equal(from, into, sizeof(from));
	part(&ends);
	cm_ends_destroy(&ends);
}

/* An identifier has one queue pair, and what was made with it stays with it. */
static void test_second_queue_pair(void **state)
{
	struct ibv_qp_init_attr attributes = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_cq *cq;
	struct cm_ends ends;

	(void)state;
	cm_ends_create(&ends);
	cm_ends_resolve(&ends);
	cm_ends_create_qp(ends.client);
	cq = ends.client->send_cq;
	assert_non_null(cq);
	assert_int_equal(rdma_create_qp(ends.client, NULL, &attributes), -1);
	assert_int_equal(errno, EINVAL);
	assert_ptr_equal(ends.client->send_cq, cq);
	assert_non_null(ends.client->recv_cq_channel);
	cm_ends_destroy(&ends);
}

/* What is wrong with the parameters is not the queue pair's fault. */
static void test_accept_again(void **state)
{
	struct cm_ends ends;

	(void)state;
	cm_ends_create(&ends);
	ask(&ends, 1);
	assert_int_equal(answer(&ends, 254), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(answer(&ends, 1), 0);
	cm_ends_expect_standing(&ends);
	part(&ends);
	cm_ends_destroy(&ends);
}

/* rdma_migrate_id(3): what waits goes along, and the old channel is empty. */
static void test_events_migrate(void **state)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct cm_ends ends;

	(void)state;
	cm_ends_create(&ends);
	ask(&ends, 1);
	assert_int_equal(answer(&ends, 1), 0);
	cm_ends_take_event(ends.client_events, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(rdma_migrate_id(ends.server, other), 0);
	cm_ends_take_event(other, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(fcntl(ends.server_events->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rdma_get_cm_event(ends.server_events, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(rdma_disconnect(ends.client), 0);
	cm_ends_take_event(other, RDMA_CM_EVENT_DISCONNECTED);
	cm_ends_destroy(&ends);
	rdma_destroy_event_channel(other);
}

/* A request that nobody took is refused with its listener. */
static void test_listener_ends_with_requests(void **state)
{
	struct rdma_conn_param parameters = {.retry_count = 7};
	struct cm_ends ends;

	(void)state;
	cm_ends_create(&ends);
	cm_ends_resolve(&ends);
	cm_ends_create_qp(ends.client);
	assert_int_equal(rdma_connect(ends.client, &parameters), 0);
	cm_ends_destroy_id(ends.listener);
	ends.listener = NULL;
	cm_ends_take_event(ends.client_events, RDMA_CM_EVENT_REJECTED);
	cm_ends_destroy(&ends);
}

/* With their channel the identifiers end, as a kernel's do, and their peer is told. */
static void test_channel_ends_with_identifiers(void **state)
{
	struct cm_ends ends;

	(void)state;
	stand(&ends);
	rdma_destroy_event_channel(ends.server_events);
	cm_ends_take_event(ends.client_events, RDMA_CM_EVENT_DISCONNECTED);
	ends.server_events = rdma_create_event_channel();
	assert_non_null(ends.server_events);
	cm_ends_destroy(&ends);
}

static enum ibv_qp_state state_of(const struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr initial;
	struct ibv_qp_attr attributes;

	assert_int_equal(ibv_query_qp(id->qp, &attributes, IBV_QP_STATE, &initial), 0);
	return attributes.qp_state;
}

static bool is_told_within(const struct rdma_event_channel *events, int milliseconds)
{
	struct pollfd ready = {.fd = events->fd, .events = POLLIN};

	return poll(&ready, 1, milliseconds) == 1;
}

/* A connection whose client has disconnected, which the server knows. */
static void leave(struct cm_ends *ends)
{
	stand(ends);
	assert_int_equal(rdma_disconnect(ends->client), 0);
	assert_int_equal(state_of(ends->client), IBV_QPS_ERR);
	cm_ends_take_event(ends->server_events, RDMA_CM_EVENT_DISCONNECTED);
}

/*
 * Who disconnects waits for the peer's call, which also ends the peer's queue pair. Then both wait
 * half a second, and the client's port is free meanwhile.
 */
static void test_peer_answers_disconnect(void **state)
{
	struct rdma_cm_id *next;
	struct sockaddr_in port;
	struct cm_ends ends;

	(void)state;
	leave(&ends);
	assert_false(is_told_within(ends.client_events, SILENCE_MS));
	assert_int_equal(state_of(ends.server), IBV_QPS_RTS);
	assert_int_equal(rdma_disconnect(ends.server), 0);
	assert_int_equal(state_of(ends.server), IBV_QPS_ERR);
	cm_ends_take_event(ends.client_events, RDMA_CM_EVENT_DISCONNECTED);
	assert_false(is_told_within(ends.client_events, TIMEWAIT_MS * 7 / 10));
	assert_true(is_told_within(ends.client_events, TIMEWAIT_MS * 6 / 10));
	cm_ends_take_event(ends.client_events, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	cm_ends_take_event(ends.server_events, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	cm_ends_destroy(&ends);

	leave(&ends);
	assert_int_equal(rdma_disconnect(ends.server), 0);
	cm_ends_take_event(ends.client_events, RDMA_CM_EVENT_DISCONNECTED);
	port = *(struct sockaddr_in *)rdma_get_local_addr(ends.client);
	cm_ends_destroy_id(ends.client);
	ends.client = NULL;
	assert_int_equal(rdma_create_id(ends.client_events, &next, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(next, (struct sockaddr *)&port), 0);
	assert_int_equal(rdma_destroy_id(next), 0);
	cm_ends_destroy(&ends);
}

/* The end of the peer's identifier is an answer too. */
static void test_peer_is_destroyed(void **state)
{
	struct cm_ends ends;

	(void)state;
	leave(&ends);
	assert_false(is_told_within(ends.client_events, SILENCE_MS));
	cm_ends_destroy_id(ends.server);
	ends.server = NULL;
	cm_ends_take_event(ends.client_events, RDMA_CM_EVENT_DISCONNECTED);
	cm_ends_destroy(&ends);
}

/* Both disconnect at the same time: each is told once. */
static void test_both_disconnect(void **state)
{
	struct cm_ends ends;

	(void)state;
	stand(&ends);
	assert_int_equal(rdma_disconnect(ends.client), 0);
	assert_int_equal(rdma_disconnect(ends.server), 0);
	cm_ends_take_event(ends.client_events, RDMA_CM_EVENT_DISCONNECTED);
	cm_ends_take_event(ends.server_events, RDMA_CM_EVENT_DISCONNECTED);
	cm_ends_destroy(&ends);
}

/* As rping of rdma-core 65 takes events: polls, and then comes for what it saw. */
struct poller {
	struct rdma_event_channel *events;
	atomic_int taken;
	int last_error;
	atomic_bool has_ended;
};

static void *poll_and_take(void *context)
{
	struct poller *poller = context;
	struct pollfd ready = {.fd = poller->events->fd, .events = POLLIN};

	while (!atomic_load(&poller->has_ended)) {
		struct rdma_cm_event *event;

		if (poll(&ready, 1, 1) != 1)
			continue;
		poll(NULL, 0, LATE_MS);
		if (rdma_get_cm_event(poller->events, &event) != 0) {
			poller->last_error = errno;
			continue;
		}
		poller->taken++;
		assert_int_equal(rdma_ack_cm_event(event), 0);
	}
	return NULL;
}

/*
 * An event makes the channel readable, and its identifier is destroyed before the thread that
 * polled comes for the event: the thread gets the event, and does not wait for ever.
 */
static void test_announced_event_is_taken(void **state)
{
	struct poller poller = {.events = rdma_create_event_channel()};
	struct pollfd ready = {.fd = poller.events->fd, .events = POLLIN};
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, poll_and_take, &poller), 0);
	for (int i = 0; i < ANNOUNCED_EVENTS; i++) {
		struct cm_ends ends = {.client_events = poller.events};

		cm_ends_begin(&ends);
		cm_ends_begin_resolving(&ends);
		/*
		 * The first event shows which thread takes events. That thread may be quicker than
		 * this one, and have the event already.
		 */
		while (atomic_load(&poller.taken) <= i && (i == 0 || poll(&ready, 1, 0) != 1))
			poll(NULL, 0, 1);
		cm_ends_destroy_id(ends.client);
		cm_ends_destroy_id(ends.listener);
		rdma_destroy_event_channel(ends.server_events);
	}
	atomic_store(&poller.has_ended, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	/* A thread that gets no processor for long is answered instead. */
	assert_true(poller.last_error == 0 || poller.last_error == EAGAIN);
	assert_in_range(poller.taken, ANNOUNCED_EVENTS / 2, ANNOUNCED_EVENTS);
	rdma_destroy_event_channel(poller.events);
}

/* Without another thread, the call that comes for such an event fails at once. */
static void test_taken_back_event_is_answered(void **state)
{
	struct rdma_cm_event *event;
	struct pollfd ready = {.events = POLLIN};
	struct cm_ends ends;

	(void)state;
	cm_ends_create(&ends);
	cm_ends_begin_resolving(&ends);
	ready.fd = ends.client_events->fd;
	assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
	cm_ends_destroy_id(ends.client);
	ends.client = NULL;
	cm_ends_expect_no_event(ends.client_events);
	assert_int_equal(rdma_get_cm_event(ends.client_events, &event), -1);
	assert_int_equal(errno, EAGAIN);
	cm_ends_destroy(&ends);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_depth_is_what_the_peer_grants, cm_ends_set_limit),
		cmocka_unit_test_setup(test_second_queue_pair, cm_ends_set_limit),
		cmocka_unit_test_setup(test_accept_again, cm_ends_set_limit),
		cmocka_unit_test_setup(test_events_migrate, cm_ends_set_limit),
		cmocka_unit_test_setup(test_listener_ends_with_requests, cm_ends_set_limit),
		cmocka_unit_test_setup(test_channel_ends_with_identifiers, cm_ends_set_limit),
		cmocka_unit_test_setup(test_peer_answers_disconnect, cm_ends_set_limit),
		cmocka_unit_test_setup(test_peer_is_destroyed, cm_ends_set_limit),
		cmocka_unit_test_setup(test_both_disconnect, cm_ends_set_limit),
		cmocka_unit_test_setup(test_announced_event_is_taken, cm_ends_set_limit),
		cmocka_unit_test_setup(test_taken_back_event_is_answered, cm_ends_set_limit),
	};

	if (cm_ends_find_device(argc, argv) != 0)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
