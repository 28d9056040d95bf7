/* SPDX-License-Identifier: MIT */
/* Messages and the receives they need: RNR, lengths, order, flush. */
#include "tests/sim/scenario.h"

#include "proto/wire/timeout.h"

static void a_message_waits_for_its_receive(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .min_rnr_timer = 4);

	(void)state;
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 3000);
	sim_post(qp, .opcode = RNIC_WR_RDMA_WRITE_WITH_IMM, .bytes = 3000);
	sim_run_for(sim, 20 * SIM_MS);
	assert_int_equal(qp->end.completed, 0);
	assert_true(sim_counter(sim, 1, COUNTER_SENT_RNR_NAKS) > 1);
	sim_receive(qp->peer, .bytes = 3000);
	sim_receive(qp->peer, .bytes = 0);
	sim_run(sim, 5 * SIM_MS);
	assert_status(qp, 1, RNIC_WC_SUCCESS);
	assert_sim_is_right(sim);
}

/* The first try and two retries: two waits of timer code 14, which is 1.28 ms. */
static void rnr_retries_run_out_when_the_timer_table_says(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .min_rnr_timer = 14, .rnr_retry = 2);
	uint64_t wait_ns = rnic_rnr_timer_ns(14);

	(void)state;
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 100);
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 100);
	assert_in_range(sim_run(sim, SIM_S), 2 * wait_ns, 2 * wait_ns + SIM_MS);
	assert_status(qp, 0, RNIC_WC_RNR_RETRY_EXC_ERR);
	assert_status(qp, 1, RNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(sim_counter(sim, 1, COUNTER_SENT_RNR_NAKS), 3);
	assert_sim_is_right(sim);
}

static void nothing_of_a_refused_message_is_delivered_later(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .rnr_retry = SIM_ZERO);

	(void)state;
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 100);
	sim_run(sim, SIM_S);
	sim_receive(qp->peer, .bytes = 100);
	sim_run_for(sim, 100 * SIM_MS);
	assert_int_equal(qp->peer->end.received, 0);
	assert_sim_is_right(sim);
}

static void work_before_a_missing_receive_still_completes(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_post(qp, .bytes = 5000);
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 5000);
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 5000);
	sim_run_for(sim, 2 * SIM_MS);
	assert_int_equal(qp->end.completed, 2);
	sim_receive(qp->peer, .bytes = 5000);
	sim_run(sim, 5 * SIM_MS);
	assert_sim_is_right(sim);
}

static void a_message_longer_than_its_receive_breaks_both_ends(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	qp->peer->end.legal_receive_errors |= STATUS_BIT(RNIC_WC_LOC_LEN_ERR);
	sim_may_fail(qp, RNIC_WC_REM_INV_REQ_ERR);
	sim_receive(qp->peer, .bytes = 2500);
	sim_receive(qp->peer, .bytes = 2500);
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 2501);
	sim_run(sim, 5 * SIM_MS);
	assert_status(qp, 0, RNIC_WC_REM_INV_REQ_ERR);
	assert_int_equal(qp->peer->end.receives[0].status, RNIC_WC_LOC_LEN_ERR);
	assert_int_equal(qp->peer->end.receives[1].status, RNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(qp->peer->qp->state, RNIC_QP_STATE_ERR);
	assert_sim_is_right(sim);
}

static void receives_in_memory_that_may_not_be_written_are_refused(void **state)
{
	static const enum sim_key keys[] = {SIM_KEY_READ_ONLY, SIM_KEY_OTHER_PD, SIM_KEY_STALE};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(keys); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1);

		sim_receive(qp->peer, .bytes = 2000, .key = keys[i]);
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 2000);
		sim_run(sim, 5 * SIM_MS);
		assert_status(qp, 0, RNIC_WC_REM_OP_ERR);
		assert_int_equal(qp->peer->end.receives[0].status, RNIC_WC_LOC_PROT_ERR);
		assert_sim_is_right(sim);
	}
}

static void more_receives_than_the_engine_holds_keep_their_order(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .depth = 256);

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		sim_receive(qp->peer, .bytes = 100 + i);
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 100 + i, .solicited = i % 3 == 0);
	}
	sim_run(sim, 10 * SIM_MS);
	assert_int_equal(sim_counter(sim, 1, COUNTER_SENT_RNR_NAKS), 0);
	assert_sim_is_right(sim);
}

static void receives_posted_in_error_are_flushed(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_receive(qp, .bytes = 100);
	sim_enter_error(qp);
	for (uint32_t i = 0; i < 20; i++)
		sim_receive(qp, .bytes = 100);
	assert_int_equal(qp->end.received, 21);
	sim_post(qp, .bytes = 100);
	assert_status(qp, 0, RNIC_WC_WR_FLUSH_ERR);
	assert_sim_is_right(sim);
}

static void a_lost_rnr_nak_is_sent_again(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_fault(sim, 1, "drop@rc-acknowledge/first=1");
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 100);
	sim_run_for(sim, 20 * SIM_MS);
	assert_true(sim_counter(sim, 0, COUNTER_RECEIVED_RNR_NAKS) > 0);
	sim_receive(qp->peer, .bytes = 100);
	sim_run(sim, 20 * SIM_MS);
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_waits_for_its_receive),
		cmocka_unit_test(rnr_retries_run_out_when_the_timer_table_says),
		cmocka_unit_test(nothing_of_a_refused_message_is_delivered_later),
		cmocka_unit_test(work_before_a_missing_receive_still_completes),
		cmocka_unit_test(a_message_longer_than_its_receive_breaks_both_ends),
		cmocka_unit_test(receives_in_memory_that_may_not_be_written_are_refused),
		cmocka_unit_test(more_receives_than_the_engine_holds_keep_their_order),
		cmocka_unit_test(receives_posted_in_error_are_flushed),
		cmocka_unit_test(a_lost_rnr_nak_is_sent_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
