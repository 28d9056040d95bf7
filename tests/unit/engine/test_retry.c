/* SPDX-License-Identifier: MIT */
#include "engine_fixture.h"

#include "engine/ready_list.h"
#include "wire/syndrome.h"
#include "wire/timeout.h"
#include "unit_test.h"

#define ACK_SYNDROME  rnic_syndrome_make(RNIC_SYNDROME_ACK, RNIC_CREDITS_NOT_CARRIED)
#define SEQUENCE_NAK  rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_PSN_SEQUENCE_ERROR)
#define RNR_NAK(code) rnic_syndrome_make(RNIC_SYNDROME_RNR_NAK, (code))

static struct engine_fixture *create(uint8_t timeout, uint8_t retry_count, uint8_t rnr_retry)
{
	struct fixture_options options = fixture_defaults;

	options.timeout = timeout;
	options.retry_count = retry_count;
	options.rnr_retry = rnr_retry;
	return fixture_create(&options);
}

/* Runs the clock to the next deadline and returns how far that was. */
static uint64_t run_to_deadline(struct engine_fixture *fixture)
{
	uint64_t ns = engine_next_deadline_ns(&fixture->engine) - fixture->now_ns;

	fixture_tick(fixture, ns);
	return ns;
}

static void test_timeouts_double_and_exhaust(void **state)
{
	static const uint32_t factors[] = {1, 2, 4, 4, 4};
	struct engine_fixture *fixture = create(14, 4, 7);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 2000);
	fixture_post_simple(fixture, RNIC_WR_SEND, 2, 8);
	for (size_t i = 0; i < RNIC_COUNT_OF(factors); i++) {
		assert_int_equal(fixture_transmit_all(fixture), 3);
		assert_int_equal(run_to_deadline(fixture), rnic_ack_timeout_ns(14) * factors[i]);
	}
	assert_int_equal(fixture_transmit_all(fixture), 0);
	assert_int_equal(fixture->completion_count, 2);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_RETRY_EXC_ERR);
	assert_int_equal(fixture->completions[1].status, RNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);
	assert_int_equal(fixture->engine.counters[COUNTER_ACK_TIMEOUTS], 5);
	fixture_destroy(fixture);
}

static void test_progress_gives_retries_back(void **state)
{
	struct engine_fixture *fixture = create(14, 1, 7);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 10 * 1024);
	for (uint32_t i = 0; i < 9; i++) {
		fixture_transmit_all(fixture);
		run_to_deadline(fixture);
		fixture_transmit_all(fixture);
		fixture_receive_acknowledge(fixture, 100 + i, ACK_SYNDROME);
	}
	fixture_receive_acknowledge(fixture, 109, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_SUCCESS);
	assert_true(engine_next_deadline_ns(&fixture->engine) == UINT64_MAX);
	fixture_destroy(fixture);
}

static void test_short_timeouts_are_stretched(void **state)
{
	struct engine_fixture *fixture = create(1, 7, 7);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	assert_int_equal(run_to_deadline(fixture), rnic_ack_timeout_ns(LIMIT_LOCAL_ACK_DELAY));
	fixture_destroy(fixture);
}

/* Without a timeout nothing is sent again, but the window is not held for ever. */
static void test_no_timeout(void **state)
{
	struct engine_fixture *fixture = create(0, 7, 7);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	assert_true(fixture->qp->peer_window->in_flight_bytes > 0);
	run_to_deadline(fixture);
	assert_int_equal(fixture->qp->peer_window->in_flight_bytes, 0);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	assert_true(engine_next_deadline_ns(&fixture->engine) == UINT64_MAX);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 1);
	fixture_destroy(fixture);
}

/* Little goes to a peer that may be gone, until it answers; with a timeout or without one. */
static void test_silent_peer_gets_little(void **state)
{
	static const uint8_t timeouts[] = {0, 14, 20};

	(void)state;
	for (uint32_t i = 0; i < RNIC_COUNT_OF(timeouts); i++) {
		struct engine_fixture *fixture = create(timeouts[i], 7, 7);
		const struct requester *requester = &fixture->qp->requester;

		for (uint64_t wr_id = 1; wr_id <= 2; wr_id++)
			fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, wr_id, 1 << 19);
		fixture_transmit_all(fixture);
		run_to_deadline(fixture);
		assert_int_equal(requester->in_flight_bytes, 0);
		ready_list_add(fixture->qp);
		assert_in_range(fixture_transmit_all(fixture), 1, 3);
		assert_true(fixture->sent.packet.ack_request);
		assert_int_equal(requester->in_flight_bytes, 0);
		fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
		fixture_transmit_all(fixture);
		assert_true(requester->in_flight_bytes > LIMIT_SILENT_PEER_BYTES);
		fixture_destroy(fixture);
	}
}

/* QPs to one host, of which nothing but the fixture's own has a peer there. */
#define DEAD_QPS 40

struct crowd {
	struct engine_fixture *fixture;
	struct qp *dead[DEAD_QPS];
};

static void post_to(struct engine_fixture *fixture, struct qp *qp, enum rnic_wr_opcode opcode)
{
	struct qp *own = fixture->qp;

	fixture->qp = qp;
	for (uint64_t wr_id = 0; wr_id < 4; wr_id++)
		fixture_post_simple(fixture, opcode, wr_id, 1 << 19);
	fixture->qp = own;
}

static struct crowd crowd_create(uint8_t timeout, enum rnic_wr_opcode opcode)
{
	struct fixture_options options = fixture_defaults;
	struct crowd crowd = {.fixture = create(timeout, 7, 7)};

	options.timeout = timeout;
	for (uint32_t i = 0; i < DEAD_QPS; i++) {
		crowd.dead[i] = fixture_create_qp(crowd.fixture, &options);
		post_to(crowd.fixture, crowd.dead[i], opcode);
	}
	return crowd;
}

static void crowd_destroy(struct crowd *crowd)
{
	for (uint32_t i = 0; i < DEAD_QPS; i++)
		qp_destroy(crowd->dead[i]);
	fixture_destroy(crowd->fixture);
}

/* Takes all packets out; only the fixture's own QP gets answers. Returns how many it got. */
static uint32_t crowd_exchange(struct crowd *crowd)
{
	struct engine_fixture *fixture = crowd->fixture;
	uint32_t answers = 0;

	while (fixture_transmit(fixture)) {
		if (fixture->sent.qp != fixture->qp || !fixture->sent.packet.ack_request)
			continue;
		fixture_receive_acknowledge(fixture, fixture->sent.packet.psn.value, ACK_SYNDROME);
		answers++;
	}
	return answers;
}

/* However many QPs have lost their peer, the others wait for a timeout or two. */
static void test_dead_peers_hold_up_nobody(void **state)
{
	static const struct {
		uint8_t timeout;
		enum rnic_wr_opcode opcode;
		uint64_t patience_ns;
	} cases[] = {
		{14, RNIC_WR_RDMA_WRITE, UINT64_C(140000000)},
		{14, RNIC_WR_RDMA_READ, UINT64_C(140000000)},
		{18, RNIC_WR_RDMA_WRITE, UINT64_C(210000000)},
		{0, RNIC_WR_RDMA_READ, UINT64_C(210000000)},
	};

	(void)state;
	for (uint32_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct crowd crowd = crowd_create(cases[i].timeout, cases[i].opcode);
		struct engine_fixture *fixture = crowd.fixture;
		uint64_t end_ns = fixture->now_ns + cases[i].patience_ns;

		/* They are there first. */
		fixture_transmit_all(fixture);
		post_to(fixture, fixture->qp, RNIC_WR_RDMA_WRITE);
		crowd_exchange(&crowd);
		while (fixture->completion_count < 4 &&
		       engine_next_deadline_ns(&fixture->engine) < end_ns) {
			run_to_deadline(fixture);
			crowd_exchange(&crowd);
		}
		assert_int_equal(fixture->completion_count, 4);
		assert_int_equal(fixture->completions[3].status, RNIC_WC_SUCCESS);
		crowd_destroy(&crowd);
	}
}

/*
 * QPs without a peer do not wait for each other: all fail when one alone would, or the WINDOW timer
 * later.
 */
static void test_dead_peers_are_found_at_once(void **state)
{
	struct crowd crowd = crowd_create(14, RNIC_WR_RDMA_WRITE);
	struct engine_fixture *fixture = crowd.fixture;
	uint64_t alone_ns = rnic_ack_timeout_ns(14) * (1 + 2 + 4 + 5 * 8);
	uint64_t end_ns = fixture->now_ns + alone_ns + 2 * rnic_ack_timeout_ns(14);

	(void)state;
	crowd_exchange(&crowd);
	while (engine_next_deadline_ns(&fixture->engine) <= end_ns) {
		run_to_deadline(fixture);
		crowd_exchange(&crowd);
	}
	for (uint32_t i = 0; i < DEAD_QPS; i++)
		assert_int_equal(crowd.dead[i]->state, RNIC_QP_STATE_ERR);
	crowd_destroy(&crowd);
}

/* A QP that waits for its peer window with nothing outstanding probes its peer and keeps its place.
 */
static void test_waiting_in_line(void **state)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture = create(14, 7, 7);
	struct peer_window *path = fixture->qp->peer_window;
	uint32_t in_flight_bytes;
	struct qp *first;

	(void)state;
	options.timeout = 0;
	first = fixture_create_qp(fixture, &options);
	post_to(fixture, first, RNIC_WR_RDMA_WRITE);
	fixture_transmit_all(fixture);
	in_flight_bytes = path->in_flight_bytes;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 5000);
	assert_int_equal(fixture_transmit_all(fixture), 0);

	assert_int_equal(run_to_deadline(fixture), rnic_ack_timeout_ns(14));
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_ptr_equal(fixture->sent.qp, fixture->qp);
	assert_true(fixture->sent.packet.ack_request);
	assert_int_equal(path->in_flight_bytes, in_flight_bytes);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	assert_true(list_is_linked(&fixture->qp->path_node));

	/* The first one's share is given back. */
	run_to_deadline(fixture);
	assert_int_equal(path->in_flight_bytes, 0);
	assert_true(fixture_transmit_all(fixture) >= 4);
	fixture_receive_acknowledge(fixture, 104, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 1);
	assert_true(engine_next_deadline_ns(&fixture->engine) == UINT64_MAX);
	qp_destroy(first);
	fixture_destroy(fixture);
}

static void test_rnr_waits_and_exhausts(void **state)
{
	struct engine_fixture *fixture = create(14, 7, 2);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(fixture_transmit_all(fixture), 1);
		fixture_receive_acknowledge(fixture, 100, RNR_NAK(12));
		fixture_receive_acknowledge(fixture, 100, RNR_NAK(12)); /* a copy costs nothing */
		assert_int_equal(fixture_transmit_all(fixture), 0);
		assert_int_equal(run_to_deadline(fixture), rnic_rnr_timer_ns(12));
	}
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_receive_acknowledge(fixture, 100, RNR_NAK(12));
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_RNR_RETRY_EXC_ERR);
	fixture_destroy(fixture);
}

static void test_rnr_without_end(void **state)
{
	struct engine_fixture *fixture = create(14, 7, 7);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(fixture_transmit_all(fixture), 1);
		fixture_receive_acknowledge(fixture, 100, RNR_NAK(1));
		run_to_deadline(fixture);
	}
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_SUCCESS);
	fixture_destroy(fixture);
}

/* An RNR NAK acknowledges the packets before it, and only the rest goes out again. */
static void test_rnr_in_the_middle(void **state)
{
	struct engine_fixture *fixture = create(14, 7, 7);

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
	assert_int_equal(fixture_transmit_all(fixture), 4);
	fixture_receive_acknowledge(fixture, 102, RNR_NAK(5));
	assert_int_equal(fixture->completion_count, 2);
	run_to_deadline(fixture);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.psn.value, 102);
	/* The rest follows when it is known that there is a receive. */
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_receive_acknowledge(fixture, 102, ACK_SYNDROME);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_destroy(fixture);
}

static void test_sequence_nak_goes_back_once(void **state)
{
	struct engine_fixture *fixture = create(14, 1, 7);
	uint32_t window = fixture->qp->peer_window->window_bytes;

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
	assert_int_equal(fixture_transmit_all(fixture), 4);
	fixture_receive_acknowledge(fixture, 101, SEQUENCE_NAK);
	fixture_receive_acknowledge(fixture, 101, SEQUENCE_NAK); /* a copy */
	assert_int_equal(fixture->qp->peer_window->window_bytes, window / 2);
	assert_int_equal(fixture->completion_count, 1);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.psn.value, 101);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	assert_int_equal(fixture->engine.counters[COUNTER_RETRANSMITTED_PACKETS], 3);
	/* Again for the next gap: progress was made. */
	fixture_receive_acknowledge(fixture, 102, SEQUENCE_NAK);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_RTS);
	fixture_destroy(fixture);
}

static void test_no_retries_at_all(void **state)
{
	struct engine_fixture *fixture = create(14, 0, 0);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	fixture_receive_acknowledge(fixture, 100, SEQUENCE_NAK);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_RETRY_EXC_ERR);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timeouts_double_and_exhaust),
		cmocka_unit_test(test_progress_gives_retries_back),
		cmocka_unit_test(test_short_timeouts_are_stretched),
		cmocka_unit_test(test_no_timeout),
		cmocka_unit_test(test_silent_peer_gets_little),
		cmocka_unit_test(test_dead_peers_hold_up_nobody),
		cmocka_unit_test(test_dead_peers_are_found_at_once),
		cmocka_unit_test(test_waiting_in_line),
		cmocka_unit_test(test_rnr_waits_and_exhausts),
		cmocka_unit_test(test_rnr_without_end),
		cmocka_unit_test(test_rnr_in_the_middle),
		cmocka_unit_test(test_sequence_nak_goes_back_once),
		cmocka_unit_test(test_no_retries_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
