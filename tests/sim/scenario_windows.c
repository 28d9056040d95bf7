/* SPDX-License-Identifier: MIT */
/* Memory windows: opened, used, and closed by either side while the peer still uses them. */
#include "tests/sim/scenario.h"

/* A connection whose first end has an open window, of the type wanted. */
static struct sim_qp *connect_window(struct sim *sim, enum rnic_mw_type type)
{
	struct sim_qp *qp;

	do
		qp = sim_connect(sim, 0, 1);
	while (qp->mw.type != type);
	assert_int_not_equal(sim_window_open(qp), SIM_REFUSED);
	sim_run(sim, 5 * SIM_MS);
	return qp;
}

static void peers_use_a_window(void **state)
{
	(void)state;
	for (int type = RNIC_MW_TYPE_1; type <= RNIC_MW_TYPE_2; type++) {
		struct sim *sim = sim_create(.seed = 3, .max_qps = 64);
		struct sim_qp *qp = connect_window(sim, (enum rnic_mw_type)type);

		for (uint32_t bytes = 1; bytes < 600; bytes += 100) {
			sim_post(qp->peer, .bytes = bytes, .window = true);
			sim_post(qp->peer, .opcode = RNIC_WR_RDMA_READ, .bytes = bytes,
				 .window = true);
		}
		sim_run(sim, 5 * SIM_MS);
		assert_int_equal(qp->peer->end.completed, 12);
		assert_sim_is_right(sim);
	}
}

static void closed_window_is_refused(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .max_qps = 64);
	struct sim_qp *qp = connect_window(sim, RNIC_MW_TYPE_2);
	uint32_t number;

	(void)state;
	sim_window_close(qp, false);
	sim_run(sim, 5 * SIM_MS);
	number = sim_post(qp->peer, .bytes = 8, .window = true);
	sim_run(sim, 5 * SIM_MS);
	assert_status(qp->peer, number, RNIC_WC_REM_ACCESS_ERR);
	assert_sim_is_right(sim);
}

/* Of READs and WRITEs under way some come in time; none of the others is carried out in part. */
static void closing_races_with_accesses(void **state)
{
	uint32_t refused = 0, done = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct sim *sim =
			sim_create(.seed = seed, .max_qps = 64, .batch = 1 + (uint32_t)seed % 8,
				   .is_direct = seed % 3 == 0);
		struct sim_qp *qp =
			connect_window(sim, seed % 2 == 0 ? RNIC_MW_TYPE_1 : RNIC_MW_TYPE_2);

		for (uint32_t i = 0; i < 20; i++) {
			sim_post(qp->peer,
				 .opcode = i % 2 == 0 ? RNIC_WR_RDMA_READ : RNIC_WR_RDMA_WRITE,
				 .bytes = 1 + (uint32_t)(seed + i) % 180, .window = true);
			sim_run_for(sim, seed * 371 % 20000);
		}
		sim_window_close(qp, seed % 4 == 0);
		sim_run(sim, 50 * SIM_MS);
		if (qp->peer->end.has_stopped)
			refused++;
		else
			done++;
		assert_sim_is_right(sim);
	}
	assert_true(refused > 10 && done > 10);
}

/*
 * The message that lets the window be closed arrives together with a READ through the window. The
 * answer is built, and its bytes are read, before the program hears that the window is closed.
 */
static void answers_under_way_are_read_first(void **state)
{
	(void)state;
	for (int type = RNIC_MW_TYPE_1; type <= RNIC_MW_TYPE_2; type++) {
		struct sim *sim = sim_create(.seed = 1, .delay_ns = 10 * SIM_US, .max_qps = 64);
		struct sim_qp *qp = connect_window(sim, (enum rnic_mw_type)type);
		uint32_t number;

		sim_post(qp, .bytes = 8);
		sim_window_close(qp, false);
		sim_run_for(sim, 10 * SIM_US);
		number = sim_post(qp->peer, .opcode = RNIC_WR_RDMA_READ, .bytes = 100,
				  .window = true);
		sim_run_for(sim, 10 * SIM_US);
		assert_int_equal(qp->end.window.state, WINDOW_FREE);
		sim_run(sim, 5 * SIM_MS);
		assert_status(qp->peer, number, RNIC_WC_SUCCESS);
		assert_sim_is_right(sim);
	}
}

/* Over a network that loses and doubles packets, too: late copies open nothing again. */
static void late_copies_find_it_closed(void **state)
{
	static const char *const faults[] = {"duplicate=30%", "drop=5%",
					     "rx:duplicate@rc-read-request",
					     "delay=300us+-300us/every=3", "reorder=10%"};

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim *sim = sim_create(.seed = seed, .max_qps = 64);
		struct sim_qp *qp = connect_window(sim, RNIC_MW_TYPE_2);

		sim_fault(sim, (uint32_t)seed % 2, faults[seed % RNIC_COUNT_OF(faults)]);
		for (uint32_t round = 0; round < 4; round++) {
			sim_receive(qp, .bytes = 100);
			for (uint32_t i = 0; i < 6; i++)
				sim_post(qp->peer,
					 .opcode = i % 2 == 0 ? RNIC_WR_RDMA_READ
							      : RNIC_WR_RDMA_WRITE,
					 .bytes = 300, .window = true);
			sim_post(qp->peer, .opcode = RNIC_WR_SEND_WITH_INVALIDATE, .bytes = 50);
			sim_run(sim, 2 * SIM_S);
			assert_false(qp->peer->end.has_stopped);
			sim_run_for(sim, 20 * SIM_US);
			sim_window_open(qp);
			sim_run(sim, 2 * SIM_S);
		}
		assert_sim_is_right(sim);
	}
}

/* WRITE, FLUSH, ATOMIC WRITE, over and over. */
static void marks_follow_flushed_data(void **state)
{
	static const char *const faults[] = {"drop=5%", "duplicate=20%",
					     "drop@rc-read-response/first=4"};

	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim *sim = sim_create(.seed = seed, .is_direct = seed % 2 == 0);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .rd_atomic = (uint8_t)(1 + seed % 4));

		sim_fault(sim, (uint32_t)seed % 2, faults[seed % RNIC_COUNT_OF(faults)]);
		for (uint32_t i = 0; i < 15; i++) {
			sim_post(qp, .bytes = 3000);
			sim_post(qp, .opcode = RNIC_WR_FLUSH);
			sim_post(qp, .opcode = RNIC_WR_ATOMIC_WRITE, .inlined = i % 2 == 0);
		}
		sim_run(sim, 5 * SIM_S);
		assert_int_equal(sim_counter(sim, 1, COUNTER_FLUSH_REQUESTS), 15);
		assert_int_equal(sim_counter(sim, 1, COUNTER_ATOMIC_REQUESTS), 15);
		assert_sim_is_right(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peers_use_a_window),
		cmocka_unit_test(closed_window_is_refused),
		cmocka_unit_test(closing_races_with_accesses),
		cmocka_unit_test(answers_under_way_are_read_first),
		cmocka_unit_test(late_copies_find_it_closed),
		cmocka_unit_test(marks_follow_flushed_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
