/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/kept.h"

#include "lib/nic/engine/qp_state.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define SPAN 200

/* A fixture whose engine has `slots` slots. */
static struct engine_fixture *create(uint32_t slots)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	kept_pool_fini(&fixture->engine.kept);
	assert_int_equal(kept_pool_init(&fixture->engine.kept, slots), 0);
	fixture->engine.now_ns = fixture->now_ns;
	return fixture;
}

static struct rnic_packet write_packet(const struct engine_fixture *fixture, uint32_t psn)
{
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY, psn);

	packet.reth.rkey = fixture->mr.key;
	packet.reth.address = FIXTURE_IOVA;
	return packet;
}

static void keep(struct engine_fixture *fixture, struct qp *qp, uint32_t psn)
{
	const struct rnic_packet packet = write_packet(fixture, psn & RNIC_PSN_MASK);

	kept_add(&fixture->engine, &qp->kept, &packet);
}

static uint32_t count_runs(const bool *present)
{
	uint32_t runs = 0;

	for (uint32_t i = 0; i < SPAN; i++)
		runs += present[i] && (i == 0 || !present[i - 1]);
	return runs;
}

/* Any order in, and copies: PSN order out, over the end of the PSNs. */
static void test_order(void **state)
{
	struct engine_fixture *fixture = create(512);
	struct qp *qp = fixture->qp;
	struct prng prng;

	(void)state;
	prng_init(&prng, 5);
	for (uint32_t round = 0; round < 200; round++) {
		bool present[SPAN] = {false};
		uint32_t start = RNIC_PSN_MASK - SPAN / 2;

		for (uint32_t i = (uint32_t)prng_below(&prng, 2 * SPAN); i > 0; i--) {
			uint32_t at = (uint32_t)prng_below(&prng, SPAN);

			present[at] = true;
			keep(fixture, qp, start + at);
			assert_int_equal(qp->kept.run_count, count_runs(present));
		}
		for (uint32_t at = 0; at < SPAN; at++) {
			struct kept_packet *packet;

			if (!present[at])
				continue;
			packet = kept_take_first(&qp->kept);
			assert_int_equal(packet->packet.psn.value, (start + at) & RNIC_PSN_MASK);
			present[at] = false;
			assert_int_equal(qp->kept.run_count, count_runs(present));
			kept_give_back(&fixture->engine, packet);
		}
		assert_null(qp->kept.first);
		assert_int_equal(fixture->engine.kept.used_count, 0);
	}
	fixture_destroy(fixture);
}

/* One QP leaves some to others, and they get what it holds for nobody. */
static void test_share(void **state)
{
	struct engine_fixture *fixture = create(100);
	struct qp *other = fixture_create_qp(fixture, &fixture_defaults);
	uint32_t most;

	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		keep(fixture, fixture->qp, 1000 + i);
	most = fixture->qp->kept.packet_count;
	assert_in_range(most, 100 * LIMIT_KEPT_SHARE / (LIMIT_KEPT_SHARE + 1),
			100 * LIMIT_KEPT_SHARE / (LIMIT_KEPT_SHARE + 1) + 1);
	for (uint32_t i = 0; i < 200; i++)
		keep(fixture, other, 1000 + i);
	assert_in_range(other->kept.packet_count, 1, 100 - most);
	assert_int_equal(fixture->qp->kept.packet_count, most);

	fixture->engine.now_ns += LIMIT_KEPT_NS;
	keep(fixture, other, 2000);
	assert_int_equal(fixture->qp->kept.packet_count, 0);
	assert_null(fixture->qp->kept.first);
	qp_destroy(other);
	assert_int_equal(fixture->engine.kept.used_count, 0);
	fixture_destroy(fixture);
}

static void test_runs_are_few(void **state)
{
	struct engine_fixture *fixture = create(4 * LIMIT_KEPT_RUNS);

	(void)state;
	for (uint32_t i = 0; i < 2 * LIMIT_KEPT_RUNS; i++)
		keep(fixture, fixture->qp, 1000 + 2 * i);
	assert_int_equal(fixture->qp->kept.packet_count, LIMIT_KEPT_RUNS);
	/* What joins runs is kept. */
	keep(fixture, fixture->qp, 1001);
	assert_int_equal(fixture->qp->kept.run_count, LIMIT_KEPT_RUNS - 1);
	fixture_destroy(fixture);
}

static void test_what_is_not_kept(void **state)
{
	struct engine_fixture *fixture = create(0);
	struct rnic_packet read;

	(void)state;
	keep(fixture, fixture->qp, 1000);
	assert_null(fixture->qp->kept.first);
	fixture_destroy(fixture);
	fixture = create(8);
	read = fixture_packet(fixture, RNIC_OPERATION_READ_REQUEST, RNIC_POSITION_ONLY, 101);
	read.reth.length = 1;
	fixture_receive(fixture, &read);
	assert_null(fixture->qp->kept.first);
	fixture_destroy(fixture);
}

/* Many kept packets are taken in slices, and acknowledged when all are. */
static void test_slices(void **state)
{
	const uint32_t count = LIMIT_KEPT_SLICE + 10;
	struct engine_fixture *fixture = create(4 * LIMIT_KEPT_SLICE);
	struct responder *responder = &fixture->qp->responder;
	struct rnic_packet packet;

	(void)state;
	for (uint32_t i = 1; i <= count; i++) {
		packet = write_packet(fixture, 100 + i);
		fixture_receive(fixture, &packet);
	}
	assert_int_equal(fixture_transmit_all(fixture), 1);
	packet = write_packet(fixture, 100);
	packet.ack_request = true;
	fixture_receive(fixture, &packet);
	assert_int_equal(responder->expected_psn.value, 101 + LIMIT_KEPT_SLICE);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	assert_int_equal(engine_next_deadline_ns(&fixture->engine), fixture->now_ns);

	/* One that comes meanwhile gets in line. */
	packet = write_packet(fixture, 101 + count);
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->qp->kept.packet_count, count + 1 - LIMIT_KEPT_SLICE);
	fixture_tick(fixture, 0);
	assert_null(fixture->qp->kept.first);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->sent.packet.psn.value, 101 + count);
	assert_int_equal(fixture->engine.counters[COUNTER_WRITE_REQUESTS], count + 2);
	assert_int_equal(fixture->engine.kept.used_count, 0);
	fixture_destroy(fixture);
}

/* A QP that fails, is reset or goes gives its slots back. */
static void test_slots_come_back(void **state)
{
	struct engine_fixture *fixture = create(64);
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_ERR};
	struct qp *qp = fixture->qp;

	(void)state;
	keep(fixture, qp, 102);
	assert_int_equal(qp_modify(qp, &attributes, RNIC_QP_ATTR_STATE), 0);
	assert_int_equal(fixture->engine.kept.used_count, 0);
	qp = fixture_create_qp(fixture, &fixture_defaults);
	keep(fixture, qp, 102);
	attributes.state = RNIC_QP_STATE_RESET;
	assert_int_equal(qp_modify(qp, &attributes, RNIC_QP_ATTR_STATE), 0);
	assert_int_equal(fixture->engine.kept.used_count, 0);
	qp_destroy(qp);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),	     cmocka_unit_test(test_share),
		cmocka_unit_test(test_runs_are_few), cmocka_unit_test(test_what_is_not_kept),
		cmocka_unit_test(test_slices),	     cmocka_unit_test(test_slots_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
