/* SPDX-License-Identifier: MIT */
/* Many QPs, and more traffic than a receiver takes. */
#include "tests/sim/scenario.h"

static void a_thousand_qps_between_two_hosts(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .max_qps = 1000, .arena_bytes = 32 << 20);

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		struct sim_qp *qp = sim_connect(sim, 0, 1, .depth = 4, .timeout = 14);

		sim_receive(qp->peer, .bytes = 2000);
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 2000);
		sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 2000);
	}
	sim_run(sim, 100 * SIM_MS);
	assert_int_equal(sim_counter(sim, 0, COUNTER_COMPLETIONS), 2000);
	assert_int_equal(sim_counter(sim, 0, COUNTER_RETRANSMITTED_PACKETS), 0);
	assert_sim_is_right(sim);
}

/* Messages of all of them are lost, and none is forgotten. */
static void thousands_of_qps_on_a_bad_network(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .hosts = 4, .max_qps = 4000,
				     .arena_bytes = 48 << 20, .batch = SIM_BATCH);
	const struct sim_link bad = {.loss_ppm = 5000, .duplicate_ppm = 5000, .jitter_ns = 20000};
	static const uint8_t opcodes[] = {RNIC_WR_SEND, RNIC_WR_RDMA_WRITE, RNIC_WR_RDMA_READ,
					  RNIC_WR_ATOMIC_COMPARE_SWAP};

	(void)state;
	sim_all_links(sim, &bad);
	for (uint32_t i = 0; i < 6000; i++) {
		struct sim_qp *qp =
			sim_connect(sim, i % 4, (i + 1 + i / 4 % 3) % 4, .depth = 4, .timeout = 14);

		sim_receive(qp->peer, .bytes = 1500);
		sim_post(qp, .opcode = opcodes[i % 4], .bytes = 1500);
		sim_receive(qp, .bytes = 100);
		sim_post(qp->peer, .opcode = opcodes[i / 4 % 4], .bytes = 100);
	}
	sim_run(sim, 20 * SIM_S);
	for (uint32_t i = 0; i < sim->qp_count; i++)
		assert_status(sim->qps[i], 0, RNIC_WC_SUCCESS);
	assert_sim_is_right(sim);
}

/* 64 QPs of 8 hosts, one of 10 Gb/s with a queue of 512 KiB: the window per path must find its
 * size. */
static void an_incast_of_64_qps_ends_in_time(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .hosts = 9, .max_qps = 64, .arena_bytes = 24 << 20);
	uint64_t payload_bits = UINT64_C(64) * 8 * 262144;
	uint64_t elapsed_ns;

	(void)state;
	sim->net.nics[0].ingress_bits_per_second = UINT64_C(10000000000);
	sim->net.nics[0].ingress_queue_bytes = 512 * 1024;
	for (uint32_t i = 0; i < 64; i++) {
		struct sim_qp *qp = sim_connect(sim, 1 + i % 8, 0, .path_mtu = 5, .timeout = 10);

		sim_post(qp, .bytes = 262144);
	}
	sim_may_lose_all(sim);
	elapsed_ns = sim_run(sim, 2 * SIM_S);
	assert_true(elapsed_ns < 20 * payload_bits / 10);
	for (uint32_t i = 0; i < sim->qp_count; i++)
		assert_int_equal(sim->qps[i]->qp->state, RNIC_QP_STATE_RTS);
	assert_sim_is_right(sim);
}

static void a_qp_to_its_own_host_works(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .hosts = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 0);

	(void)state;
	sim_receive(qp->peer, .bytes = 9000);
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 9000);
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 9000);
	sim_run(sim, 5 * SIM_MS);
	assert_sim_is_right(sim);
}

static void a_busy_qp_does_not_starve_another(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .arena_bytes = 32 << 20);
	struct sim_qp *busy = sim_connect(sim, 0, 1);
	struct sim_qp *other = sim_connect(sim, 0, 1);
	const struct sim_link slow = {.bits_per_second = 1000000000};
	uint64_t start_ns = sim->net.now_ns;

	(void)state;
	sim_all_links(sim, &slow);
	for (uint32_t i = 0; i < 8; i++)
		sim_post(busy, .bytes = 1 << 20);
	sim_run_for(sim, SIM_MS);
	sim_post(other, .bytes = 8);
	while (other->end.completed == 0 && sim->net.now_ns < start_ns + SIM_S)
		sim_run_for(sim, SIM_MS);
	assert_true(sim->net.now_ns - start_ns < 20 * SIM_MS);
	assert_true(busy->end.completed < 8);
	sim_run(sim, SIM_S);
	assert_sim_is_right(sim);
}

/* A program at the other host has ended, which this one's does not know. */
static void a_qp_whose_peer_is_gone_does_not_starve_another(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .arena_bytes = 64 << 20);
	struct sim_qp *lonely = sim_connect(sim, 0, 1, .timeout = 14);
	struct sim_qp *other = sim_connect(sim, 0, 1, .timeout = 14);
	uint64_t start_ns = sim->net.now_ns;

	(void)state;
	sim_enter_error(lonely->peer);
	sim_may_fail(lonely, RNIC_WC_RETRY_EXC_ERR);
	for (uint32_t i = 0; i < 8; i++)
		sim_post(lonely, .bytes = 1 << 20);
	sim_run_for(sim, SIM_MS);
	for (uint32_t i = 0; i < 16; i++)
		sim_post(other, .bytes = 1 << 20);
	while (other->end.completed < 16 && sim->net.now_ns < start_ns + SIM_S)
		sim_run_for(sim, SIM_MS);
	/* It gives its share of the path back when its first timeout expires, and takes little
	 * then. */
	assert_true(sim->net.now_ns - start_ns < 100 * SIM_MS);
	assert_int_equal(lonely->qp->state, RNIC_QP_STATE_RTS);
	sim_run(sim, 10 * SIM_S);
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thousand_qps_between_two_hosts),
		cmocka_unit_test(thousands_of_qps_on_a_bad_network),
		cmocka_unit_test(an_incast_of_64_qps_ends_in_time),
		cmocka_unit_test(a_qp_to_its_own_host_works),
		cmocka_unit_test(a_busy_qp_does_not_starve_another),
		cmocka_unit_test(a_qp_whose_peer_is_gone_does_not_starve_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
