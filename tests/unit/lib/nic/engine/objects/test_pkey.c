/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/pkey.h"

#include "lib/nic/engine/verbs/qp.h"
#include "proto/base/bits.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

static void test_matches(void **state)
{
	static const struct {
		uint16_t own;
		uint16_t theirs;
		bool is_match;
	} rows[] = {
		{0xffff, 0xffff, true},	 {0xffff, 0x7fff, true},  {0x7fff, 0xffff, true},
		{0x7fff, 0x7fff, false}, {0x8001, 0x8001, true},  {0x8001, 0xffff, false},
		{0x0001, 0x8001, true},	 {0x0001, 0x0001, false}, {0x8000, 0x8000, false},
		{0x0000, 0x8000, false}, {0x8001, 0x8003, false},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		assert_int_equal(pkey_matches(rows[i].own, rows[i].theirs), rows[i].is_match);
		assert_int_equal(pkey_matches(rows[i].theirs, rows[i].own), rows[i].is_match);
	}
}

/* The key at the QP's index goes out, and only packets with a matching key come in. */
static void test_index(uint8_t type)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;
	struct rnic_packet packet;

	options.type = type;
	fixture = fixture_create(&options);
	engine_set_pkey(&fixture->engine, 1, 0x8001);
	fixture->qp->attributes.pkey_index = 1;
	fixture_post_receive(fixture, 1, 0, 100);
	packet = fixture_packet(fixture, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 100);
	packet.qkey = fixture->qp->attributes.qkey;
	packet.pkey = 0xffff;
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->completion_count, 0);
	assert_int_equal(fixture->engine.counters[COUNTER_DROPPED_BAD_PKEY], 1);
	assert_int_equal(fixture->qp->last_error, VERDICT_BAD_PKEY);
	packet.pkey = 0x0001;
	packet.ack_request = type == RNIC_QP_TYPE_RC;
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->completion_count, 1);
	if (type == RNIC_QP_TYPE_RC) {
		assert_true(fixture_transmit(fixture));
		assert_int_equal(fixture->sent.packet.pkey, 0x8001);
	}
	fixture_destroy(fixture);
}

static void test_index_of_a_connection(void **state)
{
	(void)state;
	test_index(RNIC_QP_TYPE_RC);
	test_index(RNIC_QP_TYPE_UC);
}

static void test_index_of_datagrams(void **state)
{
	(void)state;
	test_index(RNIC_QP_TYPE_UD);
}

static void test_modify_takes_indices_of_the_table(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_INIT, .port = 1};
	const uint32_t mask = RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_PKEY_INDEX |
			      RNIC_QP_ATTR_ACCESS_FLAGS;
	struct rnic_qp_attributes reset = {.state = RNIC_QP_STATE_RESET};

	(void)state;
	engine_set_pkey(&fixture->engine, 2, 0x0001);
	assert_int_equal(qp_modify(fixture->qp, &reset, RNIC_QP_ATTR_STATE), 0);
	attributes.pkey_index = 1;
	assert_int_equal(qp_modify(fixture->qp, &attributes, mask), -EINVAL);
	attributes.pkey_index = LIMIT_PKEYS;
	assert_int_equal(qp_modify(fixture->qp, &attributes, mask), -EINVAL);
	attributes.pkey_index = 2;
	assert_int_equal(qp_modify(fixture->qp, &attributes, mask), 0);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_index_of_a_connection),
		cmocka_unit_test(test_index_of_datagrams),
		cmocka_unit_test(test_modify_takes_indices_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
