/* SPDX-License-Identifier: MIT */
/* Faults of networks that programs do not notice. */
#include "tests/sim/scenario.h"

#include "lib/nic/port/conditions/fault.h"
#include "proto/wire/timeout.h"

static void lost_packets_of_each_kind_are_made_good(void **state)
{
	static const struct {
		uint32_t host; /* whose packets are lost */
		uint32_t lost;
		const char *fault;
	} cases[] = {
		{0, 1, "drop@rc-write-only/first=1"},
		{0, 1, "drop@rc-write-first/first=1"},
		{0, 1, "drop@rc-write-middle/first=1"},
		{0, 1, "drop@rc-write-last/first=1"},
		{0, 1, "drop@rc-send-first/first=1"},
		{0, 1, "drop@rc-send-middle/first=1"},
		{0, 1, "drop@rc-send-last/first=1"},
		{0, 1, "drop@rc-read-request/first=1"},
		{0, 1, "drop@rc-fetch-add/first=1"},
		{0, 8, "drop/first=8"},
		{1, 1, "drop@rc-acknowledge/first=1"},
		{1, 1, "drop@rc-read-response-first/first=1"},
		{1, 1, "drop@rc-read-response-middle/first=1"},
		{1, 1, "drop@rc-read-response-last/first=1"},
		{1, 2, "drop@rc-read-response/first=2"},
		{1, 1, "drop@rc-atomic-acknowledge/first=1"},
		{1, 8, "drop/first=8"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1);
		struct port *fault = sim_fault(sim, cases[i].host, cases[i].fault);

		sim_may_lose_all(sim);
		for (uint32_t round = 0; round < 2; round++) {
			sim_receive(qp->peer, .bytes = 5000);
			sim_post(qp, .bytes = 100);
			sim_post(qp, .bytes = 5000);
			sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 5000);
			sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 5000);
			sim_post(qp, .opcode = RNIC_WR_ATOMIC_FETCH_ADD);
		}
		sim_run(sim, SIM_S);
		assert_int_equal(qp->qp->state, RNIC_QP_STATE_RTS);
		assert_int_equal(fault_plan_of(fault)->rules[0].hits, cases[i].lost);
		assert_sim_is_right(sim);
	}
}

static void a_lost_last_packet_costs_one_timeout(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = 12);
	uint64_t timeout_ns = rnic_ack_timeout_ns(12);

	(void)state;
	sim_fault(sim, 0, "drop@rc-write-last/first=1");
	sim_post(qp, .bytes = 5000);
	assert_in_range(sim_run(sim, SIM_S), timeout_ns, timeout_ns + SIM_MS);
	assert_int_equal(sim_counter(sim, 0, COUNTER_ACK_TIMEOUTS), 1);
	assert_sim_is_right(sim);
}

static void a_gap_is_told_once_and_closed_without_timeout(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_fault(sim, 0, "drop@rc-write-middle/first=1");
	sim_post(qp, .bytes = 30000);
	sim_run(sim, SIM_MS);
	assert_int_equal(sim_counter(sim, 1, COUNTER_SENT_SEQUENCE_NAKS), 1);
	assert_int_equal(sim_counter(sim, 0, COUNTER_ACK_TIMEOUTS), 0);
	assert_sim_is_right(sim);
}

static void each_new_gap_is_told(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_fault(sim, 0, "drop@rc-write-first/every=2");
	for (uint32_t i = 0; i < 10; i++) {
		sim_post(qp, .bytes = 30000);
		sim_run(sim, SIM_MS);
	}
	assert_in_range(sim_counter(sim, 1, COUNTER_SENT_SEQUENCE_NAKS), 9, 10);
	assert_int_equal(sim_counter(sim, 0, COUNTER_ACK_TIMEOUTS), 0);
	assert_sim_is_right(sim);
}

static void duplicated_atomics_happen_once(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_fault(sim, 0, "duplicate@rc-fetch-add,duplicate@rc-compare-swap");
	for (uint32_t i = 0; i < 20; i++)
		sim_post(qp, .opcode = i % 3 != 0 ? RNIC_WR_ATOMIC_FETCH_ADD
						  : RNIC_WR_ATOMIC_COMPARE_SWAP);
	sim_run(sim, 10 * SIM_MS);
	assert_int_equal(sim_counter(sim, 1, COUNTER_ATOMIC_REQUESTS), 20);
	assert_int_equal(sim_counter(sim, 1, COUNTER_DUPLICATE_REQUESTS), 20);
	assert_sim_is_right(sim);
}

static void atomics_whose_answers_are_lost_happen_once(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_fault(sim, 1, "drop@rc-atomic-acknowledge/every=2");
	sim_may_lose_all(sim);
	for (uint32_t i = 0; i < 20; i++)
		sim_post(qp, .opcode = RNIC_WR_ATOMIC_FETCH_ADD);
	sim_run(sim, 10 * SIM_S);
	assert_int_equal(sim_counter(sim, 1, COUNTER_ATOMIC_REQUESTS), 20);
	assert_sim_is_right(sim);
}

static void corrupted_packets_are_noticed_by_the_icrc(void **state)
{
	struct sim *sim = sim_create(.seed = 3);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_fault(sim, 0, "corrupt=10%");
	sim_fault(sim, 1, "corrupt=10%");
	sim_may_lose_all(sim);
	for (uint32_t i = 0; i < 30; i++)
		sim_post(qp, .bytes = 3000);
	sim_run(sim, 10 * SIM_S);
	assert_true(sim->hosts[0].log.bad_icrc + sim->hosts[1].log.bad_icrc > 0);
	assert_int_equal(qp->qp->state, RNIC_QP_STATE_RTS);
	assert_sim_is_right(sim);
}

static void packets_that_overtake_each_other_are_put_in_order(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);
	const struct sim_link crooked = {.jitter_ns = 3 * SIM_US, .duplicate_ppm = 100000};

	(void)state;
	sim_all_links(sim, &crooked);
	sim_may_lose_all(sim);
	for (uint32_t i = 0; i < 10; i++) {
		sim_receive(qp->peer, .bytes = 9000);
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 9000);
		sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 9000);
	}
	sim_run(sim, 10 * SIM_S);
	assert_sim_is_right(sim);
}

static void a_tenth_lost_either_way_is_survived(void **state)
{
	const struct sim_link lossy = {.loss_ppm = 100000};

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct sim *sim = sim_create(.seed = seed);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = 8);

		sim_all_links(sim, &lossy);
		sim_may_lose_all(sim);
		for (uint32_t i = 0; i < 40; i++)
			sim_post(qp, .opcode = i % 2 != 0 ? RNIC_WR_RDMA_READ : RNIC_WR_RDMA_WRITE,
				 .bytes = 2000);
		sim_run(sim, 10 * SIM_S);
		assert_int_equal(qp->qp->state, RNIC_QP_STATE_RTS);
		assert_sim_is_right(sim);
	}
}

/* Timeouts of code 11 (8.4 ms), doubled for each one in a row up to four times, 3 retries. */
static void retries_run_out_when_the_timer_table_says(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = 11, .retry_count = 3);
	uint64_t unit_ns = rnic_ack_timeout_ns(11);
	uint32_t last;

	(void)state;
	sim_fault(sim, 0, "drop");
	sim_may_fail(qp, RNIC_WC_RETRY_EXC_ERR);
	sim_post(qp, .bytes = 100);
	last = sim_post(qp, .bytes = 100);
	assert_in_range(sim_run(sim, SIM_S), (1 + 2 + 4 + 4) * unit_ns,
			(1 + 2 + 4 + 4) * unit_ns + SIM_MS);
	assert_status(qp, 0, RNIC_WC_RETRY_EXC_ERR);
	assert_status(qp, last, RNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(qp->qp->state, RNIC_QP_STATE_ERR);
	assert_int_equal(sim_counter(sim, 0, COUNTER_RETRY_EXCEEDED), 1);
	assert_sim_is_right(sim);
}

static void both_ends_give_up_when_the_network_is_gone(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = 8, .retry_count = 2);
	const struct sim_link cut = {.loss_ppm = 1000000};

	(void)state;
	sim_all_links(sim, &cut);
	sim_may_lose_all(sim);
	sim_post(qp, .bytes = 100);
	sim_post(qp->peer, .opcode = RNIC_WR_RDMA_READ, .bytes = 100);
	sim_run(sim, SIM_S);
	assert_int_equal(qp->qp->state, RNIC_QP_STATE_ERR);
	assert_int_equal(qp->peer->qp->state, RNIC_QP_STATE_ERR);
	assert_status(qp, 0, RNIC_WC_RETRY_EXC_ERR);
	assert_status(qp->peer, 0, RNIC_WC_RETRY_EXC_ERR);
	assert_sim_is_right(sim);
}

/* Tail probes would come after the timeout, two round trips being longer. */
static void progress_gives_all_retries_back(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .delay_ns = 1500 * SIM_US);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = 8, .retry_count = 1);

	(void)state;
	sim_fault(sim, 0, "drop@rc-write-only/every=2");
	for (uint32_t i = 0; i < 10; i++) {
		sim_post(qp, .bytes = 100);
		sim_run(sim, SIM_S);
	}
	assert_true(sim_counter(sim, 0, COUNTER_ACK_TIMEOUTS) >= 9);
	assert_sim_is_right(sim);
}

static void packets_too_long_for_the_link_end_in_an_error(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .path_mtu = 5, .timeout = 8);
	const struct sim_link narrow = {.mtu_bytes = 1500};

	(void)state;
	sim_all_links(sim, &narrow);
	sim_may_fail(qp, RNIC_WC_RETRY_EXC_ERR);
	sim_post(qp, .bytes = 100);
	sim_run(sim, SIM_S);
	sim_post(qp, .bytes = 4096);
	sim_run(sim, SIM_S);
	assert_status(qp, 0, RNIC_WC_SUCCESS);
	assert_status(qp, 1, RNIC_WC_RETRY_EXC_ERR);
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_packets_of_each_kind_are_made_good),
		cmocka_unit_test(a_lost_last_packet_costs_one_timeout),
		cmocka_unit_test(a_gap_is_told_once_and_closed_without_timeout),
		cmocka_unit_test(each_new_gap_is_told),
		cmocka_unit_test(duplicated_atomics_happen_once),
		cmocka_unit_test(atomics_whose_answers_are_lost_happen_once),
		cmocka_unit_test(corrupted_packets_are_noticed_by_the_icrc),
		cmocka_unit_test(packets_that_overtake_each_other_are_put_in_order),
		cmocka_unit_test(a_tenth_lost_either_way_is_survived),
		cmocka_unit_test(retries_run_out_when_the_timer_table_says),
		cmocka_unit_test(both_ends_give_up_when_the_network_is_gone),
		cmocka_unit_test(progress_gives_all_retries_back),
		cmocka_unit_test(packets_too_long_for_the_link_end_in_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
