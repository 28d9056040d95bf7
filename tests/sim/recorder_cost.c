/* SPDX-License-Identifier: MIT */
/*
 * Messages between two simulated hosts, for recorder_cost.py, which counts the instructions:
 *
 *     recorder_cost RECORDER PATH LOSS     on or off, shared or direct, 0 or 1 % of the packets
 *
 * The same messages and losses in every run.
 */
#include "tests/sim/sim.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 200

static bool is_word(const char *word, const char *one, const char *other)
{
	assert(strcmp(word, one) == 0 || strcmp(word, other) == 0);
	return strcmp(word, one) == 0;
}

int main(int argc, char **argv)
{
	struct sim_qp *qp;
	struct sim *sim;

	if (argc != 4) {
		fprintf(stderr, "usage: recorder_cost on|off shared|direct 0|1\n");
		return 2;
	}
	sim = sim_create(.seed = 45, .has_no_recorder = !is_word(argv[1], "on", "off"),
			 .is_direct = !is_word(argv[2], "shared", "direct"));
	qp = sim_connect(sim, 0, 1);
	if (!is_word(argv[3], "0", "1"))
		sim_fault(sim, 0, "drop=1%");
	for (uint32_t round = 0; round < ROUNDS; round++) {
		sim_receive(qp->peer, .bytes = 8);
		sim_post(qp, .bytes = 8);
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 8);
		sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 8);
		sim_run(sim, SIM_S);
	}
	printf("%u messages\n", 3 * ROUNDS);
	return sim_finish(sim) != NULL;
}
