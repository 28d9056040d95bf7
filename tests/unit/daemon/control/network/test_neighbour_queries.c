/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/neighbour_queries.h"

#include "proto/wire/gid.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <errno.h>

#define NETDEV	 7
#define MANY	 150
#define TIME_NS	 1000
#define UNENDED	 1
#define ROUTER	 "192.0.2.254"
#define PEER	 "192.0.2.9"
#define FAR_PEER "198.51.100.1"

/* A kernel that knows some link addresses. */
struct world {
	struct neighbour_queries queries;
	bool knows_all;
	bool learns_at_call;
	bool is_hearing;
	uint32_t calls;
	uint32_t ended;
	int status[MANY];
	struct neighbour_query asked[MANY];
};

static bool world_is_unknown(void *context, const struct hop_way *way, struct next_hop *hop)
{
	const struct rnic_gid far_peer = fixture_gid(FAR_PEER);
	struct world *world = context;

	assert_int_equal(way->netdev_index, NETDEV);
	*hop = (struct next_hop){way->peer, NETDEV};
	if (rnic_gid_equal(&way->peer, &far_peer))
		hop->gid = fixture_gid(ROUTER);
	return !world->knows_all;
}

static void world_call(void *context, const struct hop_way *way)
{
	struct world *world = context;

	(void)way;
	world->calls++;
	world->knows_all = world->learns_at_call;
}

static void world_hear(void *context, bool is_wanted)
{
	struct world *world = context;

	assert_int_not_equal(world->is_hearing, is_wanted);
	world->is_hearing = is_wanted;
}

static struct world world;

static void on_end(struct neighbour_query *query, int status)
{
	world.status[query - world.asked] = status;
	world.ended++;
}

static int set_up(void **state)
{
	static const struct neighbour_calls calls = {world_is_unknown, world_call, world_hear};

	(void)state;
	world = (struct world){.knows_all = false};
	neighbour_queries_init(&world.queries, &calls, &world, NETDEV);
	for (uint32_t i = 0; i < MANY; i++) {
		world.asked[i].ended = on_end;
		world.status[i] = UNENDED;
	}
	return 0;
}

static bool ask(uint32_t index, const char *peer, uint64_t until_ns)
{
	const struct rnic_gid from = fixture_gid("192.0.2.1"), to = fixture_gid(peer);

	return neighbour_queries_begin(&world.queries, &world.asked[index], &from, &to, until_ns);
}

static void hear_of(const char *neighbour, uint32_t netdev_index)
{
	const struct next_hop hop = {fixture_gid(neighbour), netdev_index};

	neighbour_queries_note(&world.queries, &hop);
}

static void test_known_neighbour(void **state)
{
	(void)state;
	world.knows_all = true;
	assert_false(ask(0, PEER, TIME_NS));
	assert_int_equal(world.calls, 0);
	assert_false(world.is_hearing);
	assert_true(world.queries.next_ns == UINT64_MAX);
}

/* The neighbour answers between the call and the first news. */
static void test_quick_neighbour(void **state)
{
	(void)state;
	world.learns_at_call = true;
	assert_false(ask(0, PEER, TIME_NS));
	assert_int_equal(world.calls, 1);
	assert_false(world.is_hearing);
	neighbour_queries_tick(&world.queries, TIME_NS);
	assert_int_equal(world.ended, 0);
}

static void test_silent_neighbour(void **state)
{
	(void)state;
	assert_true(ask(0, PEER, TIME_NS));
	assert_true(world.is_hearing);
	assert_true(world.queries.next_ns == TIME_NS);
	neighbour_queries_tick(&world.queries, TIME_NS - 1);
	assert_int_equal(world.status[0], UNENDED);
	neighbour_queries_tick(&world.queries, TIME_NS);
	assert_int_equal(world.status[0], -ETIMEDOUT);
	assert_false(world.is_hearing);
	assert_true(world.queries.next_ns == UINT64_MAX);
}

/* News of a router ends the queries for what is behind it, and no other. */
static void test_answer(void **state)
{
	(void)state;
	assert_true(ask(0, FAR_PEER, TIME_NS));
	assert_true(ask(1, PEER, TIME_NS));
	hear_of(FAR_PEER, NETDEV);
	hear_of(ROUTER, NETDEV + 1);
	assert_true(world.queries.next_ns == TIME_NS);
	hear_of(ROUTER, NETDEV);
	neighbour_queries_tick(&world.queries, 1);
	assert_int_equal(world.status[0], 0);
	assert_int_equal(world.status[1], UNENDED);
	assert_true(world.queries.next_ns == TIME_NS);
	neighbour_queries_tick(&world.queries, TIME_NS);
	assert_int_equal(world.status[1], -ETIMEDOUT);
}

/* The news was lost: the last look finds the answer. */
static void test_lost_news(void **state)
{
	(void)state;
	assert_true(ask(0, PEER, TIME_NS));
	world.knows_all = true;
	neighbour_queries_tick(&world.queries, TIME_NS);
	assert_int_equal(world.status[0], 0);
}

static void test_cancelled(void **state)
{
	(void)state;
	neighbour_queries_cancel(&world.queries, &world.asked[0]);
	assert_true(ask(0, PEER, TIME_NS));
	neighbour_queries_cancel(&world.queries, &world.asked[0]);
	assert_false(world.is_hearing);
	neighbour_queries_tick(&world.queries, TIME_NS);
	assert_int_equal(world.status[0], UNENDED);
}

/* Many that end together take several ticks, each due at once. */
static void test_many(void **state)
{
	uint32_t ticks = 0;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		assert_true(ask(i, PEER, TIME_NS));
	while (world.queries.next_ns <= TIME_NS) {
		const uint32_t before = world.ended;

		neighbour_queries_tick(&world.queries, TIME_NS);
		assert_true(world.ended - before <= 64);
		assert_true(++ticks <= MANY);
	}
	assert_int_equal(world.ended, MANY);
	assert_false(world.is_hearing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_known_neighbour, set_up),
		cmocka_unit_test_setup(test_quick_neighbour, set_up),
		cmocka_unit_test_setup(test_silent_neighbour, set_up),
		cmocka_unit_test_setup(test_answer, set_up),
		cmocka_unit_test_setup(test_lost_news, set_up),
		cmocka_unit_test_setup(test_cancelled, set_up),
		cmocka_unit_test_setup(test_many, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
