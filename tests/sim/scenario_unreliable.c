/* SPDX-License-Identifier: MIT */
/* UC and UD: lost messages stay lost, and messages that arrive are whole. */
#include "tests/sim/scenario.h"

static void every_operation_arrives_on_a_good_network(void **state)
{
	static const uint8_t opcodes[] = {RNIC_WR_RDMA_WRITE, RNIC_WR_SEND, RNIC_WR_SEND_WITH_IMM,
					  RNIC_WR_RDMA_WRITE_WITH_IMM};

	(void)state;
	for (uint8_t mtu = 1; mtu <= 5; mtu++) {
		struct sim *sim = sim_create(.seed = mtu, .is_direct = mtu % 2 != 0);
		struct sim_qp *qp =
			sim_connect(sim, 0, 1, .type = RNIC_QP_TYPE_UC, .path_mtu = mtu);

		for (uint32_t i = 0; i < 30; i++)
			sim_receive(qp->peer, .bytes = 6000);
		for (uint32_t i = 0; i < 40; i++)
			sim_post(qp, .opcode = opcodes[i % 4], .bytes = i * 150, .sges = 3);
		sim_run(sim, 10 * SIM_MS);
		sim_run_for(sim, 10 * SIM_MS);
		assert_int_equal(qp->peer->end.received, 30);
		assert_int_equal(sim_counter(sim, 1, COUNTER_DROPPED_MESSAGES), 0);
		assert_sim_is_right(sim);
	}
}

static void a_datagram_arrives_behind_its_header(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .type = RNIC_QP_TYPE_UD);

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		sim_receive(qp->peer, .bytes = RNIC_PAYLOAD_BYTES_MAX, .sges = 4);
		sim_post(qp, .opcode = i % 2 ? RNIC_WR_SEND_WITH_IMM : RNIC_WR_SEND,
			 .bytes = i * RNIC_PAYLOAD_BYTES_MAX / 19, .sges = 3);
	}
	sim_run(sim, 10 * SIM_MS);
	sim_run_for(sim, 10 * SIM_MS);
	assert_int_equal(qp->peer->end.received, 20);
	assert_sim_is_right(sim);
}

/* The message that misses a packet is dropped as a whole; its receive entry serves the next. */
static void a_gap_costs_one_message_and_no_receive(void **state)
{
	static const char *const faults[] = {"drop@uc-send-first/first=1",
					     "drop@uc-send-middle/first=1",
					     "drop@uc-send-last/first=1"};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(faults); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .type = RNIC_QP_TYPE_UC);

		sim_fault(sim, 0, faults[i]);
		for (uint32_t message = 0; message < 3; message++) {
			sim_receive(qp->peer, .bytes = 5000);
			sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 5000);
		}
		sim_run(sim, 10 * SIM_MS);
		sim_run_for(sim, 10 * SIM_MS);
		assert_int_equal(qp->peer->end.received, 2);
		assert_int_equal(qp->peer->end.next_message, 3);
		assert_int_equal(qp->qp->state, RNIC_QP_STATE_RTS);
		assert_int_equal(qp->peer->qp->state, RNIC_QP_STATE_RTS);
		assert_sim_is_right(sim);
	}
}

static void nothing_is_answered(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .type = RNIC_QP_TYPE_UC);

	(void)state;
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 100); /* no receive is there */
	sim_post(qp, .bytes = 3000, .remote_key = SIM_KEY_STALE);
	sim_post(qp, .bytes = 3000, .beyond_end = true);
	sim_run(sim, 10 * SIM_MS);
	sim_run_for(sim, 10 * SIM_MS);
	assert_int_equal(sim_counter(sim, 1, COUNTER_SENT_PACKETS), 0);
	assert_int_equal(sim_counter(sim, 1, COUNTER_DROPPED_NO_RECEIVE), 1);
	assert_int_equal(sim_counter(sim, 1, COUNTER_ACCESS_ERRORS), 2);
	assert_int_equal(qp->peer->qp->state, RNIC_QP_STATE_RTS);
	assert_sim_is_right(sim);
}

/* Duplicates, late packets, losses and damage, for a while. */
static void bad_networks_lose_messages_and_never_mix_them(void **state)
{
	static const uint8_t types[] = {RNIC_QP_TYPE_UC, RNIC_QP_TYPE_UD};
	const struct sim_link bad = {
		.loss_ppm = 20000,
		.duplicate_ppm = 50000,
		.reorder_ppm = 50000,
		.reorder_ns = 50000,
		.corrupt_ppm = 10000,
	};

	(void)state;
	for (size_t i = 0; i < 2 * RNIC_COUNT_OF(types); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp =
			sim_connect(sim, 0, 1, .type = types[i % 2], .path_mtu = 1, .depth = 256);

		sim_all_links(sim, &bad);
		for (uint32_t message = 0; message < 200; message++) {
			sim_receive(qp->peer, .bytes = 3000);
			sim_receive(qp->peer, .bytes = 3000);
			sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = message * 13);
		}
		sim_run(sim, SIM_S);
		sim_run_for(sim, SIM_S);
		assert_true(qp->peer->end.received > 100);
		assert_sim_is_right(sim);
	}
}

static void a_burst_leaves_at_the_pace(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .arena_bytes = 16 << 20);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .type = RNIC_QP_TYPE_UC, .path_mtu = 5);
	uint64_t bytes = 4 << 20;
	uint64_t duration_ns;

	(void)state;
	sim_post(qp, .bytes = (uint32_t)bytes);
	duration_ns = sim_run(sim, SIM_S);
	assert_true(duration_ns * LIMIT_PACE_BYTES_PER_MS / SIM_MS + LIMIT_PACE_BURST_BYTES >=
		    bytes);
	assert_true(duration_ns < 20 * SIM_MS);
	assert_sim_is_right(sim);
}

static void memory_that_vanishes_stops_the_sends_only(void **state)
{
	static const uint8_t types[] = {RNIC_QP_TYPE_UC, RNIC_QP_TYPE_UD};
	const struct rnic_qp_attributes to_rts = {.state = RNIC_QP_STATE_RTS};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(types); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .type = types[i]);

		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 100);
		sim_take_memory(sim, 0);
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 100);
		sim_run(sim, 10 * SIM_MS);
		assert_status(qp, 0, RNIC_WC_LOC_PROT_ERR);
		assert_status(qp, 1, RNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(qp->qp->state, RNIC_QP_STATE_SQE);
		assert_int_equal(qp_modify(qp->qp, &to_rts, RNIC_QP_ATTR_STATE), 0);
		assert_int_equal(qp->qp->state, RNIC_QP_STATE_RTS);
		assert_sim_is_right(sim);
	}
}

static void a_paused_queue_drains(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .type = RNIC_QP_TYPE_UC);

	(void)state;
	sim_post(qp, .bytes = 300000);
	sim_run_for(sim, SIM_US);
	sim_pause(qp);
	sim_post(qp, .bytes = 100);
	sim_run_for(sim, 10 * SIM_MS);
	assert_int_equal(sim->hosts[0].async_events[RNIC_EVENT_SQ_DRAINED], 1);
	assert_int_equal(qp->end.completed, 1);
	sim_resume(qp);
	sim_run(sim, 10 * SIM_MS);
	assert_int_equal(qp->end.completed, 2);
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_arrives_on_a_good_network),
		cmocka_unit_test(a_datagram_arrives_behind_its_header),
		cmocka_unit_test(a_gap_costs_one_message_and_no_receive),
		cmocka_unit_test(nothing_is_answered),
		cmocka_unit_test(bad_networks_lose_messages_and_never_mix_them),
		cmocka_unit_test(a_burst_leaves_at_the_pace),
		cmocka_unit_test(memory_that_vanishes_stops_the_sends_only),
		cmocka_unit_test(a_paused_queue_drains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
