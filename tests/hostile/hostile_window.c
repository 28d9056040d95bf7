/* SPDX-License-Identifier: MIT */
/*
 * Clients that lie about memory windows: others' keys, impossible binds, regions pulled away from
 * under a window, death with windows bound.
 *
 * usage: hostile_window RNICD
 */
#include "tests/hostile/hostile_link.h"

#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

/* A client with a region that windows can be bound to, and one of type 2. */
struct owner {
	struct hostile_client client;
	struct rnic_ctl_register_mr wanted;
	struct rnic_ctl_register_mr_reply region;
	struct rnic_ctl_alloc_mw_reply window;
	uint32_t posted;
};

static uint8_t memory[4096];

static void open_owner(struct owner *owner)
{
	struct rnic_ctl_alloc_mw request = {.type = RNIC_MW_TYPE_2};
	struct hostile_reply reply;

	owner->posted = 0;
	hostile_client_open(&owner->client, &rnicd, HOSTILE_STEPS);
	owner->wanted = (struct rnic_ctl_register_mr){
		.pd = owner->client.pd,
		.access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_MW_BIND,
		.mode = RNIC_MEMORY_REMOTE,
		.address = (uintptr_t)memory,
		.length = sizeof(memory),
		.iova = (uintptr_t)memory,
	};
	hostile_must(owner->client.fd, RNIC_CTL_REGISTER_MR, &owner->wanted, sizeof(owner->wanted),
		     &reply);
	memcpy(&owner->region, reply.payload, sizeof(owner->region));
	request.pd = owner->client.pd;
	hostile_must(owner->client.fd, RNIC_CTL_ALLOC_MW, &request, sizeof(request), &reply);
	memcpy(&owner->window, reply.payload, sizeof(owner->window));
}

static struct rnic_send_wqe bind_of(const struct owner *owner)
{
	return (struct rnic_send_wqe){
		.opcode = RNIC_WR_BIND_MW,
		.flags = RNIC_SEND_SIGNALED,
		.immediate = owner->region.lkey,
		.remote_address = (uintptr_t)memory,
		.rkey = owner->window.rkey,
		.bind = {.length = 64, .access = RNIC_ACCESS_REMOTE_WRITE},
	};
}

/* The status that the entry completes with. */
static uint8_t run(struct owner *owner, const struct rnic_send_wqe *entry)
{
	struct hostile_client *client = &owner->client;
	const struct rnic_queue_plan *plan = &client->plan.send;
	struct rnic_send_wqe *entries = (void *)((uint8_t *)client->queues + plan->entries_offset);

	entries[owner->posted % plan->slots] = *entry;
	rnic_word_publish(&client->indices->send_producer, ++owner->posted);
	hostile_ring(client, RNIC_DOORBELL(RNIC_DOORBELL_SEND, client->qp.slot));
	return hostile_wait_completion(client, owner->posted - 1)->status;
}

static int32_t ask(struct owner *owner, uint16_t operation, const void *request, size_t bytes)
{
	return hostile_answer(owner->client.fd, operation, request, bytes, NULL, 0);
}

static void test_wrong_wishes(void **state)
{
	static const uint32_t types[] = {0, 3, UINT32_MAX};
	struct rnic_ctl_alloc_mw request = {.type = RNIC_MW_TYPE_1};
	struct owner owner;

	(void)state;
	open_owner(&owner);
	assert_int_equal(ask(&owner, RNIC_CTL_ALLOC_MW, &request, sizeof(request)), -EINVAL);
	request.pd = owner.client.pd;
	for (unsigned i = 0; i < COUNT_OF(types); i++) {
		request.type = types[i];
		assert_int_equal(ask(&owner, RNIC_CTL_ALLOC_MW, &request, sizeof(request)),
				 -EINVAL);
	}
	assert_int_equal(ask(&owner, RNIC_CTL_DEALLOC_MW, &owner.window.mw, 8), 0);
	assert_int_equal(ask(&owner, RNIC_CTL_DEALLOC_MW, &owner.window.mw, 8), -EINVAL);
	hostile_client_close(&owner.client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* A region stays while a window is bound to it; a client that dies so leaves nothing. */
static void test_bound_regions_stay(void **state)
{
	struct rnic_ctl_reregister_mr again;
	struct rnic_send_wqe bind;
	struct owner owner;

	(void)state;
	open_owner(&owner);
	bind = bind_of(&owner);
	assert_int_equal(run(&owner, &bind), RNIC_WC_SUCCESS);
	again = (struct rnic_ctl_reregister_mr){.wanted = owner.wanted, .mr = owner.region.mr};
	assert_int_equal(ask(&owner, RNIC_CTL_REREGISTER_MR, &again, sizeof(again)), -EBUSY);
	assert_int_equal(ask(&owner, RNIC_CTL_DEREGISTER_MR, &owner.region.mr, 8), -EBUSY);
	hostile_client_close(&owner.client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* A QP that is destroyed lets go of its windows, and then the region can go. */
static void test_windows_of_a_destroyed_qp(void **state)
{
	struct rnic_send_wqe bind;
	struct owner owner;

	(void)state;
	open_owner(&owner);
	bind = bind_of(&owner);
	assert_int_equal(run(&owner, &bind), RNIC_WC_SUCCESS);
	assert_int_equal(ask(&owner, RNIC_CTL_DESTROY_QP, &owner.client.qp, 8), 0);
	assert_int_equal(ask(&owner, RNIC_CTL_DEREGISTER_MR, &owner.region.mr, 8), 0);
	hostile_client_close(&owner.client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* --- keys of others -------------------------------------------------------------------------- */

static void others_window(struct rnic_send_wqe *entry, const struct owner *victim)
{
	entry->rkey = victim->window.rkey;
}

static void others_region(struct rnic_send_wqe *entry, const struct owner *victim)
{
	entry->immediate = victim->region.lkey;
}

static void invalidate_others_window(struct rnic_send_wqe *entry, const struct owner *victim)
{
	*entry = (struct rnic_send_wqe){
		.opcode = RNIC_WR_LOCAL_INVALIDATE,
		.flags = RNIC_SEND_SIGNALED,
		.immediate = victim->window.rkey,
	};
}

static void invalidate_others_region(struct rnic_send_wqe *entry, const struct owner *victim)
{
	invalidate_others_window(entry, victim);
	entry->immediate = victim->region.rkey;
}

static void impossible_range(struct rnic_send_wqe *entry, const struct owner *victim)
{
	(void)victim;
	entry->remote_address = UINT64_MAX;
	entry->bind.length = UINT64_MAX;
}

static void test_keys_of_others(void **state)
{
	static void (*const lies[])(struct rnic_send_wqe *, const struct owner *) = {
		others_window,	  others_region, invalidate_others_window, invalidate_others_region,
		impossible_range,
	};
	struct rnic_send_wqe bind;
	struct owner victim;

	(void)state;
	open_owner(&victim);
	bind = bind_of(&victim);
	assert_int_equal(run(&victim, &bind), RNIC_WC_SUCCESS);
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		struct rnic_send_wqe entry;
		struct owner liar;

		open_owner(&liar);
		entry = bind_of(&liar);
		lies[i](&entry, &victim);
		assert_int_equal(run(&liar, &entry), RNIC_WC_MW_BIND_ERR);
		hostile_client_close(&liar.client);
	}
	/* The victim's window is as it was: its own QP may invalidate it. */
	invalidate_others_window(&bind, &victim);
	assert_int_equal(run(&victim, &bind), RNIC_WC_SUCCESS);
	hostile_client_close(&victim.client);
	hostile_expect_owned(&rnicd, 0, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_wishes),
		cmocka_unit_test(test_bound_regions_stay),
		cmocka_unit_test(test_windows_of_a_destroyed_qp),
		cmocka_unit_test(test_keys_of_others),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}
