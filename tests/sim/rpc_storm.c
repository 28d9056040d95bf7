/* SPDX-License-Identifier: MIT */
/*
 * Storms of calls: a client calls a server over a random network, cancels, loses patience, and the
 * server dies and comes back. Every call must end once, with its answer or a clear error; none may
 * be executed twice; and once the network lets messages through again all must be over within a
 * bounded time, with nothing held. Arguments: storm_main.h.
 */
#include "tests/sim/rpc_world.h"
#include "tests/sim/storm_main.h"

#include <inttypes.h>

#define STEPS	     40
#define TIMEOUT_MS   8000u /* of a call at most */
#define SHRUNK_CALLS 3
#define REST_NS	     (10000 * RPC_WORLD_MS)

static struct {
	uint64_t calls;
	uint64_t answered;
	uint64_t large; /* of these, calls that did not fit a message, or were a stream */
	uint64_t datagrams;
	uint64_t too_large;
	uint64_t conversations;
} totals;

static uint32_t below(struct rpc_world *world, uint32_t bound)
{
	return (uint32_t)prng_below(&world->prng, bound);
}

/* From now on, only datagrams of the size that needs no agreement are sure to get through. */
static void shrink_path(struct rpc_world *world)
{
	const uint32_t least = world->config.datagram_bytes;

	world->link.largest_bytes = least + below(world, RPC_DATAGRAM_MAX_BYTES - least + 1);
}

static void disturb(struct rpc_world *world)
{
	struct rpc_world_link *link = &world->link;

	*link = (struct rpc_world_link){.delay_ns = 5000 + below(world, 2000000)};
	if (below(world, 2) == 0)
		link->loss_ppm = below(world, 200000);
	if (below(world, 3) == 0)
		link->duplicate_ppm = below(world, 200000);
	if (below(world, 3) == 0)
		link->reorder_ppm = below(world, 200000);
	if (below(world, 4) == 0)
		link->damage_ppm = below(world, 100000);
	if (below(world, 4) == 0)
		shrink_path(world);
	if (below(world, 20) == 0)
		link->loss_ppm = 1000000; /* nothing at all gets through */
}

static void call_some(struct rpc_world *world)
{
	for (uint32_t count = below(world, 16); count > 0; count--) {
		struct rpc_world_call call = {
			.is_idempotent = below(world, 2) == 0,
			.is_stream = below(world, 8) == 0,
			.request_bytes = below(world, 300),
			.timeout_ns = (1 + below(world, TIMEOUT_MS)) * RPC_WORLD_MS,
		};

		if (below(world, 4) == 0)
			call.request_bytes = below(world, RPC_WORLD_MESSAGE_BYTES);
		else if (below(world, 16) == 0)
			call.request_bytes = below(world, RPC_WORLD_BODY_BYTES);
		rpc_world_call(world, &call);
	}
}

static void step(struct rpc_world *world)
{
	switch (below(world, 8)) {
	case 0:
		disturb(world);
		break;
	case 1:
		if (world->calls.next > 1)
			rpc_world_cancel(world, 1 + below(world, (uint32_t)world->calls.next));
		break;
	case 2:
		if (below(world, 3) == 0 && world->is_server_up)
			rpc_world_kill_server(world);
		break;
	case 3:
		rpc_world_start_server(world);
		break;
	default:
		call_some(world);
	}
	rpc_world_run(world, world->now_ns + (1 + below(world, 100)) * RPC_WORLD_MS);
}

static void add_totals(const struct rpc_world *world)
{
	totals.calls += world->calls.next - 1;
	totals.datagrams += world->datagrams;
	totals.too_large += world->too_large;
	totals.conversations += world->conversations;
	for (uint64_t id = 1; id < world->calls.next; id++) {
		const struct rpc_world_plan *plan = &world->plans[id];
		bool is_large = plan->request_bytes > RPC_WORLD_MESSAGE_BYTES;

		totals.answered += plan->status == RNIC_RPC_OK;
		totals.large += plan->status == RNIC_RPC_OK && (is_large || plan->is_stream);
	}
}

/*
 * The path shrinks, for good, under calls that need many fragments and whose network is perfect
 * otherwise: they succeed, each with time to find out.
 */
static const char *judge_shrunk_path(struct rpc_world *world)
{
	const uint64_t first = world->calls.next;
	struct rpc_world_call call = {.timeout_ns = REST_NS};

	for (uint32_t i = 0; i < SHRUNK_CALLS; i++) {
		call.request_bytes = i == 0 ? RPC_WORLD_MESSAGE_BYTES : RPC_WORLD_BODY_BYTES / 2;
		call.is_stream = i == 1;
		rpc_world_call(world, &call);
	}
	rpc_world_run(world, world->now_ns + below(world, 2) * RPC_WORLD_MS);
	shrink_path(world);
	rpc_world_run(world, world->now_ns + REST_NS);
	for (uint64_t id = first; id < world->calls.next; id++)
		if (world->plans[id].status != RNIC_RPC_OK && world->failure == NULL)
			return "a call did not succeed over a path that has shrunk";
	return NULL;
}

static const char *run(uint64_t seed, FILE *trace)
{
	struct rpc_world *world = rpc_world_create(seed, trace);
	const char *failure, *shrunk;

	disturb(world);
	for (uint32_t i = 0; i < STEPS && world->failure == NULL; i++)
		step(world);
	world->link = (struct rpc_world_link){.delay_ns = 10000};
	rpc_world_start_server(world);
	rpc_world_run(world, world->now_ns + REST_NS);
	shrunk = judge_shrunk_path(world);
	failure = rpc_world_judge(world);
	if (failure == NULL)
		failure = shrunk;
	if (failure == NULL && world->messages_out > 0)
		failure = "messages are held that nobody waits for";
	add_totals(world);
	rpc_world_destroy(world);
	return failure;
}

static void print_totals(void)
{
	printf("%" PRIu64 " calls (%" PRIu64 " answered, %" PRIu64 " of them large), %" PRIu64
	       " datagrams (%" PRIu64 " too large for the path), %" PRIu64 " ends of conversations",
	       totals.calls, totals.answered, totals.large, totals.datagrams, totals.too_large,
	       totals.conversations);
}

int main(int argc, char **argv)
{
	static const struct storm_kind kind = {
		.name = "rpc_storm",
		.run = run,
		.totals = &totals,
		.totals_bytes = sizeof(totals),
		.print_totals = print_totals,
	};

	return storm_main(&kind, argc, argv);
}
