/* SPDX-License-Identifier: MIT */
/* Wrong requests, rights that are missing, memory and peers that vanish. */
#include "tests/sim/scenario.h"

struct wrong_work {
	struct sim_post post;
	enum rnic_wc_status status;
	enum counter responder_counter; /* moves by one at the peer; COUNTER_COUNT: none */
};

static const struct wrong_work wrong_works[] = {
	{{.opcode = RNIC_WR_RDMA_WRITE, .remote_key = SIM_KEY_READ_ONLY},
	 RNIC_WC_REM_ACCESS_ERR,
	 COUNTER_ACCESS_ERRORS},
	{{.opcode = RNIC_WR_RDMA_WRITE, .remote_key = SIM_KEY_LOCAL_ONLY},
	 RNIC_WC_REM_ACCESS_ERR,
	 COUNTER_ACCESS_ERRORS},
	{{.opcode = RNIC_WR_RDMA_WRITE, .remote_key = SIM_KEY_OTHER_PD},
	 RNIC_WC_REM_ACCESS_ERR,
	 COUNTER_ACCESS_ERRORS},
	{{.opcode = RNIC_WR_RDMA_WRITE, .remote_key = SIM_KEY_STALE},
	 RNIC_WC_REM_ACCESS_ERR,
	 COUNTER_ACCESS_ERRORS},
	{{.opcode = RNIC_WR_RDMA_WRITE, .beyond_end = true},
	 RNIC_WC_REM_ACCESS_ERR,
	 COUNTER_ACCESS_ERRORS},
	{{.opcode = RNIC_WR_RDMA_WRITE_WITH_IMM, .remote_key = SIM_KEY_STALE},
	 RNIC_WC_REM_ACCESS_ERR,
	 COUNTER_ACCESS_ERRORS},
	{{.opcode = RNIC_WR_RDMA_READ, .remote_key = SIM_KEY_LOCAL_ONLY},
	 RNIC_WC_REM_ACCESS_ERR,
	 COUNTER_ACCESS_ERRORS},
	{{.opcode = RNIC_WR_RDMA_READ, .remote_key = SIM_KEY_OTHER_PD},
	 RNIC_WC_REM_ACCESS_ERR,
	 COUNTER_ACCESS_ERRORS},
	{{.opcode = RNIC_WR_RDMA_READ, .beyond_end = true},
	 RNIC_WC_REM_ACCESS_ERR,
	 COUNTER_ACCESS_ERRORS},
	{{.opcode = RNIC_WR_ATOMIC_FETCH_ADD, .remote_key = SIM_KEY_NO_ATOMIC},
	 RNIC_WC_REM_ACCESS_ERR,
	 COUNTER_ACCESS_ERRORS},
	{{.opcode = RNIC_WR_ATOMIC_COMPARE_SWAP, .remote_key = SIM_KEY_READ_ONLY},
	 RNIC_WC_REM_ACCESS_ERR,
	 COUNTER_ACCESS_ERRORS},
	{{.opcode = RNIC_WR_ATOMIC_FETCH_ADD, .misaligned = true},
	 RNIC_WC_REM_INV_REQ_ERR,
	 COUNTER_BAD_REQUESTS},
	{{.opcode = RNIC_WR_RDMA_WRITE, .local_key = SIM_KEY_STALE},
	 RNIC_WC_LOC_PROT_ERR,
	 COUNTER_COUNT},
	{{.opcode = RNIC_WR_SEND, .local_key = SIM_KEY_OTHER_PD},
	 RNIC_WC_LOC_PROT_ERR,
	 COUNTER_COUNT},
	{{.opcode = RNIC_WR_RDMA_READ, .local_key = SIM_KEY_READ_ONLY},
	 RNIC_WC_LOC_PROT_ERR,
	 COUNTER_COUNT},
	{{.opcode = RNIC_WR_ATOMIC_FETCH_ADD, .local_key = SIM_KEY_READ_ONLY},
	 RNIC_WC_LOC_PROT_ERR,
	 COUNTER_COUNT},
};

static void wrong_requests_have_their_own_statuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(wrong_works); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1);
		struct sim_post post = wrong_works[i].post;
		bool is_remote = wrong_works[i].responder_counter != COUNTER_COUNT;

		post.bytes = 5000;
		sim_receive(qp->peer, .bytes = 5000);
		sim_post(qp, .bytes = 100, .unsignaled = true);
		sim_post_with(qp, &post);
		sim_post(qp, .bytes = 100);
		sim_run(sim, 10 * SIM_MS);
		assert_status(qp, 0, RNIC_WC_SUCCESS);
		assert_status(qp, 1, wrong_works[i].status);
		assert_status(qp, 2, RNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(qp->qp->state, RNIC_QP_STATE_ERR);
		assert_int_equal(qp->peer->qp->state,
				 is_remote ? RNIC_QP_STATE_ERR : RNIC_QP_STATE_RTS);
		if (is_remote)
			assert_int_equal(sim_counter(sim, 1, wrong_works[i].responder_counter), 1);
		assert_sim_is_right(sim);
	}
}

/* One packet: the key is looked at together with the immediate. */
static void a_refused_immediate_ends_its_receive(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_receive(qp->peer, .bytes = 100);
	sim_receive(qp->peer, .bytes = 100);
	sim_post(qp, .opcode = RNIC_WR_RDMA_WRITE_WITH_IMM, .bytes = 100,
		 .remote_key = SIM_KEY_STALE);
	sim_run(sim, 10 * SIM_MS);
	assert_status(qp, 0, RNIC_WC_REM_ACCESS_ERR);
	assert_int_equal(qp->peer->end.receives[0].status, RNIC_WC_LOC_ACCESS_ERR);
	assert_int_equal(qp->peer->end.receives[1].status, RNIC_WC_WR_FLUSH_ERR);
	assert_sim_is_right(sim);
}

static void the_qps_access_flags_decide_before_the_key(void **state)
{
	static const struct {
		uint32_t access_flags;
		uint8_t opcode;
	} cases[] = {
		{RNIC_ACCESS_REMOTE_READ, RNIC_WR_RDMA_WRITE},
		{RNIC_ACCESS_REMOTE_WRITE, RNIC_WR_RDMA_READ},
		{RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_WRITE, RNIC_WR_ATOMIC_FETCH_ADD},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .access_flags = cases[i].access_flags);

		qp->peer->end.may_stop = true;
		sim_may_fail(qp, RNIC_WC_REM_INV_REQ_ERR);
		sim_post(qp, .opcode = cases[i].opcode, .bytes = 100);
		sim_run(sim, 10 * SIM_MS);
		assert_status(qp, 0, RNIC_WC_REM_INV_REQ_ERR);
		assert_sim_is_right(sim);
	}
}

static void memory_that_vanishes_is_an_error_at_either_end(void **state)
{
	static const uint8_t opcodes[] = {RNIC_WR_RDMA_WRITE, RNIC_WR_RDMA_READ, RNIC_WR_SEND,
					  RNIC_WR_ATOMIC_FETCH_ADD};

	(void)state;
	for (uint32_t host = 0; host < 2; host++) {
		for (size_t i = 0; i < 2 * RNIC_COUNT_OF(opcodes); i++) {
			struct sim *sim = sim_create(.seed = i, .is_direct = i % 2 != 0);
			struct sim_qp *qp = sim_connect(sim, 0, 1);

			sim_receive(qp->peer, .bytes = 5000);
			sim_post(qp, .opcode = opcodes[i / 2], .bytes = 5000);
			sim_take_memory(sim, host);
			sim_run(sim, SIM_S);
			assert_int_not_equal(sim_status(qp, 0), RNIC_WC_SUCCESS);
			assert_int_equal(qp->qp->state, RNIC_QP_STATE_ERR);
			assert_true(sim_counter(sim, host, COUNTER_MEMORY_ERRORS) > 0);
			assert_sim_is_right(sim);
		}
	}
}

/*
 * What reaches host 0 in one batch: the answer to its READ or WRITE and a SEND from its peer, the
 * SEND before or behind the answer.
 */
static const struct {
	uint8_t opcode;
	uint32_t send_bytes;
	bool is_send_first;
	enum rnic_wc_status work_status;
	enum rnic_wc_status receive_status;
} batches[] = {
	{RNIC_WR_RDMA_READ, 100, false, RNIC_WC_LOC_PROT_ERR, RNIC_WC_WR_FLUSH_ERR},
	{RNIC_WR_RDMA_READ, 5000, false, RNIC_WC_LOC_PROT_ERR, RNIC_WC_WR_FLUSH_ERR},
	{RNIC_WR_RDMA_READ, 0, false, RNIC_WC_LOC_PROT_ERR, RNIC_WC_WR_FLUSH_ERR},
	{RNIC_WR_RDMA_READ, 100, true, RNIC_WC_WR_FLUSH_ERR, RNIC_WC_LOC_PROT_ERR},
	{RNIC_WR_RDMA_READ, 0, true, RNIC_WC_LOC_PROT_ERR, RNIC_WC_SUCCESS},
	{RNIC_WR_RDMA_WRITE, 100, false, RNIC_WC_SUCCESS, RNIC_WC_LOC_PROT_ERR},
	{RNIC_WR_RDMA_WRITE, 100, true, RNIC_WC_WR_FLUSH_ERR, RNIC_WC_LOC_PROT_ERR},
	{RNIC_WR_RDMA_WRITE, 0, true, RNIC_WC_SUCCESS, RNIC_WC_SUCCESS},
};

/* The peer's answer to the work of `qp`, and a SEND from the peer, reach host 0 in one batch. */
static void answer_beside_a_send(struct sim *sim, struct sim_qp *qp, uint32_t send_bytes,
				 bool is_send_first)
{
	if (!is_send_first) {
		sim_run_for(sim, 10 * SIM_US);
		sim_post(qp->peer, .opcode = RNIC_WR_SEND, .bytes = send_bytes);
		return;
	}
	sim_run_for(sim, 5 * SIM_US);
	sim_link(sim, 1, 0)->delay_ns = 15 * SIM_US;
	sim_post(qp->peer, .opcode = RNIC_WR_SEND, .bytes = send_bytes);
	sim_run_for(sim, 2 * SIM_US);
	sim_link(sim, 1, 0)->delay_ns = 10 * SIM_US;
	sim_run_for(sim, 3 * SIM_US);
}

static void only_the_first_failure_of_a_batch_has_a_status_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * RNIC_COUNT_OF(batches); i++) {
		bool is_send_first = batches[i / 2].is_send_first;
		uint32_t send_bytes = batches[i / 2].send_bytes;
		struct sim *sim = sim_create(.seed = i, .is_direct = i % 2 != 0);
		struct sim_qp *qp = sim_connect(sim, 0, 1);

		sim_receive(qp, .bytes = send_bytes);
		sim_receive(qp, .bytes = send_bytes);
		sim_post(qp, .opcode = batches[i / 2].opcode, .bytes = 100);
		answer_beside_a_send(sim, qp, send_bytes, is_send_first);
		sim_take_memory(sim, 0);
		sim_run(sim, SIM_S);
		assert_status(qp, 0, batches[i / 2].work_status);
		assert_int_equal(qp->end.received > 0 ? qp->end.receives[0].status : UINT8_MAX,
				 batches[i / 2].receive_status);
		assert_sim_is_right(sim);
	}
}

/*
 * The failed work is not complete within the batch, and the other queue's work behind the failure
 * is. No order holds between the two queues: the flush may come before the error.
 */
static void a_failure_before_the_end_of_its_work_is_told_by_that_work(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		bool is_send_first = i / 2 != 0;
		struct sim *sim = sim_create(.seed = i, .is_direct = i % 2 != 0);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .path_mtu = 1);

		sim_fault(sim, 1,
			  is_send_first ? "drop@rc-send-last/first=1"
					: "drop@rc-read-response-last/first=1");
		sim_receive(qp, .bytes = 400);
		sim_receive(qp, .bytes = 400);
		sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = is_send_first ? 100 : 400);
		answer_beside_a_send(sim, qp, is_send_first ? 400 : 100, is_send_first);
		sim_take_memory(sim, 0);
		sim_run(sim, SIM_S);
		assert_status(qp, 0, is_send_first ? RNIC_WC_WR_FLUSH_ERR : RNIC_WC_LOC_PROT_ERR);
		assert_int_equal(qp->end.received, 2);
		assert_int_equal(qp->end.receives[0].status,
				 is_send_first ? RNIC_WC_LOC_PROT_ERR : RNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(qp->end.receives[1].status, RNIC_WC_WR_FLUSH_ERR);
		assert_sim_is_right(sim);
	}
}

/*
 * A READ whose request was lost is asked for packet by packet, and packets that lie within the
 * region are answered before the request that reaches beyond its end is refused.
 */
static void a_read_beyond_the_end_may_leave_bytes_of_its_region(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .path_mtu = 1, .timeout = 8);

	(void)state;
	sim_fault(sim, 0, "drop@rc-read-request/first=2");
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 6449, .beyond_end = true);
	sim_run(sim, SIM_S);
	assert_status(qp, 0, RNIC_WC_REM_ACCESS_ERR);
	assert_int_equal(sim_counter(sim, 1, COUNTER_READ_REQUESTS), 1);
	assert_sim_is_right(sim);
}

static void a_completion_queue_that_is_full_stops_its_qp(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .send_cq_entries = 3);

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		sim_post(qp, .bytes = 100);
	sim_run_for(sim, 10 * SIM_MS);
	assert_int_equal(sim->hosts[0].async_events[RNIC_EVENT_CQ_ERR], 1);
	assert_true(sim_counter(sim, 0, COUNTER_CQ_OVERRUNS) > 0);
	assert_int_equal(qp->qp->state, RNIC_QP_STATE_ERR);
	assert_int_equal(sim->hosts[0].log.completions, 3);
	assert_non_null(sim_finish(sim)); /* seven works without completion */
}

static void a_peer_that_has_forgotten_the_connection_is_noticed(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = 8);

	(void)state;
	sim_post(qp, .bytes = 100);
	sim_run(sim, SIM_MS);
	sim_enter_error(qp->peer);
	sim_post(qp, .bytes = 100);
	sim_run(sim, SIM_S);
	assert_status(qp, 1, RNIC_WC_RETRY_EXC_ERR);
	assert_sim_is_right(sim);
}

static void a_peer_that_restarts_can_be_connected_again(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_post(qp, .bytes = 100000);
	sim_run_for(sim, 5 * SIM_US);
	sim_forget(qp->peer);
	sim_run(sim, SIM_S);
	assert_status(qp, 0, RNIC_WC_RETRY_EXC_ERR);
	assert_true(sim_counter(sim, 1, COUNTER_DROPPED_BAD_STATE) > 0);
	sim_reconnect(qp);
	sim_post(qp, .bytes = 100000);
	sim_run(sim, 10 * SIM_MS);
	assert_sim_is_right(sim);
}

static void a_key_that_changes_under_a_transfer_ends_it(void **state)
{
	static const uint8_t opcodes[] = {RNIC_WR_RDMA_WRITE, RNIC_WR_RDMA_READ, RNIC_WR_SEND};

	(void)state;
	for (uint32_t host = 0; host < 2; host++) {
		for (size_t i = 0; i < RNIC_COUNT_OF(opcodes); i++) {
			const struct sim_link slow = {.bits_per_second = 1000000000};
			struct sim *sim = sim_create(.seed = i);
			struct sim_qp *qp = sim_connect(sim, 0, 1);

			sim_all_links(sim, &slow);
			sim_receive(qp->peer, .bytes = 900000);
			sim_post(qp, .opcode = opcodes[i], .bytes = 900000);
			sim_run_for(sim, SIM_MS);
			sim_change_key(sim, host);
			sim_run(sim, SIM_S);
			assert_int_not_equal(sim_status(qp, 0), RNIC_WC_SUCCESS);
			assert_sim_is_right(sim);
		}
	}
}

static void a_qp_lives_again_after_reset(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	for (uint32_t life = 0; life < 5; life++) {
		sim_receive(qp->peer, .bytes = 3000);
		sim_receive(qp->peer, .bytes = 3000);
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 3000);
		sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 3000);
		sim_post(qp, .opcode = RNIC_WR_ATOMIC_FETCH_ADD);
		sim_run(sim, 5 * SIM_MS);
		if (life % 2 != 0) {
			sim_post(qp, .bytes = 3000, .remote_key = SIM_KEY_STALE);
			sim_run(sim, 5 * SIM_MS);
		}
		sim_reconnect(qp);
	}
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_requests_have_their_own_statuses),
		cmocka_unit_test(a_refused_immediate_ends_its_receive),
		cmocka_unit_test(the_qps_access_flags_decide_before_the_key),
		cmocka_unit_test(memory_that_vanishes_is_an_error_at_either_end),
		cmocka_unit_test(only_the_first_failure_of_a_batch_has_a_status_of_its_own),
		cmocka_unit_test(a_failure_before_the_end_of_its_work_is_told_by_that_work),
		cmocka_unit_test(a_read_beyond_the_end_may_leave_bytes_of_its_region),
		cmocka_unit_test(a_completion_queue_that_is_full_stops_its_qp),
		cmocka_unit_test(a_peer_that_has_forgotten_the_connection_is_noticed),
		cmocka_unit_test(a_peer_that_restarts_can_be_connected_again),
		cmocka_unit_test(a_key_that_changes_under_a_transfer_ends_it),
		cmocka_unit_test(a_qp_lives_again_after_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
