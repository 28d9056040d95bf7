/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/datagrams/mcast.h"

#include "proto/wire/gid.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

static struct fixture_options datagram_options(void)
{
	struct fixture_options options = fixture_defaults;

	options.type = RNIC_QP_TYPE_UD;
	return options;
}

static struct rnic_gid group_number(uint32_t number)
{
	return rnic_gid_from_ipv4(
		(const uint8_t[]){239, 0, (uint8_t)(number >> 8), (uint8_t)number});
}

/* The owner hears of the first member and of the last, and of no other. */
static void the_owner_is_told_of_groups(void **state)
{
	const struct fixture_options options = datagram_options();
	struct engine_fixture *fixture = fixture_create(&options);
	struct qp *other = fixture_create_qp(fixture, &options);
	const struct rnic_gid group = group_number(1);

	(void)state;
	assert_int_equal(mcast_attach(&fixture->engine, fixture->qp, &group), 0);
	assert_int_equal(mcast_attach(&fixture->engine, fixture->qp, &group), 0);
	assert_int_equal(mcast_attach(&fixture->engine, other, &group), 0);
	assert_int_equal(fixture->groups_wanted, 1);
	assert_int_equal(mcast_find(&fixture->engine, &group)->member_count, 2);
	assert_int_equal(mcast_detach(&fixture->engine, fixture->qp, &group), 0);
	assert_int_equal(mcast_detach(&fixture->engine, fixture->qp, &group), -EINVAL);
	assert_int_equal(fixture->groups_wanted, 1);
	qp_destroy(other);
	assert_int_equal(fixture->groups_wanted, 0);
	assert_null(mcast_find(&fixture->engine, &group));
	fixture_destroy(fixture);
}

static void what_cannot_be_joined_is_refused(void **state)
{
	const struct fixture_options options = datagram_options();
	struct engine_fixture *fixture = fixture_create(&options);
	struct qp *connected = fixture_create_qp(fixture, &fixture_defaults);
	struct rnic_gid group = group_number(1);

	(void)state;
	assert_int_equal(mcast_attach(&fixture->engine, connected, &group), -EINVAL);
	assert_int_equal(mcast_attach(&fixture->engine, fixture->qp, &fixture->peer_gid), -EINVAL);
	fixture->group_error = -ENODEV;
	assert_int_equal(mcast_attach(&fixture->engine, fixture->qp, &group), -ENODEV);
	assert_null(mcast_find(&fixture->engine, &group));
	fixture->group_error = 0;
	for (uint32_t i = 0; i < LIMIT_MCAST_GROUPS; i++) {
		group = group_number(i);
		assert_int_equal(mcast_attach(&fixture->engine, fixture->qp, &group), 0);
	}
	group = group_number(LIMIT_MCAST_GROUPS);
	assert_int_equal(mcast_attach(&fixture->engine, fixture->qp, &group), -ENOSPC);
	qp_destroy(connected);
	mcast_detach_all(&fixture->engine, fixture->qp);
	assert_int_equal(fixture->groups_wanted, 0);
	fixture_destroy(fixture);
}

/*
 * Every member gets a copy; other QPs get none, and packets to the group that name a single QP
 * reach no QP.
 */
static void packets_go_to_all_members(void **state)
{
	const struct fixture_options options = datagram_options();
	struct engine_fixture *fixture = fixture_create(&options);
	struct qp *member = fixture_create_qp(fixture, &options);
	struct qp *stranger = fixture_create_qp(fixture, &options);
	const struct rnic_gid group = group_number(1);
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 7);

	(void)state;
	assert_int_equal(mcast_attach(&fixture->engine, fixture->qp, &group), 0);
	assert_int_equal(mcast_attach(&fixture->engine, member, &group), 0);
	for (uint64_t i = 0; i < 3; i++)
		fixture_post_receive(fixture, i, 0, 100);
	packet.addresses.dest = group;
	fixture_receive(fixture, &packet); /* names the QP */
	assert_int_equal(fixture->completion_count, 0);
	packet.dest_qpn = RNIC_MULTICAST_QPN;
	fixture_receive(fixture, &packet);
	/* The fixture hands all its receives to the first QP that asks. */
	assert_int_equal(fixture->completion_count, 1);
	assert_ptr_equal(fixture->completions[0].qp, fixture->qp);
	assert_int_equal(fixture->engine.counters[COUNTER_DROPPED_NO_RECEIVE], 1);
	assert_int_equal(member->counters.received_packets, 1);
	assert_int_equal(stranger->counters.received_packets, 0);
	qp_destroy(stranger);
	qp_destroy(member);
	mcast_detach_all(&fixture->engine, fixture->qp);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_owner_is_told_of_groups),
		cmocka_unit_test(what_cannot_be_joined_is_refused),
		cmocka_unit_test(packets_go_to_all_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
