/* SPDX-License-Identifier: MIT */
/*
 * Storms of connections: random programs that connect, answer, refuse, change their minds and part
 * over random networks, each wholly determined by a 64-bit seed. What every end was told must be
 * what its plan and its peer's deeds come to. Arguments: storm_main.h.
 */
#include "tests/sim/cm_world.h"
#include "tests/sim/storm_main.h"

#include "proto/base/bits.h"

#include <inttypes.h>
#include <string.h>

#define CONNECTIONS_MAX 60
#define RUN_NS		(90 * CM_WORLD_S) /* longer than any end may have to wait */

struct storm {
	struct cm_world *world;
	struct prng prng;
	uint8_t max_retries;
};

static struct {
	uint64_t connections;
	uint64_t stood;
	uint64_t packets;
	uint64_t lost;
	uint64_t restarts;
	uint64_t virtual_ns;
} totals;

/* --- what happens ----------------------------------------------------------------------------- */

static void disturb_links(struct storm *storm)
{
	struct sim_link link = {.delay_ns = 1000 + storm_below(&storm->prng, 1000000)};

	storm->max_retries = 15;
	switch (storm_below(&storm->prng, 6)) {
	case 0:
		break;
	case 1:
		link.loss_ppm = 1 + storm_below(&storm->prng, 100000);
		break;
	case 2:
		link.duplicate_ppm = 1 + storm_below(&storm->prng, 500000);
		link.jitter_ns = storm_below(&storm->prng, 1000000);
		break;
	case 3:
		link.reorder_ppm = 1 + storm_below(&storm->prng, 300000);
		link.reorder_ns = storm_below(&storm->prng, 2000000);
		break;
	case 4:
		link.loss_ppm = link.duplicate_ppm = link.reorder_ppm = 50000;
		link.corrupt_ppm = 10000;
		link.reorder_ns = 1000000;
		break;
	case 5:
		link.loss_ppm = 300000;
		storm->max_retries = (uint8_t)(1 + storm_below(&storm->prng, 3));
		storm->world->may_be_unreachable = true;
		break;
	}
	cm_world_links(storm->world, &link);
}

static enum cm_answer random_answer(struct storm *storm)
{
	static const enum cm_answer answers[] = {CM_ACCEPT, CM_ACCEPT, CM_ACCEPT,
						 CM_ACCEPT, CM_REJECT, CM_DESTROY};

	return answers[storm_below(&storm->prng, RNIC_COUNT_OF(answers))];
}

static uint64_t random_pause(struct storm *storm, uint32_t most_ns)
{
	return storm_one_in(&storm->prng, 2) ? 0 : storm_below(&storm->prng, most_ns);
}

static void connect(struct storm *storm)
{
	static const uint8_t types[] = {RNIC_QP_TYPE_RC,
					RNIC_QP_TYPE_RC,
					RNIC_QP_TYPE_RC,
					RNIC_QP_TYPE_UC,
					RNIC_QP_TYPE_XRC_INITIATOR,
					RNIC_QP_TYPE_UD};
	uint32_t hosts = storm->world->net.host_count;
	uint8_t type = types[storm_below(&storm->prng, RNIC_COUNT_OF(types))];
	/* A requester of a datagram service cannot be told to wait. */
	uint32_t most_ns = type == RNIC_QP_TYPE_UD ? 20000000 : 200000000;
	const struct cm_plan plan = {
		.from = storm_below(&storm->prng, hosts),
		.to = storm_below(&storm->prng, hosts),
		.qp_type = type,
		.port = storm_one_in(&storm->prng, 10) ? 1 : CM_WORLD_PORT,
		.response_timeout = (uint8_t)(10 + storm_below(&storm->prng, 5)),
		.packet_lifetime = (uint8_t)(10 + storm_below(&storm->prng, 3)),
		.max_retries = storm->max_retries,
		.answer = random_answer(storm),
		.answer_after_ns = random_pause(storm, most_ns),
		.confirm = random_answer(storm),
		.confirm_after_ns = random_pause(storm, 200000000),
		.give_up_after_ns = storm_one_in(&storm->prng, 8)
					    ? 1 + storm_below(&storm->prng, 100000000)
					    : 0,
		.take_back_after_ns =
			storm_one_in(&storm->prng, 8) ? 1 + storm_below(&storm->prng, 20000000) : 0,
		.closing_end = (enum cm_closing_end)storm_below(&storm->prng, 3),
		.closes_by_destroying = storm_one_in(&storm->prng, 3),
		.ends_by_call = (uint8_t)storm_below(&storm->prng, 4),
		.part_after_ns =
			storm_one_in(&storm->prng, 6) ? CM_NEVER : random_pause(storm, 500000000),
		.hold_ns =
			storm_one_in(&storm->prng, 8) ? CM_NEVER : random_pause(storm, 500000000),
	};

	cm_world_connect(storm->world, &plan);
}

static void play(struct storm *storm)
{
	uint32_t connections = 1 + storm_below(&storm->prng, CONNECTIONS_MAX);
	bool restarts = storm_one_in(&storm->prng, 8);

	for (uint32_t i = 0; i < connections; i++) {
		connect(storm);
		cm_world_run(storm->world, random_pause(storm, 50000000));
		if (restarts && storm_one_in(&storm->prng, 8)) {
			cm_world_restart(storm->world,
					 storm_below(&storm->prng, storm->world->net.host_count));
			totals.restarts++;
		}
	}
	cm_world_run(storm->world, RUN_NS);
}

/* --- what must have come of it ---------------------------------------------------------------- */

/*
 * `status`: the expected reason of a rejection, if there was one. When so much is lost that the
 * peer did not hear us for a while, the peer has forgotten the reason, and answers that it knows
 * nothing of us.
 */
static void require(struct cm_end *end, const char *words, int status)
{
	bool is_forgotten = end->status == RNIC_CM_REJECT_INVALID_COMM_ID;
	const char *at = words;
	size_t length = strlen(end->log);

	/* One of the words between the bars. */
	for (; at != NULL; at = strchr(at, '|') == NULL ? NULL : strchr(at, '|') + 1)
		if (strncmp(at, end->log, length) == 0 && (at[length] == '|' || at[length] == '\0'))
			break;
	if (at == NULL)
		cm_world_fail(end->world, "connection %u, %s end, was told \"%s\" instead of %s",
			      end->token, end->is_active ? "active" : "passive", end->log, words);
	else if (strchr(end->log, 'J') != NULL && status != 0 && end->status != status &&
		 !is_forgotten)
		cm_world_fail(end->world, "connection %u: rejected for %d instead of %d",
			      end->token, end->status, status);
}

static void check_datagram(struct cm_end *active, struct cm_end *passive)
{
	bool is_accepted = active->plan->answer == CM_ACCEPT;

	require(active, is_accepted ? "E" : "J", RNIC_CM_SIDR_REJECT);
	require(passive, "Q", 0);
}

/* Whether the end may wait for its own call after the peer's farewell, and never make the call. */
static bool may_stay(const struct cm_end *end)
{
	const uint8_t side = end->is_active ? CM_ACTIVE_SIDE : CM_PASSIVE_SIDE;

	return (end->plan->ends_by_call & side) != 0 && end->plan->part_after_ns == CM_NEVER;
}

/* The connection stood. The end that destroys it hears no more; the other end hears all. */
static void check_standing(struct cm_end *end)
{
	bool is_closed = end->plan->hold_ns != CM_NEVER;

	if (end->connection == NULL)
		require(end, end->is_active ? "R|RD|RDT" : "QE|QED|QEDT", 0);
	else if (is_closed && may_stay(end))
		require(end, end->is_active ? "RD|RDT" : "QED|QEDT", 0);
	else if (is_closed)
		require(end, end->is_active ? "RDT" : "QEDT", 0);
	else
		require(end, end->is_active ? "R" : "QE", 0);
}

static void check_connection(struct cm_end *active, struct cm_end *passive)
{
	if (active->plan->answer != CM_ACCEPT) {
		require(active, "J", RNIC_CM_REJECT_CONSUMER);
		require(passive, "Q", 0);
	} else if (active->plan->confirm != CM_ACCEPT) {
		bool may_be_earlier = active->plan->take_back_after_ns != 0;

		require(active, may_be_earlier ? "J|R|RJ|RD|RDT" : "R", RNIC_CM_REJECT_CONSUMER);
		require(passive, "Q|QJ|QU", RNIC_CM_REJECT_CONSUMER);
	} else if (passive->connection == NULL && strcmp(passive->log, "Q") == 0) {
		/* It has accepted, and taken that back. */
		require(active, active->connection == NULL ? "J|R|RJ|RD|RDT" : "J|RJ|RD|RDT",
			RNIC_CM_REJECT_CONSUMER);
	} else {
		check_standing(active);
		check_standing(passive);
	}
}

static void check_end(struct cm_world *world, struct cm_end *active)
{
	struct cm_end *passive = cm_world_peer(world, active);
	bool is_datagram = active->plan->qp_type == RNIC_QP_TYPE_UD;

	if (active->plan->port != CM_WORLD_PORT) {
		require(active, active->plan->give_up_after_ns != 0 ? "|J" : "J",
			is_datagram ? RNIC_CM_SIDR_UNSUPPORTED : RNIC_CM_REJECT_INVALID_SERVICE_ID);
	} else if (active->log[0] == '\0' && active->plan->give_up_after_ns != 0) {
		if (passive != NULL)
			require(passive, "Q|QJ|QU", 0);
	} else if (passive == NULL) {
		cm_world_fail(world, "connection %u: nobody was asked", active->token);
	} else if (is_datagram) {
		check_datagram(active, passive);
	} else {
		check_connection(active, passive);
	}
}

static void count(struct cm_world *world)
{
	for (struct cm_end *end = world->ends; end != NULL; end = end->next)
		totals.stood += end->is_active && end->stood > 0;
	totals.connections += world->connect_count;
	totals.packets += world->net.counters.sent;
	totals.lost += world->net.counters.lost;
	totals.virtual_ns += world->net.now_ns;
}

static const char *storm_run(uint64_t seed, FILE *trace)
{
	struct storm storm = {0};

	prng_init(&storm.prng, seed);
	storm.world = cm_world_create(2 + storm_below(&storm.prng, 3), seed, trace);
	disturb_links(&storm);
	play(&storm);
	/* Where tries may run out or hosts forget, the words themselves were checked, letter by
	 * letter, and that all comes to an end is still to be. */
	if (!storm.world->may_be_unreachable && !storm.world->has_restarted)
		for (struct cm_end *end = storm.world->ends; end != NULL; end = end->next)
			if (end->is_active)
				check_end(storm.world, end);
	count(storm.world);
	return cm_world_finish(storm.world);
}

static void print_totals(void)
{
	printf("%" PRIu64 " connections (%" PRIu64 " stood), %" PRIu64 " restarts, %" PRIu64
	       " packets (%" PRIu64 " lost), %" PRIu64 " s of virtual time",
	       totals.connections, totals.stood, totals.restarts, totals.packets, totals.lost,
	       totals.virtual_ns / CM_WORLD_S);
}

int main(int argc, char **argv)
{
	static const struct storm_kind kind = {
		.name = "cm_storm",
		.run = storm_run,
		.totals = &totals,
		.totals_bytes = sizeof(totals),
		.print_totals = print_totals,
	};

	return storm_main(&kind, argc, argv);
}
