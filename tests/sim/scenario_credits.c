/* SPDX-License-Identifier: MIT */
/* End-to-end credits: a fast sender, and a receiver that posts few receives and late. */
#include "tests/sim/scenario.h"

#define MESSAGES 300

/* A receiver that keeps `depth` receives posted and looks after them every `period_ns`. */
static void receive_all(struct sim_qp *qp, uint32_t depth, uint64_t period_ns)
{
	uint32_t posted = 0;

	while (qp->end.received < MESSAGES) {
		for (; posted < MESSAGES && posted - qp->end.received < depth; posted++)
			sim_receive(qp, .bytes = 3000);
		sim_run_for(qp->sim, period_ns);
		assert_true(qp->sim->net.now_ns < SIM_S);
	}
}

/* RNR NAKs of MESSAGES messages to a receiver with `depth` receives. */
static uint64_t count_rnr_naks(uint32_t depth, bool has_no_credits)
{
	struct sim *sim = sim_create(.seed = depth, .has_no_credits = has_no_credits);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .depth = 512, .min_rnr_timer = 4);
	uint64_t naks;

	for (uint32_t i = 0; i < MESSAGES; i++)
		sim_post(qp, .opcode = i % 3 == 0 ? RNIC_WR_RDMA_WRITE_WITH_IMM : RNIC_WR_SEND,
			 .bytes = i % 3000);
	receive_all(qp->peer, depth, 200 * SIM_US);
	sim_run(sim, 10 * SIM_MS);
	naks = sim_counter(sim, 1, COUNTER_SENT_RNR_NAKS);
	assert_sim_is_right(sim);
	return naks;
}

static void few_receives_bring_no_rnr_naks(void **state)
{
	static const uint32_t depths[] = {1, 2, 7, 8, 9, 30};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(depths); i++) {
		uint64_t without = count_rnr_naks(depths[i], true);
		uint64_t with = count_rnr_naks(depths[i], false);

		print_message("%2u receives, %u messages: %3u RNR NAKs without credits, %u with\n",
			      depths[i], MESSAGES, (unsigned)without, (unsigned)with);
		/* The first burst goes out before any credit is known, and is refused until the
		 * receiver first looks. */
		assert_in_range(with, 0, 4);
		assert_true(without >= 2 * MESSAGES / depths[i]);
	}
}

/* The word of new credits gets lost: a probe goes out in its place. */
static void a_lost_word_of_credits_costs_a_probe(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_receive(qp->peer, .bytes = 3000);
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 3000);
	sim_run(sim, SIM_MS);
	sim_fault(sim, 1, "drop@rc-acknowledge/first=1");
	sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 3000);
	sim_run_for(sim, 100 * SIM_US);
	assert_int_equal(sim_counter(sim, 1, COUNTER_SENT_RNR_NAKS), 0);
	sim_receive(qp->peer, .bytes = 3000);
	assert_in_range(sim_run(sim, 5 * SIM_MS), LIMIT_CREDIT_PROBE_NS - 100 * SIM_US,
			LIMIT_CREDIT_PROBE_NS + 100 * SIM_US);
	assert_int_equal(sim_counter(sim, 1, COUNTER_SENT_RNR_NAKS), 0);
	assert_sim_is_right(sim);
}

/* The responder tells of a new receive unasked, and the waiting request goes out a trip later. */
static void new_credits_are_told_unasked(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_receive(qp->peer, .bytes = 3000);
	for (uint32_t i = 0; i < 2; i++)
		sim_post(qp, .opcode = RNIC_WR_RDMA_WRITE_WITH_IMM, .bytes = 3000);
	sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 3000);
	sim_run_for(sim, 900 * SIM_US);
	assert_int_equal(qp->end.completed, 1);
	sim_receive(qp->peer, .bytes = 0);
	assert_in_range(sim_run(sim, 5 * SIM_MS), 0, 100 * SIM_US);
	assert_sim_is_right(sim);
}

/*
 * Percent of what `DEPTH` receives allow on a path of 40 ms, where each is posted again a
 * millisecond after its use at most.
 */
static uint64_t fill_long_path(const char *fault)
{
	enum { DEPTH = 64, BYTES = 65536, ROUND_TRIP_MS = 40, TRIPS = 40 };
	struct sim *sim = sim_create(.seed = 1, .delay_ns = ROUND_TRIP_MS / 2 * SIM_MS);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .path_mtu = 5, .depth = DEPTH, .timeout = 16);
	uint64_t percent, half = 0;
	uint32_t posted = 0;

	if (fault != NULL)
		sim_fault(sim, 0, fault);
	for (uint32_t ms = 0; ms < TRIPS * ROUND_TRIP_MS; ms++) {
		for (; posted - qp->peer->end.received < DEPTH; posted++)
			sim_receive(qp->peer, .bytes = BYTES, .pattern = true,
				    .key = SIM_KEY_PATTERN);
		keep_busy(qp, RNIC_WR_SEND, BYTES);
		sim_run_for(sim, SIM_MS);
		if (ms == TRIPS / 2 * ROUND_TRIP_MS)
			half = qp->end.completed;
	}
	percent = (qp->end.completed - half) * 100 / (TRIPS / 2 * DEPTH);
	assert_int_equal(sim_counter(sim, 1, COUNTER_SENT_RNR_NAKS), 0);
	for (uint32_t i = 0; i < DEPTH; i++)
		sim_receive(qp->peer, .bytes = BYTES, .pattern = true, .key = SIM_KEY_PATTERN);
	sim_run(sim, 10 * SIM_S);
	assert_sim_is_right(sim);
	return percent;
}

/* Code numbers of credits are rounded down, by a quarter of 64: the exact number is told besides.
 */
static void all_receives_of_a_long_path_are_used(void **state)
{
	const uint64_t percent = fill_long_path(NULL);

	(void)state;
	print_message("%u %% of what the receives allow\n", (unsigned)percent);
	assert_true(percent >= 95);
	/* The question, or the answer, is lost now and then. */
	assert_true(fill_long_path("drop@holes/first=2") >= 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_receives_bring_no_rnr_naks),
		cmocka_unit_test(a_lost_word_of_credits_costs_a_probe),
		cmocka_unit_test(new_credits_are_told_unasked),
		cmocka_unit_test(all_receives_of_a_long_path_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
