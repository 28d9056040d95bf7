/* SPDX-License-Identifier: MIT */
/* Operations of every kind and size over a network that behaves. */
#include "tests/sim/scenario.h"

static void writes_of_every_size_around_the_mtu(void **state)
{
	(void)state;
	for (uint8_t mtu = 1; mtu <= 5; mtu++) {
		struct sim *sim = sim_create(.seed = mtu);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .path_mtu = mtu, .depth = 256);
		uint32_t mtu_bytes = 128U << mtu;

		for (uint32_t packets = 0; packets < 4; packets++) {
			for (uint32_t extra = 0; extra < 10; extra++)
				sim_post(qp, .bytes = packets * mtu_bytes + extra);
			for (uint32_t less = 1; less < 5; less++)
				sim_post(qp, .bytes = (packets + 1) * mtu_bytes - less);
		}
		sim_run(sim, 10 * SIM_MS);
		assert_int_equal(sim_counter(sim, 0, COUNTER_RETRANSMITTED_PACKETS), 0);
		assert_sim_is_right(sim);
	}
}

static void reads_of_every_size_around_the_mtu(void **state)
{
	(void)state;
	for (uint8_t mtu = 1; mtu <= 5; mtu++) {
		struct sim *sim = sim_create(.seed = mtu);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .path_mtu = mtu, .depth = 256);
		uint32_t mtu_bytes = 128U << mtu;

		for (uint32_t packets = 0; packets < 4; packets++) {
			for (uint32_t extra = 0; extra < 10; extra++)
				sim_post(qp, .opcode = RNIC_WR_RDMA_READ,
					 .bytes = packets * mtu_bytes + extra);
		}
		sim_run(sim, 10 * SIM_MS);
		assert_int_equal(sim_counter(sim, 0, COUNTER_RETRANSMITTED_PACKETS), 0);
		assert_sim_is_right(sim);
	}
}

static void sends_of_every_kind_arrive_in_order(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	for (uint32_t i = 0; i < 24; i++)
		sim_receive(qp->peer, .bytes = 5000);
	for (uint32_t i = 0; i < 8; i++) {
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 600 * i);
		sim_post(qp, .opcode = RNIC_WR_SEND_WITH_IMM, .bytes = 100 * i, .solicited = true);
		sim_post(qp, .opcode = RNIC_WR_RDMA_WRITE_WITH_IMM, .bytes = 700 * i);
	}
	sim_run(sim, 5 * SIM_MS);
	assert_int_equal(qp->peer->end.received, 24);
	assert_sim_is_right(sim);
}

static void long_read_goes_out_in_chunks(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .arena_bytes = 8 << 20);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 3 * LIMIT_READ_CHUNK_BYTES + 17);
	sim_run(sim, 50 * SIM_MS);
	assert_int_equal(sim_counter(sim, 1, COUNTER_READ_REQUESTS), 4);
	assert_sim_is_right(sim);
}

static void lists_of_32_pieces_are_gathered_and_scattered(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .sges = 32);

	(void)state;
	sim_receive(qp->peer, .bytes = 20000, .sges = 32);
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 20000, .sges = 32);
	sim_post(qp, .opcode = RNIC_WR_RDMA_WRITE, .bytes = 20000, .sges = 32);
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 20000, .sges = 32);
	sim_run(sim, 5 * SIM_MS);
	assert_sim_is_right(sim);
}

static void inline_data_is_taken_at_once(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .inline_bytes = 512);

	(void)state;
	sim_receive(qp->peer, .bytes = 512);
	for (uint32_t bytes = 0; bytes <= 512; bytes += 64)
		sim_post(qp, .bytes = bytes, .inlined = true);
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 512, .inlined = true);
	sim_run(sim, 5 * SIM_MS);
	assert_sim_is_right(sim);
}

static void only_signaled_work_completes(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	for (uint32_t i = 1; i <= 20; i++)
		sim_post(qp, .bytes = 100, .unsignaled = i % 5 != 0);
	sim_run(sim, 5 * SIM_MS);
	assert_int_equal(sim_counter(sim, 0, COUNTER_COMPLETIONS), 4);
	assert_sim_is_right(sim);
}

static void signal_all_overrides_the_flag(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .signal_all = true);

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		sim_post(qp, .bytes = 100, .unsignaled = true);
	sim_run(sim, 5 * SIM_MS);
	assert_int_equal(sim_counter(sim, 0, COUNTER_COMPLETIONS), 20);
	assert_sim_is_right(sim);
}

static void a_fence_waits_for_the_read_before_it(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .delay_ns = SIM_MS);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = 14);
	uint64_t unfenced_ns, fenced_ns;

	(void)state;
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 8);
	sim_post(qp, .bytes = 8);
	unfenced_ns = sim_run(sim, 10 * SIM_MS);
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 8);
	sim_post(qp, .bytes = 8, .fence = true);
	fenced_ns = sim_run(sim, 10 * SIM_MS);
	assert_in_range(unfenced_ns, 2 * SIM_MS, 3 * SIM_MS);
	assert_in_range(fenced_ns, 4 * SIM_MS, 5 * SIM_MS);
	assert_sim_is_right(sim);
}

static void atomics_are_bounded_by_rd_atomic(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .delay_ns = SIM_MS);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .rd_atomic = 2, .timeout = 14);

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		sim_post(qp, .opcode = i % 2 != 0 ? RNIC_WR_ATOMIC_FETCH_ADD
						  : RNIC_WR_ATOMIC_COMPARE_SWAP);
	assert_in_range(sim_run(sim, 20 * SIM_MS), 8 * SIM_MS, 9 * SIM_MS);
	assert_int_equal(sim_counter(sim, 1, COUNTER_ATOMIC_REQUESTS), 8);
	assert_sim_is_right(sim);
}

static void sequence_numbers_wrap(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .psn = 0xfffff0, .path_mtu = 1);

	(void)state;
	sim_receive(qp->peer, .bytes = 8000);
	sim_post(qp, .bytes = 2000);
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 4000);
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 8000);
	sim_post(qp, .opcode = RNIC_WR_ATOMIC_FETCH_ADD);
	sim_run(sim, 5 * SIM_MS);
	assert_sim_is_right(sim);
}

static void a_message_of_2_gib_arrives(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .is_direct = true);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .path_mtu = 5);

	(void)state;
	sim_post(qp, .bytes = UINT32_C(1) << 31, .pattern = true);
	sim_run(sim, 600 * SIM_S);
	assert_int_equal(sim->hosts[1].pattern.pattern_end, UINT64_C(1) << 31);
	assert_sim_is_right(sim);
}

/* Of 2^23 packets: as many as there are PSNs that can be told from copies. */
static void a_read_of_2_gib_in_the_smallest_packets_arrives(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .is_direct = true);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .path_mtu = 1);

	(void)state;
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = UINT32_C(1) << 31, .pattern = true);
	sim_run(sim, 600 * SIM_S);
	assert_int_equal(sim->hosts[0].pattern.pattern_end, UINT64_C(1) << 31);
	assert_sim_is_right(sim);
}

static void a_paused_qp_ends_what_it_began_and_no_more(void **state)
{
	const struct sim_link slow = {.bits_per_second = 1000000000, .loss_ppm = 20000};
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_all_links(sim, &slow);
	sim_post(qp, .bytes = 20000);
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 20000);
	sim_run_for(sim, 100 * SIM_US);
	sim_pause(qp);
	sim_post(qp, .bytes = 20000);
	assert_int_equal(sim->hosts[0].async_events[RNIC_EVENT_SQ_DRAINED], 0);
	sim_run_for(sim, SIM_S);
	assert_int_equal(qp->end.completed, 2);
	assert_int_equal(sim->hosts[0].async_events[RNIC_EVENT_SQ_DRAINED], 1);
	sim_resume(qp);
	sim_run(sim, SIM_S);
	assert_sim_is_right(sim);
}

static void both_directions_at_once(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .is_direct = true);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		sim_receive(qp, .bytes = 4000);
		sim_receive(qp->peer, .bytes = 4000);
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 130 * i);
		sim_post(qp->peer, .opcode = RNIC_WR_SEND, .bytes = 130 * i);
		sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 500 * i);
		sim_post(qp->peer, .opcode = RNIC_WR_RDMA_READ, .bytes = 500 * i);
	}
	sim_run(sim, 10 * SIM_MS);
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_of_every_size_around_the_mtu),
		cmocka_unit_test(reads_of_every_size_around_the_mtu),
		cmocka_unit_test(sends_of_every_kind_arrive_in_order),
		cmocka_unit_test(long_read_goes_out_in_chunks),
		cmocka_unit_test(lists_of_32_pieces_are_gathered_and_scattered),
		cmocka_unit_test(inline_data_is_taken_at_once),
		cmocka_unit_test(only_signaled_work_completes),
		cmocka_unit_test(signal_all_overrides_the_flag),
		cmocka_unit_test(a_fence_waits_for_the_read_before_it),
		cmocka_unit_test(atomics_are_bounded_by_rd_atomic),
		cmocka_unit_test(sequence_numbers_wrap),
		cmocka_unit_test(a_message_of_2_gib_arrives),
		cmocka_unit_test(a_read_of_2_gib_in_the_smallest_packets_arrives),
		cmocka_unit_test(a_paused_qp_ends_what_it_began_and_no_more),
		cmocka_unit_test(both_directions_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
