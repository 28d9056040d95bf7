/* SPDX-License-Identifier: MIT */
/* The oracle can fail: hosts broken in each of the ways that it is there to notice. */
#include "tests/sim/scenario.h"

#include <string.h>

/* Ends the simulation, which must have been found wrong in these words. */
static void assert_found(struct sim *sim, const char *words)
{
	const char *failure = sim_finish(sim);

	if (failure == NULL)
		fail_msg("not noticed: %s", words);
	if (strstr(failure, words) == NULL)
		fail_msg("\"%s\" does not say: %s", failure, words);
}

/* Both directions of SENDs, and one of everything else, on a network that behaves. */
static void use_everything(struct sim *sim, struct sim_qp *qp)
{
	for (uint32_t i = 0; i < 4; i++) {
		sim_receive(qp->peer, .bytes = 3000);
		sim_receive(qp, .bytes = 3000);
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 1500 + i);
		sim_post(qp->peer, .opcode = RNIC_WR_SEND, .bytes = 1500 + i);
		sim_post(qp, .bytes = 1500, .unsignaled = i % 2 != 0);
	}
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 1500);
	sim_post(qp, .opcode = RNIC_WR_ATOMIC_FETCH_ADD);
	sim_post(qp, .opcode = RNIC_WR_ATOMIC_FETCH_ADD);
	sim_run(sim, 10 * SIM_MS);
}

static uint32_t complete_twice(struct cqe *cqe)
{
	(void)cqe;
	return 2;
}

static uint32_t lose_fifth(struct cqe *cqe)
{
	return cqe->is_recv || cqe->wr_id != 4;
}

static uint32_t lose_receives(struct cqe *cqe)
{
	return cqe->is_recv && cqe->wr_id == 1 ? 0 : 1;
}

static uint32_t deliver_to_the_next_too(struct cqe *cqe)
{
	if (cqe->is_recv && cqe->wr_id == 1)
		cqe->wr_id = 2;
	return 1;
}

static uint32_t claim_a_wrong_length(struct cqe *cqe)
{
	cqe->byte_count += cqe->is_recv;
	return 1;
}

static uint32_t claim_an_access_error(struct cqe *cqe)
{
	if (!cqe->is_recv)
		cqe->status = RNIC_WC_REM_ACCESS_ERR;
	return 1;
}

static uint32_t claim_success(struct cqe *cqe)
{
	cqe->status = RNIC_WC_SUCCESS;
	return 1;
}

static uint32_t claim_a_flush(struct cqe *cqe)
{
	cqe->status = RNIC_WC_WR_FLUSH_ERR;
	return 1;
}

static uint32_t claim_memory_errors_of_sends(struct cqe *cqe)
{
	if (!cqe->is_recv && cqe->status == RNIC_WC_WR_FLUSH_ERR)
		cqe->status = RNIC_WC_LOC_PROT_ERR;
	return 1;
}

static uint32_t claim_a_memory_error_of_receive(struct cqe *cqe, uint64_t wr_id)
{
	if (cqe->is_recv && cqe->wr_id == wr_id && cqe->status == RNIC_WC_WR_FLUSH_ERR)
		cqe->status = RNIC_WC_LOC_PROT_ERR;
	return 1;
}

static uint32_t claim_a_memory_error_first(struct cqe *cqe)
{
	return claim_a_memory_error_of_receive(cqe, 0);
}

static uint32_t claim_a_memory_error_second(struct cqe *cqe)
{
	return claim_a_memory_error_of_receive(cqe, 1);
}

static void wrong_completions_are_found(void **state)
{
	static const struct {
		sim_sabotage *sabotage;
		const char *words;
	} cases[] = {
		{complete_twice, "completion of"},
		{lose_fifth, "has no completion"},
		{lose_receives, "completion of receive 2"},
		{deliver_to_the_next_too, "completion of receive 2"},
		{claim_a_wrong_length, "does not describe"},
		{claim_an_access_error, "has status 10"},
		{claim_a_flush, "has status 5"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1);

		sim->hosts[0].sabotage = cases[i].sabotage;
		sim->hosts[1].sabotage = cases[i].sabotage;
		use_everything(sim, qp);
		assert_found(sim, cases[i].words);
	}
}

/* The oracle forgives losses with UC and UD, but not messages never sent, or received twice. */
static void wrong_receives_without_acknowledgements_are_found(void **state)
{
	static const struct {
		uint8_t type;
		sim_sabotage *sabotage;
		const char *words;
	} cases[] = {
		{RNIC_QP_TYPE_UC, complete_twice, "completion of"},
		{RNIC_QP_TYPE_UC, deliver_to_the_next_too, "completion of receive 2"},
		{RNIC_QP_TYPE_UC, claim_a_wrong_length, "holds no message"},
		{RNIC_QP_TYPE_UD, complete_twice, "completion of"},
		{RNIC_QP_TYPE_UD, claim_a_wrong_length, "holds no message"},
		{RNIC_QP_TYPE_UD, claim_a_flush, "has status 5"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .type = cases[i].type);

		sim->hosts[1].sabotage = cases[i].sabotage;
		for (uint32_t message = 0; message < 4; message++) {
			sim_receive(qp->peer, .bytes = 3000);
			sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 1500 + message);
		}
		sim_run(sim, 10 * SIM_MS);
		sim_run_for(sim, 10 * SIM_MS);
		assert_found(sim, cases[i].words);
	}
}

/* A message that lacks its last bytes in memory is not one that was sent. */
static void bytes_missing_without_acknowledgements_are_found(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .type = RNIC_QP_TYPE_UC);

	(void)state;
	sim->hosts[1].arena.skip_bytes = 1;
	sim_receive(qp->peer, .bytes = 3000);
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 1500);
	sim_run(sim, 10 * SIM_MS);
	sim_run_for(sim, 10 * SIM_MS);
	assert_found(sim, "holds no message");
}

/* A receive has the error of memory that is gone, and the rest must be flushed in both queues. */
static void a_second_memory_error_is_found(void **state)
{
	static const struct {
		sim_sabotage *sabotage;
		const char *words;
	} cases[] = {
		{claim_memory_errors_of_sends, "work 0 (opcode 0, 100 bytes) has status 4"},
		{claim_a_memory_error_second, "receive 1 has status 4"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1);

		sim->hosts[0].sabotage = cases[i].sabotage;
		sim_fault(sim, 1, "drop@rc-acknowledge");
		sim_receive(qp, .bytes = 100);
		sim_receive(qp, .bytes = 100);
		sim_post(qp, .bytes = 100);
		sim_post(qp->peer, .opcode = RNIC_WR_SEND, .bytes = 100);
		sim_run_for(sim, 5 * SIM_US);
		sim_take_memory(sim, 0);
		sim_run_for(sim, SIM_MS);
		assert_found(sim, cases[i].words);
	}
}

/* The flush of the sends does not permit the error of a receive that nothing explains. */
static void a_memory_error_behind_a_flush_is_found(void **state)
{
	static const struct {
		bool is_memory_gone;
		sim_sabotage *sabotage;
		const char *words;
	} cases[] = {
		{false, claim_a_memory_error_first, "receive 0 has status 4"},
		{true, claim_a_memory_error_second, "receive 1 has status 4"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1);

		sim->hosts[0].sabotage = cases[i].sabotage;
		sim_receive(qp, .bytes = 100);
		sim_receive(qp, .bytes = 100);
		sim_post(qp, .bytes = 100);
		sim_run_for(sim, 5 * SIM_US);
		if (cases[i].is_memory_gone)
			sim_take_memory(sim, 0);
		sim_enter_error(qp);
		assert_found(sim, cases[i].words);
	}
}

static void success_of_what_must_fail_is_found(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim->hosts[0].sabotage = claim_success;
	sim_post(qp, .bytes = 100, .remote_key = SIM_KEY_STALE);
	sim_run(sim, 10 * SIM_MS);
	assert_found(sim, "has status 0");
}

static void skipped_bytes_are_found(void **state)
{
	static const uint8_t opcodes[] = {RNIC_WR_RDMA_WRITE, RNIC_WR_RDMA_READ, RNIC_WR_SEND,
					  RNIC_WR_RDMA_WRITE_WITH_IMM};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(opcodes); i++) {
		struct sim *sim = sim_create(.seed = i);
		struct sim_qp *qp = sim_connect(sim, 0, 1);

		sim->hosts[0].arena.skip_bytes = 1;
		sim->hosts[1].arena.skip_bytes = 1;
		sim_receive(qp->peer, .bytes = 5000);
		sim_post(qp, .opcode = opcodes[i], .bytes = 5000);
		sim_run(sim, 10 * SIM_MS);
		assert_found(sim, "wrong");
	}
}

static void an_atomic_done_twice_is_found(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim->hosts[1].arena.atomic_executions = 2;
	sim_post(qp, .opcode = RNIC_WR_ATOMIC_FETCH_ADD);
	sim_run(sim, 10 * SIM_MS);
	assert_found(sim, "has no legal value");
}

static void an_old_write_done_again_is_found(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);
	uint8_t *hot = sim->hosts[1].memory.arena + qp->end.hot.offset;
	uint8_t first[64];

	(void)state;
	sim_post(qp, .hot = true);
	sim_run(sim, 10 * SIM_MS);
	memcpy(first, hot, sizeof(first));
	sim_post(qp, .hot = true);
	sim_run(sim, 10 * SIM_MS);
	memcpy(hot, first, sizeof(first));
	assert_found(sim, "no order explains");
}

static void a_byte_beside_the_buffers_is_found(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	use_everything(sim, qp);
	sim->hosts[1].memory.arena[sim->hosts[1].memory.used - 1] ^= 1;
	assert_found(sim, "the byte at");
}

static void a_counter_that_lies_is_found(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	use_everything(sim, qp);
	sim->hosts[0].engine.counters[COUNTER_SENT_PACKETS]++;
	assert_found(sim, "counter sent_pkts");
}

static void work_that_never_ends_is_found(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = SIM_ZERO);

	(void)state;
	sim_link(sim, 0, 1)->loss_ppm = 1000000;
	sim_post(qp, .bytes = 100);
	sim_run(sim, SIM_S);
	assert_found(sim, "not done in time");
}

static void an_error_without_cause_is_found(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_fault(sim, 0, "drop");
	sim_post(qp, .bytes = 100);
	sim_run(sim, SIM_S);
	assert_found(sim, "has status 12");
}

static void a_host_that_works_is_found_right(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	use_everything(sim, qp);
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_that_works_is_found_right),
		cmocka_unit_test(wrong_completions_are_found),
		cmocka_unit_test(wrong_receives_without_acknowledgements_are_found),
		cmocka_unit_test(bytes_missing_without_acknowledgements_are_found),
		cmocka_unit_test(a_second_memory_error_is_found),
		cmocka_unit_test(a_memory_error_behind_a_flush_is_found),
		cmocka_unit_test(success_of_what_must_fail_is_found),
		cmocka_unit_test(skipped_bytes_are_found),
		cmocka_unit_test(an_atomic_done_twice_is_found),
		cmocka_unit_test(an_old_write_done_again_is_found),
		cmocka_unit_test(a_byte_beside_the_buffers_is_found),
		cmocka_unit_test(a_counter_that_lies_is_found),
		cmocka_unit_test(work_that_never_ends_is_found),
		cmocka_unit_test(an_error_without_cause_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
