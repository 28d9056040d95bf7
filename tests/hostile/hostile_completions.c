/* SPDX-License-Identifier: MIT */
/*
 * Clients that lie about a long completion queue: where the daemon looks whether the queue is
 * empty, which is before the queue is full, and what the daemon does about an empty queue.
 *
 * usage: hostile_completions RNICD
 */
#include "tests/hostile/hostile_link.h"

#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#define SLOTS	   128
#define FIRST_LOOK 96 /* the daemon looks at the client's index before this CQE */

/* Posts an entry that completes in error, with the entry's number as ID. */
static void post_garbage(struct hostile_client *client, uint32_t number)
{
	const struct rnic_queue_plan *plan = &client->plan.send;
	struct rnic_send_wqe *entries = (void *)((uint8_t *)client->queues + plan->entries_offset);
	struct rnic_send_wqe *entry = &entries[number % plan->slots];

	memset(entry, 0xff, sizeof(*entry));
	entry->wr_id = number;
	rnic_word_publish(&client->indices->send_producer, number + 1);
	hostile_ring(client, RNIC_DOORBELL(RNIC_DOORBELL_SEND, client->qp.slot));
}

static void garbage_completes(struct hostile_client *client, uint32_t number)
{
	post_garbage(client, number);
	assert_int_equal(hostile_wait_completion(client, number)->wr_id, number);
}

/* A client with as many CQEs as come before the first look. It has polled none. */
static void open_before_look(struct hostile_client *client)
{
	hostile_client_open(client, &rnicd, 3);
	client->cq_entries = SLOTS;
	hostile_client_go_on(client, 3, HOSTILE_STEPS);
	assert_int_equal(client->cq_slots, SLOTS);
	for (uint32_t i = 0; i < FIRST_LOOK; i++)
		garbage_completes(client, i);
}

static void claim(struct hostile_client *client, uint32_t consumer)
{
	atomic_store(&client->session->cqs[client->cq.slot].consumer, consumer);
}

static void close_client(struct hostile_client *client)
{
	hostile_client_close(client);
	hostile_expect_owned(&rnicd, 0, 0);
}

static void test_impossible_index_at_a_look(void **state)
{
	static const uint32_t lies[] = {
		FIRST_LOOK + 1, 0x80000000u,
		FIRST_LOOK - SLOTS - 1, /* more in the queue than it holds */
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		struct hostile_client client;

		open_before_look(&client);
		claim(&client, lies[i]);
		post_garbage(&client, FIRST_LOOK);
		hostile_expect_hang_up(client.fd);
		close_client(&client);
	}
}

/*
 * The client says that it has polled what it has not. The daemon believes that, goes back to slot
 * 0, and does not believe that the client takes it back.
 */
static void test_index_that_goes_back(void **state)
{
	struct hostile_client client;

	(void)state;
	open_before_look(&client);
	claim(&client, FIRST_LOOK);
	for (uint32_t i = 0; i < FIRST_LOOK; i++)
		garbage_completes(&client, FIRST_LOOK + i);
	assert_int_equal(client.cq_region->slot_zero, FIRST_LOOK);
	claim(&client, 0);
	post_garbage(&client, 2 * FIRST_LOOK);
	hostile_expect_hang_up(client.fd);
	close_client(&client);
}

/* Of a queue that is not empty the daemon uses all slots, and no CQE is lost. */
static void test_possible_index_at_a_look(void **state)
{
	static const uint32_t claims[] = {0, FIRST_LOOK - 1, FIRST_LOOK + 1 - SLOTS};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(claims); i++) {
		struct hostile_client client;

		open_before_look(&client);
		claim(&client, claims[i]);
		garbage_completes(&client, FIRST_LOOK);
		assert_int_equal(client.cq_region->slot_zero, 0);
		close_client(&client);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_impossible_index_at_a_look),
		cmocka_unit_test(test_index_that_goes_back),
		cmocka_unit_test(test_possible_index_at_a_look),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}
