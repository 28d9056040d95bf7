/* SPDX-License-Identifier: MIT */
/* Connections over the simulated network, one thing that can happen at a time. */
#include "tests/sim/cm_world.h"

#include "daemon/control/cm/cm_connection.h"
#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#define assert_world_is_right(world)                                                               \
	do {                                                                                       \
		const char *failure_ = cm_world_finish(world);                                     \
		if (failure_ != NULL)                                                              \
			fail_msg("%s", failure_);                                                  \
	} while (0)

static const char *peer_log(struct cm_world *world, const struct cm_end *active)
{
	struct cm_end *peer = cm_world_peer(world, active);

	return peer == NULL ? "(none)" : peer->log;
}

static uint64_t count_all(const struct cm_world *world, enum cm_counter counter)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < world->net.host_count; i++)
		sum += cm_counter(world->hosts[i].cm, counter);
	return sum;
}

/* Either end closes, in every way: both ends learn of both. */
static void test_connect_and_part(void **state)
{
	(void)state;
	for (enum cm_closing_end closing_end = CM_ACTIVE_CLOSES; closing_end <= CM_BOTH_CLOSE;
	     closing_end++) {
		const struct cm_plan plan = {
			.to = 1, .closing_end = closing_end, .hold_ns = CM_WORLD_MS};
		struct cm_world *world = cm_world_create(2, 1, NULL);
		struct cm_end *end = cm_world_connect(world, &plan);

		cm_world_run(world, 50 * CM_WORLD_MS);
		assert_string_equal(end->log, "RDT");
		assert_string_equal(peer_log(world, end), "QEDT");
		assert_int_equal(count_all(world, CM_COUNTER_RETRIES), 0);
		assert_int_equal(count_all(world, CM_COUNTER_UNEXPECTED), 0);
		assert_world_is_right(world);
	}
}

/* The end that ends by call never makes the call: the other end tries to the last, and gives up. */
static void test_nobody_parts(void **state)
{
	const struct cm_plan plan = {
		.to = 1,
		.closing_end = CM_ACTIVE_CLOSES,
		.ends_by_call = CM_PASSIVE_SIDE,
		.part_after_ns = CM_NEVER,
		.hold_ns = CM_WORLD_MS,
	};
	struct cm_world *world = cm_world_create(2, 1, NULL);
	struct cm_end *end = cm_world_connect(world, &plan);

	(void)state;
	cm_world_run(world, 200 * CM_WORLD_MS);
	assert_string_equal(end->log, "R");
	assert_string_equal(peer_log(world, end), "QED");
	cm_world_run(world, 400 * CM_WORLD_MS);
	assert_string_equal(end->log, "RDT");
	assert_string_equal(peer_log(world, end), "QED");
	assert_int_equal(count_all(world, CM_COUNTER_RETRIES), 15);
	assert_world_is_right(world);
}

/* The call, or the end of the holder, lets the other end go. */
static void test_late_parting(void **state)
{
	(void)state;
	for (int by_destroying = 0; by_destroying <= 1; by_destroying++) {
		const struct cm_plan plan = {
			.to = 1,
			.closing_end = CM_ACTIVE_CLOSES,
			.closes_by_destroying = by_destroying == 1,
			.ends_by_call = CM_PASSIVE_SIDE,
			.part_after_ns = 100 * CM_WORLD_MS,
			.hold_ns = CM_WORLD_MS,
		};
		struct cm_world *world = cm_world_create(2, 1, NULL);
		struct cm_end *end = cm_world_connect(world, &plan);

		cm_world_run(world, 90 * CM_WORLD_MS);
		assert_string_equal(end->log, "R");
		cm_world_run(world, 100 * CM_WORLD_MS);
		assert_string_equal(end->log, by_destroying ? "R" : "RDT");
		assert_string_equal(peer_log(world, end), by_destroying ? "QED" : "QEDT");
		assert_world_is_right(world);
	}
}

static void test_destroyed(void **state)
{
	(void)state;
	for (enum cm_closing_end closing_end = CM_ACTIVE_CLOSES; closing_end <= CM_PASSIVE_CLOSES;
	     closing_end++) {
		const struct cm_plan plan = {
			.to = 1, .closing_end = closing_end, .closes_by_destroying = true};
		struct cm_world *world = cm_world_create(2, 1, NULL);
		struct cm_end *end = cm_world_connect(world, &plan);

		cm_world_run(world, 50 * CM_WORLD_MS);
		assert_string_equal(end->log, closing_end == CM_ACTIVE_CLOSES ? "R" : "RDT");
		assert_string_equal(peer_log(world, end),
				    closing_end == CM_ACTIVE_CLOSES ? "QEDT" : "QE");
		assert_world_is_right(world);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		struct cm_plan plan;
		const char *active;
		const char *passive;
		int status;
	} cases[] = {
		{{.to = 1, .answer = CM_REJECT}, "J", "Q", RNIC_CM_REJECT_CONSUMER},
		{{.to = 1, .answer = CM_DESTROY}, "J", "Q", RNIC_CM_REJECT_CONSUMER},
		{{.to = 1, .confirm = CM_REJECT}, "R", "QJ", 0},
		{{.to = 1, .confirm = CM_DESTROY}, "R", "QJ", 0},
		{{.to = 1, .port = 1}, "J", "(none)", RNIC_CM_REJECT_INVALID_SERVICE_ID},
		{{.to = 1, .qp_type = RNIC_QP_TYPE_UD, .answer = CM_REJECT},
		 "J",
		 "Q",
		 RNIC_CM_SIDR_REJECT},
		{{.to = 1, .qp_type = RNIC_QP_TYPE_UD, .port = 1},
		 "J",
		 "(none)",
		 RNIC_CM_SIDR_UNSUPPORTED},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct cm_world *world = cm_world_create(2, 1, NULL);
		struct cm_end *end = cm_world_connect(world, &cases[i].plan);

		cm_world_run(world, 50 * CM_WORLD_MS);
		assert_string_equal(end->log, cases[i].active);
		assert_int_equal(end->status, cases[i].status);
		assert_string_equal(peer_log(world, end), cases[i].passive);
		assert_world_is_right(world);
	}
}

static void test_other_types(void **state)
{
	static const uint8_t types[] = {RNIC_QP_TYPE_UC, RNIC_QP_TYPE_XRC_INITIATOR};
	const struct cm_plan datagram = {.to = 1, .qp_type = RNIC_QP_TYPE_UD};
	struct cm_world *world = cm_world_create(2, 1, NULL);
	struct cm_end *end = cm_world_connect(world, &datagram);

	(void)state;
	cm_world_run(world, CM_WORLD_MS);
	assert_string_equal(end->log, "E");
	assert_string_equal(peer_log(world, end), "Q");
	for (size_t i = 0; i < RNIC_COUNT_OF(types); i++) {
		const struct cm_plan plan = {.to = 1, .qp_type = types[i]};
		struct cm_connection_info info;

		end = cm_world_connect(world, &plan);
		cm_describe(end->connection, &info);
		assert_int_equal(info.qp_type, types[i]);
		cm_world_run(world, 50 * CM_WORLD_MS);
		assert_string_equal(end->log, "RDT");
		assert_string_equal(peer_log(world, end), "QEDT");
	}
	assert_world_is_right(world);
}

/* Any one message is lost, or all arrive twice and out of order: no program sees a difference. */
static void test_one_loss(void **state)
{
	static const enum rnic_cm_kind kinds[] = {RNIC_CM_REQ, RNIC_CM_REP, RNIC_CM_RTU,
						  RNIC_CM_DREQ, RNIC_CM_DREP};

	(void)state;
	for (uint32_t mask = 0; mask < 1u << RNIC_COUNT_OF(kinds); mask++) {
		const struct cm_plan plan = {.to = 1, .hold_ns = CM_WORLD_MS};
		struct cm_world *world = cm_world_create(2, 1, NULL);
		struct cm_end *end = cm_world_connect(world, &plan);

		for (size_t i = 0; i < RNIC_COUNT_OF(kinds); i++)
			if ((mask & 1u << i) != 0)
				world->lose_first |= CM_BIT(kinds[i]);
		cm_world_run(world, 500 * CM_WORLD_MS);
		assert_string_equal(end->log, "RDT");
		assert_string_equal(peer_log(world, end), "QEDT");
		assert_int_equal(end->requests, 1);
		assert_int_equal(world->lose_first, 0);
		assert_world_is_right(world);
	}
}

/* --- farewells that are lost, however often they are tried ------------------------------------ */

#define TRIES	    4
#define TRY_NS	    ((UINT64_C(4096) << 12) + (UINT64_C(4096) << 11)) /* of the plan's codes */
#define TIMEWAIT_NS (8 * CM_WORLD_MS)				      /* likewise */

/* What an end was told since it stood. */
static void expect_told(const struct cm_end *end, const char *letters, int status)
{
	char log[sizeof(end->log)];

	snprintf(log, sizeof(log), "%s%s", end->is_active ? "R" : "QE", letters);
	assert_string_equal(end->log, log);
	assert_int_equal(end->status, status);
}

static void part(struct cm_end *end)
{
	assert_int_equal(cm_disconnect(end->connection, end->world->net.now_ns), 0);
}

/* Runs until `end`, which has just parted, has given up: after all its tries, and not before. */
static void expect_giving_up(struct cm_end *end)
{
	struct cm_world *world = end->world;
	const struct cm *cm = world->hosts[end->host].cm;
	const uint64_t retries = cm_counter(cm, CM_COUNTER_RETRIES);
	const uint64_t timeouts = cm_counter(cm, CM_COUNTER_TIMEOUTS);

	cm_world_run(world, TRIES * TRY_NS - 1);
	expect_told(end, "", 0);
	cm_world_run(world, 1);
	expect_told(end, "D", -ETIMEDOUT);
	assert_int_equal(cm_counter(cm, CM_COUNTER_RETRIES), retries + TRIES - 1);
	assert_int_equal(cm_counter(cm, CM_COUNTER_TIMEOUTS), timeouts + 1);
}

/* Runs until timewait is over, which begins now. */
static void expect_timewait(struct cm_end *end, int status)
{
	cm_world_run(end->world, TIMEWAIT_NS - 1);
	expect_told(end, "D", status);
	cm_world_run(end->world, 1 + CONNECTION_TOGETHER_NS);
	expect_told(end, "DT", status);
}

/* A connection that stands until its ends part, in a world that loses such messages then. */
static struct cm_end *stand_and_lose(enum rnic_cm_kind lost, uint8_t ends_by_call)
{
	const struct cm_plan plan = {.to = 1,
				     .hold_ns = CM_NEVER,
				     .max_retries = TRIES - 1,
				     .ends_by_call = ends_by_call};
	struct cm_world *world = cm_world_create(2, 1, NULL);
	struct cm_end *end = cm_world_connect(world, &plan);

	cm_world_run(world, 500 * CM_WORLD_MS);
	expect_told(end, "", 0);
	expect_told(cm_world_peer(world, end), "", 0);
	world->may_be_unreachable = true;
	world->lose_all = CM_BIT(lost);
	return end;
}

/* The other end hears nothing of it. It stands until it parts, and nobody hears that, either. */
static void expect_unheard(struct cm_end *leaver, struct cm_end *other)
{
	part(leaver);
	expect_giving_up(leaver);
	expect_timewait(leaver, -ETIMEDOUT);
	expect_told(other, "", 0);
	part(other);
	expect_giving_up(other);
	expect_timewait(other, -ETIMEDOUT);
	expect_told(leaver, "DT", -ETIMEDOUT);
}

/* The other end hears of each try, and is told once. */
static void expect_unanswered(struct cm_end *leaver, struct cm_end *other)
{
	part(leaver);
	expect_giving_up(leaver);
	expect_told(other, "DT", 0);
	expect_timewait(leaver, -ETIMEDOUT);
	expect_told(other, "DT", 0);
}

static void test_lost_farewells(void **state)
{
	static const uint8_t calls[] = {0, CM_ACTIVE_SIDE | CM_PASSIVE_SIDE};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		for (enum rnic_cm_kind lost = RNIC_CM_DREQ; lost <= RNIC_CM_DREP; lost++) {
			struct cm_end *active = stand_and_lose(lost, calls[i % 2]);
			struct cm_world *world = active->world;
			struct cm_end *ends[] = {active, cm_world_peer(world, active)};
			struct cm_end *leaver = ends[i / 2], *other = ends[1 - i / 2];

			if (lost == RNIC_CM_DREQ)
				expect_unheard(leaver, other);
			else
				expect_unanswered(leaver, other);
			assert_world_is_right(world);
		}
	}
}

/* Both part at once. A DREQ that crosses the own one is as good as its answer. */
static void test_lost_farewells_cross(void **state)
{
	(void)state;
	for (uint8_t by_call = 0; by_call <= 1; by_call++) {
		for (enum rnic_cm_kind lost = RNIC_CM_DREQ; lost <= RNIC_CM_DREP; lost++) {
			const int status = lost == RNIC_CM_DREQ ? -ETIMEDOUT : 0;
			struct cm_end *active = stand_and_lose(
				lost, by_call ? CM_ACTIVE_SIDE | CM_PASSIVE_SIDE : 0);
			struct cm_world *world = active->world;

			part(active);
			part(cm_world_peer(world, active));
			if (lost == RNIC_CM_DREQ)
				expect_giving_up(active);
			cm_world_run(world, TIMEWAIT_NS + 2 * CONNECTION_TOGETHER_NS);
			expect_told(active, "DT", status);
			expect_told(cm_world_peer(world, active), "DT", status);
			assert_world_is_right(world);
		}
	}
}

/* --- refusals, repetitions, delays ------------------------------------------------------------ */

static void test_lost_refusals(void **state)
{
	static const struct {
		struct cm_plan plan;
		const char *active;
		const char *passive;
	} cases[] = {
		{{.to = 1, .answer = CM_REJECT}, "J", "Q"},
		{{.to = 1, .answer = CM_DESTROY}, "J", "Q"},
		{{.to = 1, .confirm = CM_REJECT}, "R", "QJ"},
		{{.to = 1, .confirm = CM_DESTROY}, "R", "QJ"},
		{{.to = 1, .port = 1}, "J", "(none)"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct cm_world *world = cm_world_create(2, 1, NULL);
		struct cm_end *end = cm_world_connect(world, &cases[i].plan);

		world->lose_first = CM_BIT(RNIC_CM_REJ);
		cm_world_run(world, 200 * CM_WORLD_MS);
		assert_string_equal(end->log, cases[i].active);
		assert_string_equal(peer_log(world, end), cases[i].passive);
		assert_in_range(end->requests, 0, 1);
		assert_world_is_right(world);
	}
}

static void test_everything_twice(void **state)
{
	const struct sim_link link = {
		.duplicate_ppm = 1000000, .jitter_ns = CM_WORLD_MS, .delay_ns = 10000};
	struct cm_world *world = cm_world_create(2, 1, NULL);
	struct cm_end *ends[100];

	(void)state;
	cm_world_links(world, &link);
	for (size_t i = 0; i < RNIC_COUNT_OF(ends); i++) {
		const struct cm_plan plan = {.to = 1,
					     .closing_end = (enum cm_closing_end)(i % 3),
					     .hold_ns = 3 * CM_WORLD_MS};

		ends[i] = cm_world_connect(world, &plan);
	}
	cm_world_run(world, CM_WORLD_S);
	for (size_t i = 0; i < RNIC_COUNT_OF(ends); i++) {
		assert_string_equal(ends[i]->log, "RDT");
		assert_string_equal(peer_log(world, ends[i]), "QEDT");
		assert_int_equal(ends[i]->requests, 1);
	}
	assert_true(count_all(world, CM_COUNTER_DUPLICATES) > 200);
	assert_world_is_right(world);
}

/* Both ask each other at once, and each asks itself. */
static void test_crossed_and_own(void **state)
{
	struct cm_world *world = cm_world_create(2, 1, NULL);
	struct cm_end *ends[4];

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		const struct cm_plan plan = {.from = i / 2,
					     .to = i % 2,
					     .hold_ns = CM_WORLD_MS,
					     .closing_end = CM_BOTH_CLOSE};

		ends[i] = cm_world_connect(world, &plan);
	}
	cm_world_run(world, 100 * CM_WORLD_MS);
	for (uint32_t i = 0; i < 4; i++) {
		assert_string_equal(ends[i]->log, "RDT");
		assert_string_equal(peer_log(world, ends[i]), "QEDT");
	}
	assert_world_is_right(world);
}

/* A program that thinks for longer than all tries take has asked for time. */
static void test_slow_answers(void **state)
{
	const struct cm_plan plan = {
		.to = 1,
		.max_retries = 2,
		.answer_after_ns = 10 * CM_WORLD_S,
		.confirm_after_ns = 10 * CM_WORLD_S,
	};
	struct cm_world *world = cm_world_create(2, 1, NULL);
	struct cm_end *end = cm_world_connect(world, &plan);

	(void)state;
	cm_world_run(world, 25 * CM_WORLD_S);
	assert_string_equal(end->log, "RDT");
	assert_string_equal(peer_log(world, end), "QEDT");
	assert_world_is_right(world);
}

static void test_giving_up(void **state)
{
	const struct cm_plan plan = {
		.to = 1, .answer = CM_IGNORE, .give_up_after_ns = 5 * CM_WORLD_MS};
	struct cm_world *world = cm_world_create(2, 1, NULL);
	struct cm_end *end = cm_world_connect(world, &plan);

	(void)state;
	cm_world_run(world, 50 * CM_WORLD_MS);
	assert_string_equal(end->log, "");
	assert_string_equal(peer_log(world, end), "QJ");
	assert_int_equal(cm_world_peer(world, end)->status, RNIC_CM_REJECT_TIMEOUT);
	assert_world_is_right(world);
}

static void test_dead_host(void **state)
{
	const struct cm_plan plan = {.to = 1, .max_retries = 3};
	struct cm_world *world = cm_world_create(2, 1, NULL);
	struct cm_end *end;

	(void)state;
	world->may_be_unreachable = true;
	world->hosts[1].is_dead = true;
	end = cm_world_connect(world, &plan);
	cm_world_run(world, 4 * (17 + 9) * CM_WORLD_MS);
	assert_string_equal(end->log, "U");
	assert_int_equal(end->status, -ETIMEDOUT);
	assert_world_is_right(world);
}

/*
 * A host forgets a connection. Its peer learns of it when it parts, or when the same QP asks again:
 * that is refused, and served once the QP has not answered.
 */
static void test_restart(void **state)
{
	const struct cm_plan plan = {.to = 1, .hold_ns = 100 * CM_WORLD_MS, .qpn = 77};
	const struct cm_plan held = {.to = 1, .hold_ns = CM_NEVER, .qpn = 78};
	struct cm_world *world = cm_world_create(2, 1, NULL);
	struct cm_end *end = cm_world_connect(world, &plan);
	struct cm_end *old = cm_world_connect(world, &held);
	struct cm_end *again;

	(void)state;
	cm_world_run(world, 10 * CM_WORLD_MS);
	assert_string_equal(peer_log(world, end), "QE");
	cm_world_restart(world, 1);
	cm_world_run(world, 110 * CM_WORLD_MS);
	assert_string_equal(end->log, "RDT");

	assert_string_equal(old->log, "R");
	cm_world_restart(world, 0);
	again = cm_world_connect(world, &held);
	cm_world_run(world, 10 * CM_WORLD_MS);
	assert_string_equal(again->log, "R");
	cm_world_restart(world, 0);
	again = cm_world_connect(world, &held);
	cm_world_run(world, 10 * CM_WORLD_MS);
	assert_string_equal(again->log, "J");
	assert_int_equal(again->status, RNIC_CM_REJECT_STALE_CONNECTION);
	cm_world_run(world, CM_WORLD_S);
	again = cm_world_connect(world, &held);
	cm_world_run(world, 10 * CM_WORLD_MS);
	assert_string_equal(again->log, "R");
	assert_world_is_right(world);
}

static void test_many(void **state)
{
	enum { CONNECTIONS = 1000 };
	const struct sim_link link = {.loss_ppm = 10000, .delay_ns = 50000};
	struct cm_world *world = cm_world_create(2, 1, NULL);

	(void)state;
	cm_world_links(world, &link);
	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		const struct cm_plan plan = {.to = 1, .hold_ns = 300 * CM_WORLD_MS};

		cm_world_connect(world, &plan);
	}
	cm_world_run(world, 290 * CM_WORLD_MS);
	for (struct cm_end *end = world->ends; end != NULL; end = end->next)
		assert_string_equal(end->log, end->is_active ? "R" : "QE");
	cm_world_run(world, CM_WORLD_S);
	for (struct cm_end *end = world->ends; end != NULL; end = end->next)
		assert_string_equal(end->log, end->is_active ? "RDT" : "QEDT");
	assert_world_is_right(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connect_and_part),
		cmocka_unit_test(test_nobody_parts),
		cmocka_unit_test(test_late_parting),
		cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_other_types),
		cmocka_unit_test(test_one_loss),
		cmocka_unit_test(test_lost_farewells),
		cmocka_unit_test(test_lost_farewells_cross),
		cmocka_unit_test(test_lost_refusals),
		cmocka_unit_test(test_everything_twice),
		cmocka_unit_test(test_crossed_and_own),
		cmocka_unit_test(test_slow_answers),
		cmocka_unit_test(test_giving_up),
		cmocka_unit_test(test_dead_host),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
