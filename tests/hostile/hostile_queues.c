/* SPDX-License-Identifier: MIT */
/*
 * Clients that lie about where the queues of their queue pairs lie, and that ask for a Q_Key by
 * which they could speak as a connection manager.
 *
 * usage: hostile_queues RNICD
 */
#include "tests/hostile/hostile_link.h"

#include "tests/unit/unit_test.h"

static int32_t status_of(const struct hostile_client *client, uint16_t operation,
			 const void *request, size_t bytes)
{
	return hostile_answer(client->fd, operation, request, bytes, NULL, 0);
}

/* Opens a client up to its CQ, and makes a region for the queues of `qp`. */
static void open_with_queues(struct hostile_client *client, struct rnic_ctl_create_qp *qp)
{
	hostile_client_open(client, &rnicd, 4);
	qp->pd = client->pd;
	qp->send_cq = qp->recv_cq = client->cq;
	hostile_place_queues(client, qp);
}

static void test_impossible_queue_regions(void **state)
{
	static const uint64_t sizes[] = {
		0, 1, 4095, 4097, (UINT64_C(1) << 30) + 4096, UINT64_MAX, UINT64_MAX - 4095};
	struct rnic_ctl_create_queue_region region;
	struct hostile_client client;
	struct rnic_ctl_object none = {.handle = {7, 7}};

	(void)state;
	hostile_client_open(&client, &rnicd, 2);
	for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
		region.bytes = sizes[i];
		assert_int_equal(
			status_of(&client, RNIC_CTL_CREATE_QUEUE_REGION, &region, sizeof(region)),
			-EINVAL);
	}
	assert_int_equal(status_of(&client, RNIC_CTL_DESTROY_QUEUE_REGION, &none, sizeof(none)),
			 -EINVAL);
	hostile_client_close(&client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* Queues that would lie outside their region, or at no cache line's start. */
static void test_impossible_places(void **state)
{
	static const uint64_t offsets[] = {1,
					   63,
					   4096,
					   8192,
					   4096 - 64,
					   UINT64_MAX - 63,
					   UINT64_MAX,
					   UINT64_C(1) << 63,
					   -(uint64_t)4096};
	struct rnic_ctl_create_qp qp = {.type = RNIC_QP_TYPE_RC, .capacities = {4, 4, 1, 1, 64}};
	struct rnic_ctl_create_qp nowhere;
	struct hostile_client client;

	(void)state;
	open_with_queues(&client, &qp);
	assert_int_equal(client.queues_bytes, 4096);
	nowhere = qp;
	nowhere.queue_region = (struct rnic_handle){0};
	assert_int_equal(status_of(&client, RNIC_CTL_CREATE_QP, &nowhere, sizeof(nowhere)),
			 -EINVAL);
	for (unsigned i = 0; i < COUNT_OF(offsets); i++) {
		struct rnic_ctl_create_qp wrong = qp;

		wrong.entries_offset = offsets[i];
		assert_int_equal(status_of(&client, RNIC_CTL_CREATE_QP, &wrong, sizeof(wrong)),
				 -EINVAL);
		wrong = qp;
		wrong.spill_offset = offsets[i];
		assert_int_equal(status_of(&client, RNIC_CTL_CREATE_QP, &wrong, sizeof(wrong)),
				 -EINVAL);
	}
	hostile_client_close(&client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* Queues that are larger than their region, or fit it and lie one cache line too far. */
static void test_queues_that_do_not_fit(void **state)
{
	static const struct rnic_qp_capacities much_of_entries = {128, 128, 1, 1, 64},
					       much_of_sides = {16, 16, 1, 1, 512},
					       little = {4, 4, 1, 1, 64};
	static const struct {
		const struct rnic_qp_capacities *capacities;
		uint64_t entries_offset, spill_offset;
		int32_t status;
	} cases[] = {
		{&much_of_entries, 0, 0, -EINVAL},
		{&much_of_entries, 64, 0, -EINVAL},
		{&much_of_entries, -(uint64_t)4096, 0, -EINVAL},
		{&much_of_entries, -(uint64_t)64, 0, -EINVAL},
		{&much_of_sides, 0, 0, -EINVAL},
		{&much_of_sides, 0, 64, -EINVAL},
		{&much_of_sides, 0, -(uint64_t)4096, -EINVAL},
		{&much_of_sides, 0, -(uint64_t)64, -EINVAL},
		/* 288 bytes of entries, 256 bytes of spill areas. */
		{&little, 4096 - 320, 4096 - 256, 0},
		{&little, 4096 - 256, 4096 - 256, -EINVAL},
		{&little, 4096 - 320, 4096 - 192, -EINVAL},
	};
	struct rnic_ctl_create_qp qp = {.type = RNIC_QP_TYPE_RC, .capacities = little};
	struct hostile_client client;

	(void)state;
	open_with_queues(&client, &qp);
	assert_int_equal(client.queues_bytes, 4096);
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		qp.capacities = *cases[i].capacities;
		qp.entries_offset = cases[i].entries_offset;
		qp.spill_offset = cases[i].spill_offset;
		assert_int_equal(status_of(&client, RNIC_CTL_CREATE_QP, &qp, sizeof(qp)),
				 cases[i].status);
	}
	hostile_client_close(&client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* Two queue pairs in one place get the same work; the region stays as long as one of them. */
static void test_queues_on_top_of_each_other(void **state)
{
	struct rnic_ctl_create_qp qp = {.type = RNIC_QP_TYPE_RC, .capacities = {4, 4, 1, 1, 64}};
	struct rnic_ctl_create_qp_reply made[2];
	struct hostile_client client;
	struct hostile_reply reply;

	(void)state;
	open_with_queues(&client, &qp);
	for (unsigned i = 0; i < 2; i++) {
		qp.spill_offset = 0;
		hostile_must(client.fd, RNIC_CTL_CREATE_QP, &qp, sizeof(qp), &reply);
		memcpy(&made[i], reply.payload, sizeof(made[i]));
	}
	for (unsigned i = 0; i < 2; i++) {
		const struct rnic_ctl_object region = {qp.queue_region}, gone = {made[i].qp};

		assert_int_equal(
			status_of(&client, RNIC_CTL_DESTROY_QUEUE_REGION, &region, sizeof(region)),
			-EBUSY);
		assert_int_equal(status_of(&client, RNIC_CTL_DESTROY_QP, &gone, sizeof(gone)), 0);
	}
	assert_int_equal(status_of(&client, RNIC_CTL_DESTROY_QUEUE_REGION, &qp.queue_region,
				   sizeof(qp.queue_region)),
			 0);
	assert_int_equal(status_of(&client, RNIC_CTL_CREATE_QP, &qp, sizeof(qp)), -EINVAL);
	hostile_client_close(&client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* The status of INIT with the Q_Key, for a UD queue pair of the user behind `control_fd`. */
static int32_t init_with_qkey(int control_fd, uint32_t qkey)
{
	struct rnic_ctl_create_qp qp = {.type = RNIC_QP_TYPE_UD, .capacities = {4, 4, 1, 1, 64}};
	struct rnic_ctl_modify_qp init = {
		.mask = RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_PORT |
			RNIC_QP_ATTR_QKEY,
		.attributes = {.state = RNIC_QP_STATE_INIT, .port = 1, .qkey = qkey},
	};
	struct rnic_ctl_create_qp_reply made;
	struct hostile_client client;
	int32_t status;

	hostile_client_adopt(&client, control_fd, 4);
	qp.pd = client.pd;
	qp.send_cq = qp.recv_cq = client.cq;
	hostile_place_queues(&client, &qp);
	assert_int_equal(
		hostile_answer(client.fd, RNIC_CTL_CREATE_QP, &qp, sizeof(qp), &made, sizeof(made)),
		0);
	init.qp = made.qp;
	status = status_of(&client, RNIC_CTL_MODIFY_QP, &init, sizeof(init));
	hostile_client_close(&client);
	return status;
}

/* A user who has the Q_Key of queue pairs 1 sends messages to their owners as this host. */
static void test_controlled_qkeys(void **state)
{
	(void)state;
	hostile_skip_unless_root();
	assert_int_equal(init_with_qkey(hostile_connect(&rnicd), 0x80010000), 0);
	assert_int_equal(init_with_qkey(hostile_connect_as_nobody(&rnicd), 0x7fffffff), 0);
	assert_int_equal(init_with_qkey(hostile_connect_as_nobody(&rnicd), 0x80010000), -EPERM);
	assert_int_equal(init_with_qkey(hostile_connect_as_nobody(&rnicd), 0x80000000), -EPERM);
	hostile_expect_owned(&rnicd, 0, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_impossible_queue_regions),
		cmocka_unit_test(test_impossible_places),
		cmocka_unit_test(test_queues_that_do_not_fit),
		cmocka_unit_test(test_queues_on_top_of_each_other),
		cmocka_unit_test(test_controlled_qkeys),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}
