/* SPDX-License-Identifier: MIT */
/* Hosts that restart, and QPs that are destroyed and made anew while packets are under way. */
#include "tests/sim/scenario.h"

static void a_peer_of_a_restarted_host_runs_out_of_retries(void **state)
{
	static const uint8_t opcodes[] = {RNIC_WR_SEND, RNIC_WR_RDMA_WRITE, RNIC_WR_RDMA_READ,
					  RNIC_WR_ATOMIC_FETCH_ADD};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(opcodes); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .retry_count = 2);

		sim_receive(qp->peer, .bytes = 100000);
		sim_receive(qp, .bytes = 100);
		sim_post(qp, .opcode = opcodes[i], .bytes = 100000);
		sim_post(qp->peer, .opcode = RNIC_WR_RDMA_READ, .bytes = 100000);
		sim_run_for(sim, 5 * SIM_US);
		sim_restart(sim, 1);
		sim_run(sim, SIM_S);
		assert_status(qp, 0, RNIC_WC_RETRY_EXC_ERR);
		assert_int_equal(qp->qp->state, RNIC_QP_STATE_ERR);
		assert_int_equal(qp->end.receives[0].status, RNIC_WC_WR_FLUSH_ERR);
		assert_true(sim_counter(sim, 1, COUNTER_DROPPED_UNKNOWN_QP) > 0);
		assert_sim_is_right(sim);
	}
}

static void a_restarted_host_connects_again(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .hosts = 3);
	struct sim_qp *qp = sim_connect(sim, 0, 1);
	struct sim_qp *other = sim_connect(sim, 0, 2);

	(void)state;
	sim_post(qp, .bytes = 100000);
	sim_post(other, .bytes = 1000000);
	sim_run_for(sim, 50 * SIM_US);
	sim_restart(sim, 1);
	sim_reconnect(qp);
	assert_int_equal(qp->peer->qp->state, RNIC_QP_STATE_RTS);
	sim_receive(qp->peer, .bytes = 5000);
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 5000);
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 100000);
	sim_run(sim, SIM_S);
	assert_status(qp, 1, RNIC_WC_SUCCESS);
	assert_status(other, 0, RNIC_WC_SUCCESS);
	assert_sim_is_right(sim);
}

/* Late packets of the old life arrive in the new life, at the same number or at none. */
static void late_packets_find_another_life(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		bool has_same_qpn = seed % 2 == 0;
		struct sim *sim = sim_create(.seed = seed, .delay_ns = 2 * SIM_MS);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = 14);
		const struct sim_link slow = {.jitter_ns = SIM_MS};

		sim_all_links(sim, &slow);
		for (uint32_t i = 0; i < 8; i++) {
			sim_receive(qp->peer, .bytes = 5000);
			sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 5000);
			sim_post(qp, .bytes = 5000);
			sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 5000);
			sim_post(qp, .opcode = RNIC_WR_ATOMIC_FETCH_ADD);
			sim_post(qp->peer, .bytes = 5000);
		}
		sim_run_for(sim, SIM_MS + seed * 200 * SIM_US);
		sim_recreate(qp, has_same_qpn);
		for (uint32_t i = 0; i < 8; i++) {
			sim_receive(qp->peer, .bytes = 4000);
			sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 4000);
			sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 4000);
			sim_post(qp, .opcode = RNIC_WR_ATOMIC_FETCH_ADD);
		}
		sim_run(sim, 5 * SIM_S);
		for (uint32_t i = 0; i < qp->end.work_count; i++)
			assert_status(qp, i, RNIC_WC_SUCCESS);
		if (!has_same_qpn)
			assert_true(sim_counter(sim, 1, COUNTER_DROPPED_UNKNOWN_QP) > 0);
		assert_sim_is_right(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_of_a_restarted_host_runs_out_of_retries),
		cmocka_unit_test(a_restarted_host_connects_again),
		cmocka_unit_test(late_packets_find_another_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
