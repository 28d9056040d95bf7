/* SPDX-License-Identifier: MIT */
/*
 * Messages between two simulated hosts, for recorder_cost.py and rules_cost.py, which count the
 * instructions:
 *
 *     message_cost RECORDER PATH RULES     on or off, shared or direct, rules of faults or "none"
 *
 * The same messages and losses in every run. Both hosts have the rules.
 */
#include "lib/nic/port/conditions/fault.h"
#include "tests/sim/sim.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 200

static bool is_word(const char *word, const char *one, const char *other)
{
	assert(strcmp(word, one) == 0 || strcmp(word, other) == 0);
	return strcmp(word, one) == 0;
}

static uint64_t hits_of(struct port *port)
{
	const struct fault_plan *plan = fault_plan_of(port);
	uint64_t hits = 0;

	for (uint32_t i = 0; i < FAULT_RULES_MAX; i++)
		hits += plan->rules[i].hits;
	return hits;
}

int main(int argc, char **argv)
{
	struct port *faults[2] = {NULL, NULL};
	struct sim_qp *qp;
	struct sim *sim;

	if (argc != 4) {
		fprintf(stderr, "usage: message_cost on|off shared|direct none|RULES\n");
		return 2;
	}
	sim = sim_create(.seed = 45, .has_no_recorder = !is_word(argv[1], "on", "off"),
			 .is_direct = !is_word(argv[2], "shared", "direct"));
	qp = sim_connect(sim, 0, 1);
	for (uint32_t host = 0; host < 2 && strcmp(argv[3], "none") != 0; host++)
		faults[host] = sim_fault(sim, host, argv[3]);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		sim_receive(qp->peer, .bytes = 8);
		sim_post(qp, .bytes = 8);
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 8);
		sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 8);
		sim_run(sim, SIM_S);
	}
	printf("%u messages\n", 3 * ROUNDS);
	for (uint32_t host = 0; host < 2 && faults[host] != NULL; host++)
		printf("host %u: %" PRIu64 " hits\n", host, hits_of(faults[host]));
	return sim_finish(sim) != NULL;
}
