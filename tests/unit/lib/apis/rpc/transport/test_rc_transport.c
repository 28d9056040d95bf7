/* SPDX-License-Identifier: MIT */
/* Connections of peers that break the conversation's rules, over a fake device. */
#include "lib/apis/rpc/transport/rc_transport.h"

#include "lib/apis/dial/dial.h"
#include "tests/unit/unit_test.h"

#define MS UINT64_C(1000000)

enum { CONNECTIONS = 4, RECEIVE_SLOTS = 4, SEND_SLOTS = 12, FIRST_RECEIVE = 1 << 16 };

/* --- what is not there ------------------------------------------------------------------------ */

struct rnic_qp {
	void *user;
};

static struct {
	struct rnic_completion completion; /* the next one, with `has_completion` */
	bool has_completion;
	uint32_t receives; /* posted, and not completed */
	uint32_t sends;
	uint64_t last_send;
	struct rnic_qp *last_qp;
	uint32_t cq_entries;
	uint64_t now_ns;
	uint32_t timeouts_set;
	uint8_t timeout;
	int timeout_error;
} fake;

int rnic_alloc(struct rnic_context *context, size_t bytes, void **memory)
{
	(void)context;
	*memory = calloc(1, bytes);
	return 0;
}

int rnic_free(struct rnic_context *context, void *memory)
{
	(void)context;
	free(memory);
	return 0;
}

int rnic_reg_mr(struct rnic_pd *pd, void *address, size_t length, uint64_t iova, uint32_t access,
		struct rnic_mr **mr)
{
	(void)pd;
	(void)length;
	(void)iova;
	(void)access;
	*mr = address;
	return 0;
}

int rnic_dereg_mr(struct rnic_mr *mr)
{
	(void)mr;
	return 0;
}

uint32_t rnic_mr_lkey(const struct rnic_mr *mr)
{
	(void)mr;
	return 1;
}

int rnic_create_cq(struct rnic_context *context, uint32_t entries, struct rnic_channel *channel,
		   uint32_t vector, uint32_t flags, void *user, struct rnic_cq **cq)
{
	(void)context;
	(void)channel;
	(void)vector;
	(void)user;
	assert_int_equal(flags, RNIC_CQ_TIMESTAMPS);
	fake.cq_entries = entries;
	*cq = NULL;
	return 0;
}

int rnic_destroy_cq(struct rnic_cq *cq)
{
	(void)cq;
	return 0;
}

int rnic_req_notify_cq(struct rnic_cq *cq, bool solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return 0;
}

int rnic_poll_cq(struct rnic_cq *cq, uint32_t max_count, struct rnic_completion *completions)
{
	bool has_one = fake.has_completion;

	(void)cq;
	(void)max_count;
	fake.has_completion = false;
	*completions = fake.completion;
	return has_one;
}

int rnic_create_srq(struct rnic_pd *pd, struct rnic_srq_options *options, struct rnic_srq **srq)
{
	(void)pd;
	(void)options;
	*srq = NULL;
	return 0;
}

int rnic_destroy_srq(struct rnic_srq *srq)
{
	(void)srq;
	return 0;
}

int rnic_post_srq_recv(struct rnic_srq *srq, const struct rnic_recv_wr *list,
		       const struct rnic_recv_wr **bad)
{
	(void)srq;
	(void)list;
	(void)bad;
	fake.receives++;
	return 0;
}

int rnic_create_qp(struct rnic_pd *pd, struct rnic_qp_options *options, struct rnic_qp **qp)
{
	(void)pd;
	*qp = calloc(1, sizeof(**qp));
	(*qp)->user = options->user;
	fake.last_qp = *qp;
	return 0;
}

int rnic_destroy_qp(struct rnic_qp *qp)
{
	free(qp);
	return 0;
}

void *rnic_qp_user(const struct rnic_qp *qp)
{
	return qp->user;
}

int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *list,
		   const struct rnic_send_wr **bad)
{
	(void)qp;
	(void)bad;
	fake.sends++;
	fake.last_send = list->wr_id;
	return 0;
}

int rnic_cm_connect(struct rnic_cm_id *id, const struct rnic_cm_parameters *parameters)
{
	(void)id;
	(void)parameters;
	return 0;
}

int rnic_cm_destroy_id(struct rnic_cm_id *id)
{
	(void)id;
	return 0;
}

void rnic_cm_set_user(struct rnic_cm_id *id, void *user)
{
	(void)id;
	(void)user;
}

int rnic_dial_prepare(struct rnic_qp *qp)
{
	(void)qp;
	return 0;
}

int rnic_dial_parameters(const struct rnic_qp *qp, const void *private_data,
			 size_t private_data_bytes, struct rnic_cm_parameters *parameters)
{
	(void)qp;
	(void)private_data;
	(void)private_data_bytes;
	*parameters = (struct rnic_cm_parameters){0};
	return 0;
}

int rnic_dial_finish(struct rnic_cm_id *id, struct rnic_qp *qp)
{
	(void)id;
	(void)qp;
	return 0;
}

int rnic_dial_begin_accept(struct rnic_cm_id *id, struct rnic_qp *qp,
			   const struct rnic_cm_parameters *own,
			   const struct rnic_cm_parameters *peer)
{
	(void)id;
	(void)qp;
	(void)own;
	(void)peer;
	return 0;
}

void rnic_dial_fail_qp(struct rnic_qp *qp)
{
	(void)qp;
}

uint64_t rnic_dial_now_ns(void)
{
	return fake.now_ns;
}

int rnic_dial_set_ack_timeout(struct rnic_qp *qp, uint8_t code)
{
	(void)qp;
	fake.timeouts_set++;
	fake.timeout = code;
	return fake.timeout_error;
}

/* --- a server's transport --------------------------------------------------------------------- */

static struct transport_device device;
static struct rc_transport transport;

static int set_up(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	return rc_transport_open(&transport, &device, CONNECTIONS, RECEIVE_SLOTS, SEND_SLOTS);
}

static int tear_down(void **state)
{
	(void)state;
	rc_transport_close(&transport);
	return 0;
}

/* Somebody connects; the way is not owned yet. */
static struct rnic_qp *connect_peer(void)
{
	const struct rnic_cm_event event = {.type = RNIC_CM_CONNECT_REQUEST};

	assert_int_equal(rc_transport_accept(&transport, &event), 0);
	return fake.last_qp;
}

/* A peer's message takes a receive. Returns the transport's result. */
static int take(struct rnic_qp *qp, uint8_t opcode, struct transport_datagram *datagram)
{
	fake.receives--;
	fake.completion = (struct rnic_completion){
		.wr_id = FIRST_RECEIVE,
		.qp = qp,
		.opcode = opcode,
		.byte_count = 100,
	};
	fake.has_completion = true;
	return transport.base.calls->receive(&transport.base, datagram);
}

/* A peer that has sent a datagram, whose way is owned then. */
static struct transport_route *open_conversation(struct rnic_qp *qp)
{
	struct transport_datagram datagram;
	struct transport_route *route;

	assert_int_equal(take(qp, RNIC_WC_RECV, &datagram), 1);
	assert_non_null(datagram.bytes);
	assert_int_equal(datagram.length, 100);
	assert_int_equal(transport.base.calls->open_route(&transport.base, &datagram, &route), 0);
	return route;
}

static void write_all_it_can(struct transport_route *route, struct transport_ring *ring)
{
	while (transport.base.calls->can_write(route))
		assert_int_equal(transport.base.calls->write(route, ring, 0, 1, 0x1000, 1), 0);
}

static void complete_last_write(struct rnic_qp *qp)
{
	struct transport_datagram datagram;

	fake.sends--;
	fake.completion = (struct rnic_completion){.wr_id = fake.last_send, .qp = qp};
	fake.has_completion = true;
	assert_int_equal(transport.base.calls->receive(&transport.base, &datagram), 0);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_write_with_immediate_is_no_datagram_but_the_end(void **state)
{
	struct rnic_qp *qp = connect_peer();
	struct transport_route *route = open_conversation(qp);
	struct transport_datagram datagram;

	(void)state;
	assert_int_equal(take(qp, RNIC_WC_RECV_RDMA_WITH_IMM, &datagram), 1);
	assert_ptr_equal(datagram.route, route);
	assert_null(datagram.bytes);
	assert_int_equal(fake.receives, RECEIVE_SLOTS);
}

static void a_stranger_that_writes_with_immediate_is_let_go(void **state)
{
	struct rnic_qp *qp = connect_peer();
	struct transport_datagram datagram;

	(void)state;
	assert_int_equal(take(qp, RNIC_WC_RECV_RDMA_WITH_IMM, &datagram), 0);
	assert_int_equal(transport.connection_count, 0);
	assert_int_equal(fake.receives, RECEIVE_SLOTS);
}

static uint32_t send_all_it_can(struct transport_route *route)
{
	uint32_t count = 0;

	for (; transport_room(route) != NULL; count++)
		assert_int_equal(transport_send(route, 1, true), 0);
	return count;
}

/* No peer acknowledges anything, and still each later peer can be answered. */
static void silent_peers_leave_sends_for_others(void **state)
{
	uint32_t first, last = 0;

	(void)state;
	first = send_all_it_can(open_conversation(connect_peer()));
	assert_true(first > 1);
	for (int i = 1; i < CONNECTIONS; i++) {
		last = send_all_it_can(open_conversation(connect_peer()));
		assert_true(last >= 1 && last <= first);
	}
}

static void silent_peers_leave_writes_for_others(void **state)
{
	struct transport_ring *ring;

	(void)state;
	assert_int_equal(transport.base.calls->open_ring(&transport.base, 64, false, &ring), 0);
	for (int i = 0; i < CONNECTIONS; i++) {
		struct transport_route *route = open_conversation(connect_peer());

		assert_true(transport.base.calls->can_write(route));
		write_all_it_can(route, ring);
	}
}

static void writes_never_overflow_the_completion_queue(void **state)
{
	struct rnic_qp *one = connect_peer(), *other = connect_peer();
	struct transport_route *first = open_conversation(one), *second = open_conversation(other);
	struct transport_ring *ring;

	(void)state;
	assert_int_equal(transport.base.calls->open_ring(&transport.base, 64, false, &ring), 0);
	write_all_it_can(first, ring);
	write_all_it_can(second, ring);
	assert_true(fake.sends > 0);
	assert_true(fake.sends + SEND_SLOTS + RECEIVE_SLOTS <= fake.cq_entries);
	assert_true(transport.base.lacks_room);
	complete_last_write(other);
	assert_true(transport.base.calls->can_write(second));
}

/* Polls the completion of a send that the device acknowledged just now. */
static int acknowledge(struct rnic_qp *qp, uint64_t wr_id)
{
	struct transport_datagram datagram;

	fake.completion = (struct rnic_completion){
		.wr_id = wr_id,
		.qp = qp,
		.timestamp_ns = fake.now_ns,
	};
	fake.has_completion = true;
	return transport.base.calls->receive(&transport.base, &datagram);
}

static void send_and_acknowledge(struct transport_route *route, uint64_t round_trip_ns)
{
	assert_non_null(transport_room(route));
	assert_int_equal(transport_send(route, 1, true), 0);
	fake.now_ns += round_trip_ns;
	assert_int_equal(acknowledge(fake.last_qp, fake.last_send), 0);
}

static void the_timeout_follows_the_least_round_trip(void **state)
{
	static const struct {
		uint64_t round_trip_ns;
		uint8_t timeout; /* since then; 0: the connection manager's */
		uint32_t timeouts_set;
	} sends[] = {
		{40 * MS, 0, 0}, /* four of them take longer than the connection manager's */
		{15 * MS, 14, 1}, {100 * MS, 14, 1}, /* lost, and repeated */
		{8 * MS, 13, 2},  {15 * MS, 13, 2},  {MS / 10, 13, 2},
	};
	struct transport_route *route;

	(void)state;
	fake.now_ns = MS;
	route = open_conversation(connect_peer());
	for (size_t i = 0; i < sizeof(sends) / sizeof(sends[0]); i++) {
		send_and_acknowledge(route, sends[i].round_trip_ns);
		assert_int_equal(fake.timeout, sends[i].timeout);
		assert_int_equal(fake.timeouts_set, sends[i].timeouts_set);
	}
}

/* A drained send queue is the condition of a new timeout. */
static void the_timeout_changes_when_nothing_is_under_way(void **state)
{
	struct transport_ring *ring;
	struct transport_route *route;
	struct rnic_qp *qp = connect_peer();
	uint64_t send;

	(void)state;
	fake.now_ns = MS;
	route = open_conversation(qp);
	assert_int_equal(transport.base.calls->open_ring(&transport.base, 64, false, &ring), 0);
	assert_non_null(transport_room(route));
	assert_int_equal(transport_send(route, 1, true), 0);
	send = fake.last_send;
	assert_int_equal(transport.base.calls->write(route, ring, 0, 1, 0x1000, 1), 0);
	assert_int_equal(acknowledge(qp, send), 0);
	assert_int_equal(fake.timeouts_set, 0);
	complete_last_write(qp);
	assert_int_equal(fake.timeouts_set, 1);
}

static void a_queue_pair_that_takes_no_timeout_is_lost(void **state)
{
	struct transport_datagram datagram;
	struct rnic_qp *qp = connect_peer();
	struct transport_route *route;

	(void)state;
	fake.now_ns = MS;
	fake.timeout_error = -EINVAL;
	route = open_conversation(qp);
	assert_non_null(transport_room(route));
	assert_int_equal(transport_send(route, 1, true), 0);
	assert_int_equal(acknowledge(qp, fake.last_send), 1);
	assert_int_equal(transport.base.calls->receive(&transport.base, &datagram), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_write_with_immediate_is_no_datagram_but_the_end,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_stranger_that_writes_with_immediate_is_let_go,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(silent_peers_leave_sends_for_others, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(silent_peers_leave_writes_for_others, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(writes_never_overflow_the_completion_queue, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_timeout_follows_the_least_round_trip, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_timeout_changes_when_nothing_is_under_way,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_queue_pair_that_takes_no_timeout_is_lost, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
