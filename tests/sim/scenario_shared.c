/* SPDX-License-Identifier: MIT */
/*
 * Several QPs with one receive queue: the distribution of entries, limits, and QPs that go while
 * they hold an entry.
 */
#include "tests/sim/scenario.h"

#define SENDERS	 4
#define MESSAGES 100

/* QPs of other hosts whose ends on host 0 share its SRQ. */
static void connect_senders(struct sim *sim, uint8_t type, struct sim_qp *senders[SENDERS])
{
	for (uint32_t i = 0; i < SENDERS; i++)
		senders[i] = sim_connect(sim, 1 + i, 0, .type = type, .is_shared = true,
					 .depth = MESSAGES);
}

static void every_message_finds_an_entry(void **state)
{
	static const char *const faults[] = {NULL, "drop=2%", "reorder=5%,duplicate=5%"};

	(void)state;
	for (uint32_t f = 0; f < RNIC_COUNT_OF(faults); f++) {
		struct sim *sim = sim_create(.seed = f, .hosts = 1 + SENDERS);
		struct sim_qp *senders[SENDERS];

		connect_senders(sim, RNIC_QP_TYPE_RC, senders);
		if (faults[f] != NULL)
			sim_fault(sim, 0, faults[f]);
		for (uint32_t i = 0; i < MESSAGES; i++) {
			for (uint32_t s = 0; s < SENDERS; s++) {
				sim_receive_shared(sim, 0, 5000);
				sim_post(senders[s],
					 .opcode = i % 5 == 0 ? RNIC_WR_RDMA_WRITE_WITH_IMM
							      : RNIC_WR_SEND,
					 .bytes = 37 * i);
			}
		}
		sim_run(sim, 5 * SIM_S);
		for (uint32_t s = 0; s < SENDERS; s++)
			assert_int_equal(senders[s]->peer->end.received, MESSAGES);
		if (f == 0)
			assert_int_equal(sim_counter(sim, 0, COUNTER_SENT_RNR_NAKS), 0);
		assert_sim_is_right(sim);
	}
}

/* The RNR NAK is for a queue that is really empty: the entry that comes is used at once. */
static void an_empty_queue_makes_all_wait(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .hosts = 1 + SENDERS);
	struct sim_qp *senders[SENDERS];

	(void)state;
	connect_senders(sim, RNIC_QP_TYPE_RC, senders);
	for (uint32_t s = 0; s < SENDERS; s++)
		sim_post(senders[s], .opcode = RNIC_WR_SEND, .bytes = 3000);
	sim_run_for(sim, 5 * SIM_MS);
	assert_true(sim_counter(sim, 0, COUNTER_SENT_RNR_NAKS) >= SENDERS);
	for (uint32_t s = 0; s < SENDERS; s++)
		assert_int_equal(senders[s]->end.completed, 0);
	for (uint32_t s = 0; s < SENDERS; s++)
		sim_receive_shared(sim, 0, 3000);
	sim_run(sim, 5 * SIM_MS);
	assert_sim_is_right(sim);
}

static void the_limit_is_told_while_entries_are_left(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .hosts = 1 + SENDERS);
	struct sim_host *host = &sim->hosts[0];
	struct sim_qp *senders[SENDERS];

	(void)state;
	connect_senders(sim, RNIC_QP_TYPE_RC, senders);
	for (uint32_t i = 0; i < 30; i++)
		sim_receive_shared(sim, 0, 100);
	assert_int_equal(srq_set_limit(host->srq.srq, 20), 0);
	for (uint32_t i = 0; i < 10; i++)
		sim_post(senders[i % SENDERS], .opcode = RNIC_WR_SEND, .bytes = 100);
	sim_run(sim, 5 * SIM_MS);
	assert_int_equal(host->async_events[RNIC_EVENT_SRQ_LIMIT_REACHED], 0);
	for (uint32_t i = 0; i < 10; i++)
		sim_post(senders[i % SENDERS], .opcode = RNIC_WR_SEND, .bytes = 100);
	sim_run(sim, 5 * SIM_MS);
	assert_int_equal(host->async_events[RNIC_EVENT_SRQ_LIMIT_REACHED], 1);
	assert_int_equal(host->srq.srq->limit, 0);
	assert_sim_is_right(sim);
}

/* The first sender's message stops in its middle, for its last packets are lost for good. */
static void stop_in_a_message(struct sim *sim, struct sim_qp *senders[SENDERS])
{
	sim_fault(sim, 1, "drop@rc-send-last/first=100");
	sim_receive_shared(sim, 0, 5000);
	sim_post(senders[0], .opcode = RNIC_WR_SEND, .bytes = 5000);
	sim_run_for(sim, SIM_MS);
	assert_true(senders[0]->peer->qp->responder.has_receive);
	sim_may_fail(senders[0], RNIC_WC_RETRY_EXC_ERR);
}

static void expect_the_entry_for(struct sim *sim, struct sim_qp *sender)
{
	sim_post(sender, .opcode = RNIC_WR_SEND, .bytes = 3000);
	sim_run(sim, 20 * SIM_S);
	sim_run_for(sim, SIM_MS);
	assert_status(sender, sender->end.work_count - 1, RNIC_WC_SUCCESS);
	assert_int_equal(sim->hosts[0].srq.posted, 1);
	assert_true(sim->hosts[0].srq.receives[0].model.is_complete);
}

static void an_entry_survives_the_reset_of_its_qp(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .hosts = 1 + SENDERS);
	struct sim_qp *senders[SENDERS];

	(void)state;
	connect_senders(sim, RNIC_QP_TYPE_RC, senders);
	stop_in_a_message(sim, senders);
	sim_forget(senders[0]->peer);
	expect_the_entry_for(sim, senders[1]);
	assert_int_equal(sim->hosts[0].async_events[RNIC_EVENT_QP_LAST_WQE_REACHED], 0);
	assert_sim_is_right(sim);
}

static void an_error_completes_the_entry_and_tells_that_it_was_the_last(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .hosts = 1 + SENDERS);
	struct sim_qp *senders[SENDERS];

	(void)state;
	connect_senders(sim, RNIC_QP_TYPE_RC, senders);
	stop_in_a_message(sim, senders);
	sim_enter_error(senders[0]->peer);
	assert_int_equal(senders[0]->peer->end.received, 1);
	assert_int_equal(senders[0]->peer->end.receives[0].status, RNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(sim->hosts[0].async_events[RNIC_EVENT_QP_LAST_WQE_REACHED], 1);
	sim_receive_shared(sim, 0, 3000);
	sim_post(senders[1], .opcode = RNIC_WR_SEND, .bytes = 3000);
	sim_run(sim, 20 * SIM_S);
	assert_status(senders[1], 0, RNIC_WC_SUCCESS);
	assert_int_equal(sim->hosts[0].async_events[RNIC_EVENT_QP_LAST_WQE_REACHED], 1);
	assert_sim_is_right(sim);
}

/* UC drops a message in its middle; its entry does not wait for the same sender's next. */
static void what_uc_drops_is_anybodys(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .hosts = 1 + SENDERS);
	struct sim_qp *senders[SENDERS];

	(void)state;
	connect_senders(sim, RNIC_QP_TYPE_UC, senders);
	sim_fault(sim, 1, "drop@uc-send-middle/first=1");
	sim_receive_shared(sim, 0, 5000);
	sim_post(senders[0], .opcode = RNIC_WR_SEND, .bytes = 5000);
	sim_run(sim, SIM_S);
	sim_run_for(sim, SIM_MS);
	assert_int_equal(senders[0]->peer->end.received, 0);
	expect_the_entry_for(sim, senders[1]);
	assert_int_equal(senders[1]->peer->end.received, 1);
	assert_sim_is_right(sim);
}

/* XRC: every operation, to targets of one domain, over a network that loses. */
static void xrc_carries_every_operation(void **state)
{
	static const uint8_t opcodes[] = {
		RNIC_WR_SEND,
		RNIC_WR_SEND_WITH_IMM,
		RNIC_WR_RDMA_WRITE,
		RNIC_WR_RDMA_WRITE_WITH_IMM,
		RNIC_WR_RDMA_READ,
		RNIC_WR_ATOMIC_FETCH_ADD,
		RNIC_WR_ATOMIC_COMPARE_SWAP,
	};
	static const char *const faults[] = {NULL, "drop=2%", "reorder=5%,duplicate=5%"};

	(void)state;
	for (uint32_t f = 0; f < RNIC_COUNT_OF(faults); f++) {
		struct sim *sim = sim_create(.seed = f, .hosts = 1 + SENDERS);
		struct sim_qp *senders[SENDERS];

		connect_senders(sim, RNIC_QP_TYPE_XRC_INITIATOR, senders);
		if (faults[f] != NULL)
			sim_fault(sim, 0, faults[f]);
		for (uint32_t i = 0; i < MESSAGES * SENDERS; i++) {
			sim_receive_xrc(sim, 0, 5000);
			sim_post(senders[i % SENDERS],
				 .opcode = opcodes[i / SENDERS % RNIC_COUNT_OF(opcodes)],
				 .bytes = 11 * i);
		}
		sim_run(sim, 5 * SIM_S);
		assert_sim_is_right(sim);
	}
}

static void an_xrc_target_that_is_reset_gives_its_entry_back(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .hosts = 1 + SENDERS);
	struct sim_qp *senders[SENDERS];

	(void)state;
	connect_senders(sim, RNIC_QP_TYPE_XRC_INITIATOR, senders);
	sim_fault(sim, 1, "drop@xrc-send-last/first=100");
	sim_receive_xrc(sim, 0, 5000);
	sim_post(senders[0], .opcode = RNIC_WR_SEND, .bytes = 5000);
	sim_run_for(sim, SIM_MS);
	assert_true(senders[0]->peer->qp->responder.has_receive);
	sim_may_fail(senders[0], RNIC_WC_RETRY_EXC_ERR);
	sim_forget(senders[0]->peer);
	sim_post(senders[1], .opcode = RNIC_WR_SEND, .bytes = 3000);
	sim_run(sim, 20 * SIM_S);
	assert_status(senders[1], 0, RNIC_WC_SUCCESS);
	assert_int_equal(sim->hosts[0].xrc_srq.posted, 1);
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_finds_an_entry),
		cmocka_unit_test(an_empty_queue_makes_all_wait),
		cmocka_unit_test(the_limit_is_told_while_entries_are_left),
		cmocka_unit_test(an_entry_survives_the_reset_of_its_qp),
		cmocka_unit_test(an_error_completes_the_entry_and_tells_that_it_was_the_last),
		cmocka_unit_test(what_uc_drops_is_anybodys),
		cmocka_unit_test(xrc_carries_every_operation),
		cmocka_unit_test(an_xrc_target_that_is_reset_gives_its_entry_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
