/* SPDX-License-Identifier: MIT */
/* Objects out of reach once the owner of a protection domain, or of an XRC domain, has gone. */
#include "lib/nic/engine/objects/pd.h"

#include "lib/nic/engine/objects/xrcd.h"
#include "lib/nic/engine/ready_list.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

static uint64_t dropped(const struct engine_fixture *fixture)
{
	return fixture->engine.counters[COUNTER_DROPPED_UNKNOWN_QP];
}

static void test_a_closed_qp_takes_nothing(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 100);

	(void)state;
	fixture_post_receive(fixture, 1, 0, 64);
	fixture_post_receive(fixture, 2, 0, 64);
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->completion_count, 1);
	pd_close(&fixture->pd);
	packet.psn = rnic_psn(101);
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(dropped(fixture), 1);
	/* Not even the acknowledgement of what it took before. */
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_destroy(fixture);
}

/* Between the end of the memory and that of the queue pair, a peer hears that its key is wrong. */
static void test_a_qp_without_memory_refuses(void **state)
{
	static const uint8_t payload[8];
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY, 100);

	(void)state;
	packet.reth = (struct rnic_reth){FIXTURE_IOVA, fixture->mr.key, sizeof(payload)};
	packet.payload = payload;
	packet.payload_bytes = sizeof(payload);
	fixture->pd.has_no_memory = true;
	fixture_receive(fixture, &packet);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.aeth.syndrome,
			 rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_REMOTE_ACCESS_ERROR));
	pd_close(&fixture->pd);
	packet.psn = rnic_psn(101);
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_destroy(fixture);
}

static void test_a_closed_qp_sends_nothing(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct qp *other;

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 2000);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	fixture_post_simple(fixture, RNIC_WR_SEND, 2, 2000);
	pd_close(&fixture->pd);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	assert_int_equal(fixture->qp->peer_window->in_flight_bytes, 0);
	assert_true(engine_next_deadline_ns(&fixture->engine) == UINT64_MAX);

	/* The same when a timer expires. */
	fixture->pd.is_closed = false;
	fixture->pd.has_no_memory = false;
	other = fixture_create_qp(fixture, &fixture_defaults);
	ready_list_add(fixture->qp);
	assert_true(fixture_transmit_all(fixture) > 0);
	pd_close(&fixture->pd);
	fixture_tick(fixture, engine_next_deadline_ns(&fixture->engine) - fixture->now_ns);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	assert_int_equal(fixture->qp->peer_window->in_flight_bytes, 0);
	assert_int_equal(fixture->completion_count, 0);
	qp_destroy(other);
	fixture_destroy(fixture);
}

/* Each client that shares a domain holds a part of it, and the parts end on their own. */
static void test_regions_of_a_closed_part(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct pd_share share = {.holders = 2};
	struct pd sharer = {.share = &share};
	uint64_t offset = 0;

	(void)state;
	fixture->pd.share = &share;
	assert_non_null(
		mr_find(&fixture->engine, fixture->mr.key, &sharer, 0, FIXTURE_IOVA, 1, &offset));
	pd_close(&sharer);
	assert_non_null(mr_find(&fixture->engine, fixture->mr.key, &fixture->pd, 0, FIXTURE_IOVA, 1,
				&offset));
	sharer.is_closed = false;
	fixture->pd.has_no_memory = true;
	assert_null(
		mr_find(&fixture->engine, fixture->mr.key, &sharer, 0, FIXTURE_IOVA, 1, &offset));
	fixture_destroy(fixture);
}

static void test_targets_of_a_closed_domain(void **state)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;
	struct rnic_packet packet;
	struct xrcd xrcd;

	(void)state;
	xrcd_init(&xrcd);
	options.type = RNIC_QP_TYPE_XRC_TARGET;
	options.xrcd = &xrcd;
	fixture = fixture_create(&options);
	packet = fixture_packet(fixture, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY, 100);
	xrcd.is_closed = true;
	fixture_receive(fixture, &packet);
	assert_int_equal(dropped(fixture), 1);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_destroy(fixture);
	xrcd_fini(&xrcd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_closed_qp_takes_nothing),
		cmocka_unit_test(test_a_qp_without_memory_refuses),
		cmocka_unit_test(test_a_closed_qp_sends_nothing),
		cmocka_unit_test(test_regions_of_a_closed_part),
		cmocka_unit_test(test_targets_of_a_closed_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
