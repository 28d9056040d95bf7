/* SPDX-License-Identifier: MIT */
/*
 * The common header of all scenario files: cmocka, the simulation's words, and the checks between
 * them.
 */
#ifndef TESTS_SIM_SCENARIO_H
#define TESTS_SIM_SCENARIO_H

#include "tests/sim/sim.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

/* Ends the simulation; fails the test with the oracle's sentence when something was wrong. */
#define assert_sim_is_right(sim)                                                                   \
	do {                                                                                       \
		const char *failure_ = sim_finish(sim);                                            \
		if (failure_ != NULL)                                                              \
			fail_msg("%s", failure_);                                                  \
	} while (0)

#define assert_status(qp, number, expected) assert_int_equal(sim_status(qp, number), expected)

/* Fills the send queue with messages of `bytes` between the pattern regions. */
static inline void keep_busy(struct sim_qp *qp, enum rnic_wr_opcode opcode, uint32_t bytes)
{
	const struct sim_post post = {
		.opcode = (uint8_t)opcode,
		.bytes = bytes,
		.pattern = true,
		.local_key = SIM_KEY_PATTERN,
		.remote_key = SIM_KEY_PATTERN,
	};

	while (sim_post_with(qp, &post) != SIM_REFUSED)
		;
}

#endif
