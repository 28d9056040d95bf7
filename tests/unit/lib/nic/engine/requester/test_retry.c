/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/engine/engine_fixture.h"

#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/round_trip.h"
#include "proto/wire/syndrome.h"
#include "proto/wire/timeout.h"
#include "tests/unit/unit_test.h"

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
	uint32_t window = fixture->qp->peer_window->queue_bytes;

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
	assert_int_equal(fixture_transmit_all(fixture), 4);
	fixture_receive_acknowledge(fixture, 101, SEQUENCE_NAK);
	fixture_receive_acknowledge(fixture, 101, SEQUENCE_NAK); /* a copy */
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->sent.packet.psn.value, 101);
	assert_int_equal(fixture->qp->peer_window->queue_bytes, window);
	/* The peer drops what comes behind a gap. */
	fixture_receive_acknowledge(fixture, 101, ACK_SYNDROME);
	fixture_receive_acknowledge(fixture, 102, SEQUENCE_NAK);
	assert_int_equal(fixture->qp->peer_window->queue_bytes, window / 2);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.psn.value, 102);
	assert_int_equal(fixture_transmit_all(fixture), 1);
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

/* --- tail probes ------------------------------------------------------------------------------ */

/* A fixture that has measured a round trip of 20 us, so that a probe waits for the least time. */
static struct engine_fixture *create_measured(uint8_t timeout)
{
	struct engine_fixture *fixture = create(timeout, 7, 7);

	fixture_post_simple(fixture, RNIC_WR_SEND, 0, 8);
	fixture_transmit_all(fixture);
	fixture_tick(fixture, 20000);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 1);
	return fixture;
}

/* The position and what is under way stay as they are, and so do all retries. */
static void test_tail_probe_changes_nothing(void **state)
{
	struct engine_fixture *fixture = create_measured(14);
	struct qp *qp = fixture->qp;
	uint32_t in_flight_bytes;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, i, 3000);
	assert_int_equal(fixture_transmit_all(fixture), 9);
	in_flight_bytes = qp->peer_window->in_flight_bytes;
	assert_int_equal(run_to_deadline(fixture), LIMIT_TAIL_PROBE_NS);

	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.psn.value, 101);
	assert_true(fixture->sent.packet.ack_request);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.psn.value, 109);
	assert_true(fixture->sent.packet.ack_request);
	assert_false(fixture_transmit(fixture));

	assert_int_equal(qp->requester.psn.value, 110);
	assert_int_equal(qp->requester.unacknowledged.value, 101);
	assert_int_equal(qp->peer_window->in_flight_bytes, in_flight_bytes);
	assert_int_equal(qp->retry.retries_left, 7);
	assert_int_equal(qp->peer_window->queue_bytes, LIMIT_PATH_WINDOW_BYTES);
	assert_int_equal(fixture->engine.counters[COUNTER_TAIL_PROBES], 1);
	assert_int_equal(fixture->engine.counters[COUNTER_RETRANSMITTED_PACKETS], 2);
	fixture_receive_acknowledge(fixture, 109, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 4);
	assert_true(engine_next_deadline_ns(&fixture->engine) == UINT64_MAX);
	fixture_destroy(fixture);
}

/* Two probes at most, and then the ACK timeout at its time. */
static void test_tail_probes_end(void **state)
{
	struct engine_fixture *fixture = create_measured(14);
	uint64_t ns = 0;

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	for (uint32_t i = 0; i < LIMIT_TAIL_PROBES; i++) {
		ns += run_to_deadline(fixture);
		assert_int_equal(fixture_transmit_all(fixture), 1);
	}
	assert_int_equal(ns, 3 * LIMIT_TAIL_PROBE_NS);
	ns += run_to_deadline(fixture);
	assert_int_equal(ns, rnic_ack_timeout_ns(14));
	assert_int_equal(fixture->qp->retry.retries_left, 6);
	/* Nor are there any while the peer is silent. */
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(run_to_deadline(fixture), 2 * rnic_ack_timeout_ns(14));
	assert_int_equal(fixture->engine.counters[COUNTER_TAIL_PROBES], LIMIT_TAIL_PROBES);
	fixture_destroy(fixture);
}

/* Also with a timeout beyond the share of the window, and without one, the share goes in time. */
static void test_tail_probes_leave_the_share_alone(void **state)
{
	static const uint8_t timeouts[] = {0, 20};

	(void)state;
	for (uint32_t i = 0; i < RNIC_COUNT_OF(timeouts); i++) {
		struct engine_fixture *fixture = create_measured(timeouts[i]);
		uint64_t ns = 0;

		fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
		fixture_transmit_all(fixture);
		while (fixture->qp->peer_window->in_flight_bytes > 0) {
			ns += run_to_deadline(fixture);
			fixture_transmit_all(fixture);
		}
		assert_int_equal(ns, LIMIT_SHARE_NS);
		assert_int_equal(fixture->engine.counters[COUNTER_TAIL_PROBES], LIMIT_TAIL_PROBES);
		fixture_destroy(fixture);
	}
}

/* A probe that has not left when the share goes does not go to the peer, which is silent now. */
static void test_no_tail_probe_to_a_silent_peer(void **state)
{
	struct engine_fixture *fixture = create_measured(20);
	uint64_t ns;

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	ns = run_to_deadline(fixture);
	assert_int_equal(fixture->qp->retry.tail_probes, 1);
	ns += run_to_deadline(fixture);
	assert_int_equal(ns, LIMIT_SHARE_NS);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	assert_int_equal(fixture->engine.counters[COUNTER_TAIL_PROBES], 0);
	fixture_destroy(fixture);
}

/* A probe that would not come before the ACK timeout does not come. */
static void test_no_tail_probe_behind_the_timeout(void **state)
{
	struct engine_fixture *fixture = create(10, 7, 7);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 0, 8);
	fixture_transmit_all(fixture);
	fixture_tick(fixture, 2000000);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	assert_int_equal(run_to_deadline(fixture), rnic_ack_timeout_ns(10));
	assert_int_equal(fixture->engine.counters[COUNTER_TAIL_PROBES], 0);
	fixture_destroy(fixture);
}

static void time_out_and_answer(struct engine_fixture *fixture, uint64_t id, uint64_t timeout_ns)
{
	fixture_post_simple(fixture, RNIC_WR_SEND, id, 8);
	fixture_transmit_all(fixture);
	assert_int_equal(run_to_deadline(fixture), timeout_ns);
	fixture_transmit_all(fixture);
	fixture_receive_acknowledge(fixture, 100 + (uint32_t)id, ACK_SYNDROME);
}

/* Round trips are longer than the timeout: timeouts grow until a round trip is measured. */
static void test_timeouts_grow_until_a_round_trip_is_measured(void **state)
{
	const uint64_t timeout_ns = rnic_ack_timeout_ns(12);
	struct engine_fixture *fixture = create(12, 7, 7);

	(void)state;
	time_out_and_answer(fixture, 0, timeout_ns);
	time_out_and_answer(fixture, 1, timeout_ns);
	time_out_and_answer(fixture, 2, 2 * timeout_ns);
	time_out_and_answer(fixture, 3, 4 * timeout_ns);
	fixture_post_simple(fixture, RNIC_WR_SEND, 4, 8);
	fixture_transmit_all(fixture);
	fixture_tick(fixture, 1000);
	fixture_receive_acknowledge(fixture, 104, ACK_SYNDROME);
	assert_int_equal(fixture->qp->round_trip.timeouts, 0);
	fixture_destroy(fixture);
}

/* A round trip that takes most of the timeout lets the timeout last up to four times as long. */
static void test_the_timeout_lasts_as_long_as_an_answer(void **state)
{
	const uint64_t timeout_ns = rnic_ack_timeout_ns(12);
	struct engine_fixture *fixture = create(12, 7, 7);
	uint64_t ns = 0;

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 0, 8);
	fixture_transmit_all(fixture);
	fixture_tick(fixture, timeout_ns - 1);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	while (fixture->engine.counters[COUNTER_ACK_TIMEOUTS] == 0)
		ns += run_to_deadline(fixture);
	assert_true(ns > 3 * timeout_ns && ns <= 4 * timeout_ns);
	fixture_destroy(fixture);
}

/*
 * The silence begins with the oldest packet that asks, and anew with each acknowledgement. Packets
 * that go on do not end the silence, as a peer that has sent its NAK says nothing of them.
 */
static void test_silence_begins_with_asking(void **state)
{
	struct engine_fixture *fixture = create_measured(14);
	uint64_t wait_ns;

	(void)state;
	for (uint64_t i = 1; i <= 4; i++) {
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
		assert_int_equal(fixture_transmit_all(fixture), 1);
		fixture_tick(fixture, LIMIT_TAIL_PROBE_NS / 4 - 1);
		assert_int_equal(fixture_transmit_all(fixture), 0);
	}
	fixture_receive_acknowledge(fixture, 102, ACK_SYNDROME);
	wait_ns = round_trip_wait_ns(&fixture->qp->round_trip);
	assert_int_equal(run_to_deadline(fixture), wait_ns);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	assert_int_equal(fixture->engine.counters[COUNTER_TAIL_PROBES], 1);
	fixture_destroy(fixture);
}

/* A long message that leaves slowly has not asked yet. */
static void test_no_silence_before_asking(void **state)
{
	struct engine_fixture *fixture = create_measured(14);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 1, 3000);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(fixture_transmit(fixture));
		assert_true(fixture->sent.packet.psn.value == 101 + i);
		fixture_tick(fixture, 3 * LIMIT_TAIL_PROBE_NS / 2);
	}
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.psn.value, 101);
	assert_int_equal(fixture->engine.counters[COUNTER_TAIL_PROBES], 1);
	fixture_destroy(fixture);
}

/* Unless the responses of a READ go on, a probe goes on when its answer falls short. */
static void test_tail_probe_goes_on_once(void **state)
{
	struct engine_fixture *fixture = create_measured(14);

	(void)state;
	for (uint64_t i = 1; i <= 6; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
	assert_int_equal(fixture_transmit_all(fixture), 6);
	run_to_deadline(fixture);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	fixture_receive_acknowledge(fixture, 102, ACK_SYNDROME);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.psn.value, 103);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.psn.value, 106);
	fixture_receive_acknowledge(fixture, 103, ACK_SYNDROME);
	assert_int_equal(fixture_transmit_all(fixture), 0);

	run_to_deadline(fixture);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	fixture_receive_acknowledge(fixture, 105, ACK_SYNDROME);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_destroy(fixture);
}

/* What arrives before a probe that is due has left makes the probe useless. */
static void test_tail_probe_is_called_off(void **state)
{
	struct engine_fixture *fixture = create_measured(14);

	(void)state;
	for (uint64_t i = 1; i <= 2; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
	fixture_transmit_all(fixture);
	run_to_deadline(fixture);
	fixture_receive_acknowledge(fixture, 101, ACK_SYNDROME);
	assert_int_equal(fixture_transmit_all(fixture), 0);

	run_to_deadline(fixture);
	fixture_receive_acknowledge(fixture, 102, SEQUENCE_NAK);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->engine.counters[COUNTER_TAIL_PROBES], 0);
	assert_int_equal(fixture->engine.counters[COUNTER_RETRANSMITTED_PACKETS], 1);
	fixture_destroy(fixture);
}

/* The last packet of a WQE that is only begun, as the window is full. */
static void test_tail_probe_within_a_message(void **state)
{
	struct engine_fixture *fixture = create_measured(14);
	uint32_t sent;

	(void)state;
	fixture->qp->peer_window->queue_bytes = LIMIT_PATH_WINDOW_BYTES_LEAST;
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 1, 1 << 19);
	sent = fixture_transmit_all(fixture);
	assert_in_range(sent, 2, 100);
	run_to_deadline(fixture);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.row->position, RNIC_POSITION_FIRST);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.row->position, RNIC_POSITION_MIDDLE);
	assert_int_equal(fixture->sent.packet.psn.value, 100 + sent);
	assert_memory_equal(fixture->payload,
			    fixture->memory.bytes + (sent - 1) * fixture->qp->path_mtu_bytes,
			    fixture->qp->path_mtu_bytes);
	assert_false(fixture_transmit(fixture));
	fixture_destroy(fixture);
}

/* The memory of a probe went: nothing fails before its time. */
static void test_tail_probe_without_memory(void **state)
{
	struct engine_fixture *fixture = create_measured(14);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	mr_deregister(&fixture->engine, &fixture->mr);
	run_to_deadline(fixture);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	assert_int_equal(fixture->engine.counters[COUNTER_TAIL_PROBES], 0);
	fixture_receive_acknowledge(fixture, 101, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 2);
	assert_int_equal(fixture->completions[1].status, RNIC_WC_SUCCESS);
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
		cmocka_unit_test(test_tail_probe_changes_nothing),
		cmocka_unit_test(test_tail_probes_end),
		cmocka_unit_test(test_tail_probes_leave_the_share_alone),
		cmocka_unit_test(test_no_tail_probe_to_a_silent_peer),
		cmocka_unit_test(test_no_tail_probe_behind_the_timeout),
		cmocka_unit_test(test_timeouts_grow_until_a_round_trip_is_measured),
		cmocka_unit_test(test_the_timeout_lasts_as_long_as_an_answer),
		cmocka_unit_test(test_silence_begins_with_asking),
		cmocka_unit_test(test_no_silence_before_asking),
		cmocka_unit_test(test_tail_probe_goes_on_once),
		cmocka_unit_test(test_tail_probe_is_called_off),
		cmocka_unit_test(test_tail_probe_within_a_message),
		cmocka_unit_test(test_tail_probe_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
