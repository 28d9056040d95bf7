/* SPDX-License-Identifier: MIT */
#include "proto/shm/ring.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void test_pending(void **state)
{
	static const struct {
		uint32_t producer, consumer, slots;
		int64_t pending;
	} cases[] = {
		{0, 0, 4, 0},
		{1, 0, 4, 1},
		{4, 0, 4, 4},
		{5, 0, 4, -1},
		{0, 1, 4, -1},
		{2, UINT32_MAX - 1, 4, 4},
		{3, UINT32_MAX - 1, 4, -1},
		{UINT32_MAX, 0, 4, -1},
		{UINT32_MAX, UINT32_MAX, 1, 0},
		{0, UINT32_MAX, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		assert_int_equal(
			rnic_ring_pending(cases[i].producer, cases[i].consumer, cases[i].slots),
			cases[i].pending);
}

static void test_wake_is_taken_once(void **state)
{
	struct rnic_shared_index flag = {0};

	(void)state;
	assert_false(rnic_wake_take(&flag));
	rnic_wake_announce(&flag);
	assert_true(rnic_wake_take(&flag));
	assert_false(rnic_wake_take(&flag));
	rnic_wake_announce(&flag);
	rnic_wake_withdraw(&flag);
	assert_false(rnic_wake_take(&flag));
}

/*
 * Two threads, a ring of 8 slots, indices that start short of the wrap. The consumer sleeps on an
 * eventfd whenever the ring is empty; a lost wake-up shows as a sleep that lasts for the deadline.
 */
#define SLOTS	    8
#define ENTRIES	    200000
#define FIRST_INDEX (UINT32_MAX - ENTRIES / 2)
#define DEADLINE_MS 60000

struct channel {
	struct rnic_shared_index producer;
	struct rnic_shared_index consumer;
	struct rnic_shared_index need_wakeup;
	uint32_t entries[SLOTS];
	int wake_fd;
	uint32_t wake_count; /* the producer's */
};

static void *produce(void *argument)
{
	struct channel *channel = argument;
	uint32_t producer = FIRST_INDEX;
	const uint64_t one = 1;

	for (uint32_t i = 0; i < ENTRIES; i++) {
		while (producer - rnic_index_load(&channel->consumer) == SLOTS)
			sched_yield();
		channel->entries[producer % SLOTS] = i;
		rnic_index_publish(&channel->producer, ++producer);
		if (rnic_wake_take(&channel->need_wakeup)) {
			channel->wake_count++;
			if (write(channel->wake_fd, &one, sizeof(one)) != sizeof(one))
				return channel;
		}
	}
	return NULL;
}

/* False when no wake-up came in time. */
static bool sleep_until_pending(struct channel *channel, uint32_t consumer, uint32_t *sleeps)
{
	struct pollfd wake = {.fd = channel->wake_fd, .events = POLLIN};
	uint64_t count;

	rnic_wake_announce(&channel->need_wakeup);
	if (rnic_index_load(&channel->producer) != consumer) {
		rnic_wake_withdraw(&channel->need_wakeup);
		return true;
	}
	++*sleeps;
	if (poll(&wake, 1, DEADLINE_MS) != 1)
		return false;
	return read(channel->wake_fd, &count, sizeof(count)) == sizeof(count);
}

static void test_two_threads(void **state)
{
	struct channel channel = {.wake_fd = eventfd(0, EFD_CLOEXEC)};
	uint32_t consumer = FIRST_INDEX;
	uint32_t expected = 0;
	uint32_t sleeps = 0;
	pthread_t thread;
	void *failure;

	(void)state;
	assert_true(channel.wake_fd >= 0);
	atomic_store(&channel.producer.value, FIRST_INDEX);
	atomic_store(&channel.consumer.value, FIRST_INDEX);
	assert_int_equal(pthread_create(&thread, NULL, produce, &channel), 0);
	while (expected < ENTRIES) {
		int64_t pending =
			rnic_ring_pending(rnic_index_load(&channel.producer), consumer, SLOTS);

		assert_true(pending >= 0);
		if (pending == 0)
			assert_true(sleep_until_pending(&channel, consumer, &sleeps));
		for (; pending > 0; pending--)
			assert_int_equal(channel.entries[consumer++ % SLOTS], expected++);
		rnic_index_publish(&channel.consumer, consumer);
	}
	assert_int_equal(pthread_join(thread, &failure), 0);
	assert_null(failure);
	/* A withdrawn announcement may still have been taken, so wake-ups can exceed sleeps by
	 * those. */
	assert_true(channel.wake_count >= sleeps);
	close(channel.wake_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pending),
		cmocka_unit_test(test_wake_is_taken_once),
		cmocka_unit_test(test_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
