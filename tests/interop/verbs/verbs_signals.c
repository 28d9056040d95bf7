/* SPDX-License-Identifier: MIT */
/*
 * Signals in the calls that wait: each call goes on after a handler with SA_RESTART, and ends with
 * EINTR after one without, as calls of a kernel device do. A handler of the other kind is there as
 * well, and never runs. On a device with one address, under rnic-run.
 */
#include "tests/interop/verbs/verbs_bench.h"
#include "tests/interop/waiting_call.h"
#include "tests/unit/unit_test.h"

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

struct station {
	struct bench *bench;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id; /* with a queue pair, and a channel for each of its queues */
	struct ibv_mr *mr;
	struct sockaddr_in address;
	uint8_t bytes[64];
};

static struct ibv_qp_init_attr queue_pair(void)
{
	return (struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
	};
}

static void take_address(struct station *station)
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
	union ibv_gid gid;

	for (int index = 0; ibv_query_gid(station->bench->context, 1, index, &gid) == 0; index++)
		if (memcmp(gid.raw, mapped, sizeof(mapped)) == 0)
			break;
	assert_memory_equal(gid.raw, mapped, sizeof(mapped));
	station->address.sin_family = AF_INET;
	memcpy(&station->address.sin_addr, gid.raw + sizeof(mapped), 4);
}

static void station_open(struct station *station)
{
	struct ibv_qp_init_attr wanted = queue_pair();

	*station = (struct station){.bench = bench_start_shared(IBV_QPT_RC, 16)};
	take_address(station);
	station->events = rdma_create_event_channel();
	assert_non_null(station->events);
	assert_int_equal(rdma_create_id(station->events, &station->id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(station->id, (struct sockaddr *)&station->address), 0);
	assert_int_equal(rdma_create_qp(station->id, NULL, &wanted), 0);
	station->mr = rdma_reg_msgs(station->id, station->bytes, sizeof(station->bytes));
	assert_non_null(station->mr);
	assert_int_equal(rdma_post_recv(station->id, NULL, station->bytes, sizeof(station->bytes),
					station->mr),
			 0);
}

static void station_close(struct station *station)
{
	rdma_destroy_qp(station->id);
	assert_int_equal(rdma_dereg_mr(station->mr), 0);
	assert_int_equal(rdma_destroy_id(station->id), 0);
	rdma_destroy_event_channel(station->events);
	bench_stop(station->bench);
}

/* --- the calls, and what they wait for -------------------------------------------------------- */

static int get_cq_event(void *at)
{
	struct station *station = at;
	struct ibv_cq *cq;
	void *context;
	int result;

	assert_int_equal(ibv_req_notify_cq(station->id->recv_cq, 0), 0);
	result = ibv_get_cq_event(station->id->recv_cq_channel, &cq, &context);
	if (result == 0)
		ibv_ack_cq_events(cq, 1);
	return result;
}

static int get_recv_comp(void *at)
{
	struct station *station = at;
	struct ibv_wc wc;

	return rdma_get_recv_comp(station->id, &wc);
}

static int get_send_comp(void *at)
{
	struct station *station = at;
	struct ibv_wc wc;

	return rdma_get_send_comp(station->id, &wc);
}

static void move_to_error(struct station *station)
{
	struct ibv_qp_attr wanted = {.qp_state = IBV_QPS_ERR};

	assert_int_equal(ibv_modify_qp(station->id->qp, &wanted, IBV_QP_STATE), 0);
}

static void flush_receive(void *at)
{
	move_to_error(at);
}

static void flush_send(void *at)
{
	struct station *station = at;

	move_to_error(station);
	assert_int_equal(rdma_post_send(station->id, NULL, station->bytes, 8, station->mr,
					IBV_SEND_SIGNALED),
			 0);
}

static int get_async_event(void *at)
{
	struct station *station = at;
	struct ibv_async_event event;
	int result = ibv_get_async_event(station->bench->context, &event);

	if (result == 0)
		ibv_ack_async_event(&event);
	return result;
}

static void reach_limit(void *at)
{
	struct station *station = at;
	struct ibv_srq_attr wanted = {.srq_limit = 10};

	assert_int_equal(ibv_modify_srq(station->bench->srq, &wanted, IBV_SRQ_LIMIT), 0);
}

static int get_cm_event(void *at)
{
	struct station *station = at;
	struct rdma_cm_event *event;
	int result = rdma_get_cm_event(station->events, &event);

	if (result == 0)
		rdma_ack_cm_event(event);
	return result;
}

static void resolve_address(void *at)
{
	struct station *station = at;

	assert_int_equal(
		rdma_resolve_addr(station->id, NULL, (struct sockaddr *)&station->address, 1000),
		0);
}

static const struct signal_case calls[] = {
	{"ibv_get_cq_event", get_cq_event, flush_receive, false, NULL, false},
	{"rdma_get_recv_comp", get_recv_comp, flush_receive, false, NULL, false},
	{"rdma_get_send_comp", get_send_comp, flush_send, false, NULL, false},
	{"ibv_get_async_event", get_async_event, reach_limit, false, NULL, false},
	{"rdma_get_cm_event", get_cm_event, resolve_address, false, NULL, false},
};

/* --- connections ------------------------------------------------------------------------------ */

/* One end is synchronous and waits in a call; the test moves the other, by its events. */
struct call_station {
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *client;
	struct rdma_cm_id *server;
};

/* Takes the next event, which is `wanted`, and returns its identifier. */
static struct rdma_cm_id *take_event(struct call_station *station, enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_get_cm_event(station->events, &event), 0);
	assert_int_equal(event->event, wanted);
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void call_station_open(struct call_station *station, bool is_client_synchronous)
{
	struct bench *bench = bench_start_shared(IBV_QPT_RC, 16);
	struct station names = {.bench = bench};
	struct ibv_qp_init_attr wanted = queue_pair();
	struct sockaddr *address = (struct sockaddr *)&names.address;
	struct rdma_event_channel *listening, *connecting;

	*station = (struct call_station){.events = rdma_create_event_channel()};
	listening = is_client_synchronous ? station->events : NULL;
	connecting = is_client_synchronous ? NULL : station->events;
	take_address(&names);
	bench_stop(bench);
	assert_int_equal(rdma_create_id(listening, &station->listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(station->listener, address), 0);
	assert_int_equal(rdma_listen(station->listener, 4), 0);
	names.address.sin_port = rdma_get_src_port(station->listener);
	assert_int_equal(rdma_create_id(connecting, &station->client, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(station->client, NULL, address, 2000), 0);
	if (!is_client_synchronous)
		take_event(station, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(station->client, 2000), 0);
	if (!is_client_synchronous)
		take_event(station, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_create_qp(station->client, NULL, &wanted), 0);
}

static void call_station_close(struct call_station *station)
{
	rdma_destroy_qp(station->client);
	assert_int_equal(rdma_destroy_id(station->client), 0);
	if (station->server != NULL) {
		rdma_destroy_qp(station->server);
		assert_int_equal(rdma_destroy_id(station->server), 0);
	}
	assert_int_equal(rdma_destroy_id(station->listener), 0);
	rdma_destroy_event_channel(station->events);
}

static int connect_client(void *at)
{
	struct call_station *station = at;

	return rdma_connect(station->client, NULL);
}

static void accept_client(void *at)
{
	struct call_station *station = at;
	struct ibv_qp_init_attr wanted = queue_pair();

	station->server = take_event(station, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(rdma_create_qp(station->server, NULL, &wanted), 0);
	assert_int_equal(rdma_accept(station->server, NULL), 0);
}

static int get_request(void *at)
{
	struct call_station *station = at;

	return rdma_get_request(station->listener, &station->server);
}

static void begin_to_connect(void *at)
{
	struct call_station *station = at;

	assert_int_equal(rdma_connect(station->client, NULL), 0);
}

static int accept_request(void *at)
{
	struct call_station *station = at;

	return rdma_accept(station->server, NULL);
}

static void finish_connection(void *at)
{
	take_event(at, RDMA_CM_EVENT_ESTABLISHED);
}

static const struct {
	struct signal_case call;
	bool is_client_synchronous;
	bool has_request; /* is the request there before the call? */
} connection_calls[] = {
	{{"rdma_connect", connect_client, accept_client, false, NULL, true}, true, false},
	{{"rdma_get_request", get_request, begin_to_connect, false, NULL, false}, false, false},
	{{"rdma_accept", accept_request, finish_connection, false, NULL, true}, false, true},
};

static void signal_connection_call(unsigned index, int flags)
{
	struct ibv_qp_init_attr wanted = queue_pair();
	struct call_station station;

	call_station_open(&station, connection_calls[index].is_client_synchronous);
	if (connection_calls[index].has_request) {
		begin_to_connect(&station);
		assert_int_equal(get_request(&station), 0);
		assert_int_equal(rdma_create_qp(station.server, NULL, &wanted), 0);
	}
	signal_call(&connection_calls[index].call, &station, flags);
	call_station_close(&station);
}

/* ---------------------------------------------------------------------------------------------- */

static void signal_all(int flags)
{
	for (unsigned i = 0; i < COUNT_OF(calls); i++) {
		struct station station;

		station_open(&station);
		signal_call(&calls[i], &station, flags);
		station_close(&station);
	}
	for (unsigned i = 0; i < COUNT_OF(connection_calls); i++)
		signal_connection_call(i, flags);
}

int main(void)
{
	return run_signal_tests(signal_all);
}
