/* SPDX-License-Identifier: MIT */
/*
 * Lost packets that leave no gap: a tail probe makes them good in a little more than a round trip
 * (retry_timer.h), and without losses there are none.
 */
#include "tests/sim/scenario.h"

#include "lib/nic/engine/engine_limits.h"

#define CM_TIMEOUT 14 /* 67 ms, as the connection manager sets it */
#define ROUNDS	   1000

/* One of each operation, one after the other, so that the round trip is known. */
static void post_one_by_one(struct sim *sim, struct sim_qp *qp)
{
	static const struct sim_post posts[] = {
		{.bytes = 100},
		{.bytes = 5000},
		{.opcode = RNIC_WR_SEND, .bytes = 5000},
		{.opcode = RNIC_WR_RDMA_READ, .bytes = 5000},
		{.opcode = RNIC_WR_ATOMIC_FETCH_ADD},
	};

	for (size_t i = 0; i < RNIC_COUNT_OF(posts); i++) {
		if (posts[i].opcode == RNIC_WR_SEND)
			sim_receive(qp->peer, .bytes = 5000);
		sim_post_with(qp, &posts[i]);
		sim_run(sim, SIM_S);
	}
}

static void a_lost_end_of_each_kind_costs_a_silence(void **state)
{
	static const struct {
		uint32_t host; /* whose packets are lost */
		uint32_t probes;
		const char *fault;
	} cases[] = {
		{0, 1, "drop@rc-write-only/first=1"},
		{0, 1, "drop@rc-write-last/first=1"},
		{0, 1, "drop@rc-send-last/first=1"},
		{0, 1, "drop@rc-read-request/first=1"},
		{0, 1, "drop@rc-fetch-add/first=1"},
		{0, 2, "drop@rc-write-only/first=2"},
		{1, 1, "drop@rc-acknowledge/first=1"},
		{1, 1, "drop@rc-read-response-last/first=1"},
		{1, 1, "drop@rc-read-response/first=5"},
		{1, 1, "drop@rc-atomic-acknowledge/first=1"},
		{1, 2, "drop@rc-atomic-acknowledge/first=2"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = CM_TIMEOUT);
		uint64_t started_ns;

		post_one_by_one(sim, qp);
		sim_fault(sim, cases[i].host, cases[i].fault);
		started_ns = sim->net.now_ns;
		post_one_by_one(sim, qp);
		assert_int_equal(sim_counter(sim, 0, COUNTER_TAIL_PROBES), cases[i].probes);
		assert_int_equal(sim_counter(sim, 0, COUNTER_ACK_TIMEOUTS), 0);
		/* The second probe comes after three times the silence before the first. */
		assert_in_range(sim->net.now_ns - started_ns, LIMIT_TAIL_PROBE_NS,
				(2 * cases[i].probes - 1) * LIMIT_TAIL_PROBE_NS + SIM_MS);
		assert_sim_is_right(sim);
	}
}

/* The whole end of a message, more than once: the probe's last packet shows where it begins. */
static void a_lost_end_of_many_packets_costs_a_silence(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = CM_TIMEOUT);
	struct port *fault;

	(void)state;
	sim_post(qp, .bytes = 100);
	sim_run(sim, SIM_S);
	fault = sim_fault(sim, 0, "drop@rc-write-middle/first=28,drop@rc-write-last/first=1");
	sim_post(qp, .bytes = 30000);
	assert_in_range(sim_run(sim, SIM_S), LIMIT_TAIL_PROBE_NS, 2 * LIMIT_TAIL_PROBE_NS);
	assert_non_null(fault);
	assert_int_equal(sim_counter(sim, 0, COUNTER_TAIL_PROBES), 1);
	assert_int_equal(sim_counter(sim, 0, COUNTER_ACK_TIMEOUTS), 0);
	assert_sim_is_right(sim);
}

/* A peer sends one NAK for a gap. */
static void a_lost_nak_costs_a_silence(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = CM_TIMEOUT);

	(void)state;
	sim_post(qp, .bytes = 100);
	sim_run(sim, SIM_S);
	sim_fault(sim, 0, "drop@rc-write-middle/first=1");
	sim_fault(sim, 1, "drop@rc-acknowledge/first=1");
	sim_post(qp, .bytes = 100000);
	assert_in_range(sim_run(sim, SIM_S), LIMIT_TAIL_PROBE_NS, 2 * LIMIT_TAIL_PROBE_NS);
	assert_int_equal(sim_counter(sim, 1, COUNTER_SENT_SEQUENCE_NAKS), 1);
	assert_int_equal(sim_counter(sim, 0, COUNTER_ACK_TIMEOUTS), 0);
	assert_sim_is_right(sim);
}

/* A hundredth of all packets lost: how long it takes, and how often the timeout was needed. */
struct lossy_run {
	uint64_t ns;
	uint64_t timeouts;
};

static struct lossy_run run_lossy(uint64_t seed, const struct sim_post *post, uint32_t count,
				  uint32_t at_a_time)
{
	const struct sim_link lossy = {.loss_ppm = 10000, .bits_per_second = UINT64_C(10000000000)};
	struct sim *sim = sim_create(.seed = seed, .arena_bytes = 64 << 20);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = CM_TIMEOUT, .depth = at_a_time);
	struct lossy_run result;

	sim_post_with(qp, post);
	sim_run(sim, SIM_S);
	sim_all_links(sim, &lossy);
	result.ns = sim->net.now_ns;
	for (uint32_t i = 0; i < count; i++) {
		sim_post_with(qp, post);
		if ((i + 1) % at_a_time == 0)
			sim_run(sim, 100 * SIM_S);
	}
	result.ns = sim->net.now_ns - result.ns;
	result.timeouts = sim_counter(sim, 0, COUNTER_ACK_TIMEOUTS);
	assert_sim_is_right(sim);
	return result;
}

static void a_hundredth_lost_costs_few_timeouts(void **state)
{
	static const struct {
		struct sim_post post;
		uint32_t at_a_time;
		uint64_t most_ns; /* of a post, on average: without tail probes more than a timeout
				     in a hundred */
	} cases[] = {
		{{.bytes = 100}, 1, 100 * SIM_US},
		{{.bytes = 65536}, 1, 500 * SIM_US},
		{{.bytes = 65536}, 16, 400 * SIM_US},
		{{.opcode = RNIC_WR_RDMA_READ, .bytes = 65536}, 4, 500 * SIM_US},
		{{.opcode = RNIC_WR_ATOMIC_FETCH_ADD}, 1, 100 * SIM_US},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct lossy_run result = run_lossy(i, &cases[i].post, ROUNDS, cases[i].at_a_time);

		assert_true(result.timeouts <= 2);
		assert_true(result.ns / ROUNDS <= cases[i].most_ns);
	}
}

/* --- without losses -------------------------------------------------------------------------- */

/* Full windows over links that are much slower than the hosts, and waits for receives. */
static void without_losses_there_is_no_probe(void **state)
{
	static const struct sim_link links[] = {
		{0},
		{.bits_per_second = UINT64_C(10000000000)},
		{.bits_per_second = UINT64_C(1000000000)},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(links); i++) {
		struct sim *sim = sim_create(.seed = i, .arena_bytes = 64 << 20);
		struct sim_qp *qps[4];

		for (size_t q = 0; q < RNIC_COUNT_OF(qps); q++)
			qps[q] = sim_connect(sim, 0, 1, .timeout = CM_TIMEOUT, .depth = 64);
		sim_all_links(sim, &links[i]);
		for (uint32_t round = 0; round < 50; round++) {
			for (size_t q = 0; q < RNIC_COUNT_OF(qps); q++) {
				sim_post(qps[q], .bytes = 200000);
				sim_post(qps[q], .opcode = RNIC_WR_RDMA_READ, .bytes = 100000);
				sim_post(qps[q], .opcode = RNIC_WR_SEND, .bytes = 3000);
			}
			sim_run_for(sim, 3 * SIM_MS);
			for (size_t q = 0; q < RNIC_COUNT_OF(qps); q++)
				sim_receive(qps[q]->peer, .bytes = 3000);
			sim_run(sim, SIM_S);
		}
		assert_int_equal(sim_counter(sim, 0, COUNTER_TAIL_PROBES), 0);
		assert_sim_is_right(sim);
	}
}

/*
 * A peer that was quick takes 5 ms for each answer now: a few probes, each after twice the wait,
 * and then the wait is right.
 */
static void a_peer_that_becomes_slow_is_measured(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = CM_TIMEOUT);

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		sim_post(qp, .bytes = 100);
		sim_run(sim, SIM_S);
	}
	assert_int_equal(sim_counter(sim, 0, COUNTER_TAIL_PROBES), 0);
	sim_link(sim, 1, 0)->delay_ns = 5 * SIM_MS;
	for (uint32_t i = 0; i < 100; i++) {
		sim_post(qp, .bytes = 100);
		sim_run(sim, SIM_S);
	}
	assert_in_range(sim_counter(sim, 0, COUNTER_TAIL_PROBES), 1, 5);
	assert_int_equal(sim_counter(sim, 0, COUNTER_ACK_TIMEOUTS), 0);
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lost_end_of_each_kind_costs_a_silence),
		cmocka_unit_test(a_lost_end_of_many_packets_costs_a_silence),
		cmocka_unit_test(a_lost_nak_costs_a_silence),
		cmocka_unit_test(a_hundredth_lost_costs_few_timeouts),
		cmocka_unit_test(without_losses_there_is_no_probe),
		cmocka_unit_test(a_peer_that_becomes_slow_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
