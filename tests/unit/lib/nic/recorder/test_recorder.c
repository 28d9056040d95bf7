/* SPDX-License-Identifier: MIT */
#include "lib/nic/recorder/recorder.h"

#include "tests/unit/unit_test.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define QP_RINGS (RNIC_RECORD_RINGS - RNIC_RECORD_FIRST_RING)

static struct rnic_record_region region;
static struct recorder recorder;

static int begin(void **state)
{
	(void)state;
	memset(&region, 0, sizeof(region));
	recorder_init(&recorder, &region);
	return 0;
}

static void note(struct record_hold *hold, uint8_t event, uint32_t psn)
{
	const struct rnic_record_entry entry = {.tick = 7, .event = event, .psn = psn};

	recorder_note_qp(&recorder, hold, &entry);
}

static void test_ring_is_taken_at_first_entry(void **state)
{
	struct record_hold hold = {.qpn = 0x123, .peer_qpn = 0x456, .client_id = 9};
	const struct rnic_record_ring *ring = &region.rings[RNIC_RECORD_FIRST_RING];

	(void)state;
	assert_int_equal(ring->count, 0);
	note(&hold, RNIC_RECORD_NAK_SENT, 5);
	assert_int_equal(hold.ring, RNIC_RECORD_FIRST_RING);
	assert_int_equal(ring->count, 1);
	assert_int_equal(ring->qpn, 0x123);
	assert_int_equal(ring->peer_qpn, 0x456);
	assert_int_equal(ring->client_id, 9);
	assert_int_equal(ring->entries[0].tick, 7);
	assert_int_equal(ring->entries[0].psn, 5);
}

static void test_runs(void **state)
{
	struct record_hold hold = {.qpn = 1};
	const struct rnic_record_ring *ring = &region.rings[RNIC_RECORD_FIRST_RING];

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		note(&hold, RNIC_RECORD_DROPPED, i);
	assert_int_equal(ring->count, 1);
	assert_int_equal(ring->entries[0].run, UINT8_MAX);
	note(&hold, RNIC_RECORD_NAK_SENT, 1);
	note(&hold, RNIC_RECORD_NAK_SENT, 1);
	note(&hold, RNIC_RECORD_NAK_SENT, 2);
	assert_int_equal(ring->count, 3);
	assert_int_equal(ring->entries[1].run, 1);
}

static void test_ring_keeps_the_latest(void **state)
{
	struct record_hold hold = {.qpn = 1};
	const struct rnic_record_ring *ring = &region.rings[RNIC_RECORD_FIRST_RING];

	(void)state;
	for (uint32_t i = 0; i < RNIC_RECORD_RING_ENTRIES + 2; i++)
		note(&hold, RNIC_RECORD_NAK_SENT, i);
	assert_int_equal(ring->count, RNIC_RECORD_RING_ENTRIES + 2);
	assert_int_equal(ring->entries[0].psn, RNIC_RECORD_RING_ENTRIES);
	assert_int_equal(ring->entries[1].psn, RNIC_RECORD_RING_ENTRIES + 1);
	assert_int_equal(ring->entries[2].psn, 2);
}

/* Without a ring of its own a queue pair shares one, in which each entry has an owner. */
static void test_shared_ring(void **state)
{
	static struct record_hold holds[QP_RINGS + 2];
	const struct rnic_record_ring *shared = &region.rings[RNIC_RECORD_SHARED_RING];

	(void)state;
	for (uint32_t i = 0; i < QP_RINGS + 2; i++) {
		holds[i] = (struct record_hold){.qpn = 100 + i};
		note(&holds[i], RNIC_RECORD_NAK_SENT, i);
	}
	note(&holds[QP_RINGS + 1], RNIC_RECORD_NAK_SENT, 77);
	assert_int_equal(shared->count, 5);
	assert_int_equal(shared->entries[0].event, RNIC_RECORD_OWNER);
	assert_int_equal(shared->entries[0].psn, 100 + QP_RINGS);
	assert_int_equal(shared->entries[2].event, RNIC_RECORD_OWNER);
	assert_int_equal(shared->entries[2].psn, 101 + QP_RINGS);
	assert_int_equal(shared->entries[4].psn, 77);
}

static const struct rnic_record_entry *shared_entry(uint32_t count)
{
	return &region.rings[RNIC_RECORD_SHARED_RING].entries[count % RNIC_RECORD_RING_ENTRIES];
}

/* Takes all rings that queue pairs may have, with holds of `first` and the next QPNs. */
static void take_all_rings(struct record_hold holds[QP_RINGS], uint32_t first)
{
	for (uint32_t i = 0; i < QP_RINGS; i++) {
		holds[i] = (struct record_hold){.qpn = first + i};
		note(&holds[i], RNIC_RECORD_NAK_SENT, i);
	}
}

/* However much a queue pair writes: half of what the shared ring keeps has an owner at least. */
static void test_shared_ring_keeps_an_owner(void **state)
{
	static struct record_hold holds[QP_RINGS];
	struct record_hold busy = {.qpn = 0x777, .peer_qpn = 0x888, .client_id = 9};
	uint32_t count, owned = 0;
	bool has_owner = false;

	(void)state;
	take_all_rings(holds, 100);
	for (uint32_t i = 0; i < 10 * RNIC_RECORD_RING_ENTRIES; i++)
		note(&busy, RNIC_RECORD_NAK_SENT, i);
	count = region.rings[RNIC_RECORD_SHARED_RING].count;
	for (uint32_t i = count - RNIC_RECORD_RING_ENTRIES; i != count; i++) {
		const struct rnic_record_entry *entry = shared_entry(i);

		if (entry->event == RNIC_RECORD_OWNER) {
			has_owner = true;
			assert_int_equal(entry->psn, 0x777);
			assert_int_equal(entry->value, 0x888);
			assert_int_equal(entry->tick, 9);
		}
		owned += has_owner;
	}
	assert_true(owned >= RNIC_RECORD_RING_ENTRIES / 2);
}

/* The peer that the shared ring names is that of the moment: a queue pair may get one later. */
static void test_shared_ring_names_a_new_peer(void **state)
{
	static struct record_hold holds[QP_RINGS];
	struct record_hold late = {.qpn = 0x777};

	(void)state;
	take_all_rings(holds, 100);
	note(&late, RNIC_RECORD_NAK_SENT, 1);
	late.peer_qpn = 0x888;
	note(&late, RNIC_RECORD_NAK_SENT, 2);
	assert_int_equal(shared_entry(2)->event, RNIC_RECORD_OWNER);
	assert_int_equal(shared_entry(2)->value, 0x888);
	assert_int_equal(shared_entry(3)->psn, 2);
}

/* A queue pair that shares gets a ring of its own as soon as another one has ended. */
static void test_shared_ring_is_left(void **state)
{
	static struct record_hold holds[QP_RINGS];
	struct record_hold late = {.qpn = 0x777};

	(void)state;
	take_all_rings(holds, 100);
	note(&late, RNIC_RECORD_NAK_SENT, 1);
	assert_int_equal(late.ring, RNIC_RECORD_SHARED_RING);
	recorder_release(&recorder, &holds[5]);
	note(&late, RNIC_RECORD_NAK_SENT, 2);
	assert_int_equal(late.ring, RNIC_RECORD_FIRST_RING + 5);
	assert_int_equal(region.rings[late.ring].entries[0].psn, 2);
}

/* 10,000 queue pairs with events take no ring that another one has. */
static void test_many_queue_pairs(void **state)
{
	static struct record_hold holds[QP_RINGS], many[10000];

	(void)state;
	take_all_rings(holds, 100);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 10000; i++) {
			many[i].qpn = 1000 + i;
			note(&many[i], RNIC_RECORD_NAK_SENT, round);
		}
	for (uint32_t i = 0; i < QP_RINGS; i++) {
		assert_int_equal(region.rings[holds[i].ring].qpn, 100 + i);
		assert_int_equal(region.rings[holds[i].ring].count, 1);
		assert_int_equal(region.rings[holds[i].ring].entries[0].psn, i);
	}
}

/* Memory of the region is taken by entries alone, 2 KiB for each queue pair that has some. */
static void test_memory(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t pages = (sizeof(region) + page - 1) / page;
	unsigned char present[sizeof(region) / 4096 + 1];
	struct record_hold holds[4] = {{.qpn = 1}, {.qpn = 2}, {.qpn = 3}, {.qpn = 4}};
	struct rnic_record_region *fresh = mmap(NULL, sizeof(region), PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t taken = 0;

	(void)state;
	assert_ptr_not_equal(fresh, MAP_FAILED);
	recorder_init(&recorder, fresh);
	assert_int_equal(mincore(fresh, sizeof(region), present), 0);
	for (size_t i = 0; i < pages; i++)
		assert_int_equal(present[i] & 1, 0);
	for (uint32_t i = 0; i < 1000; i++)
		note(&holds[i % 4], RNIC_RECORD_NAK_SENT, i);
	assert_int_equal(mincore(fresh, sizeof(region), present), 0);
	for (size_t i = 0; i < pages; i++)
		taken += present[i] & 1;
	assert_true(taken * page <= 4 * sizeof(struct rnic_record_ring) + page);
	munmap(fresh, sizeof(region));
}

/* The ring of the queue pair that ended first is used again first, and read until then. */
static void test_released_rings(void **state)
{
	static struct record_hold holds[QP_RINGS];
	struct record_hold next = {.qpn = 5000}, last = {.qpn = 5001};

	(void)state;
	take_all_rings(holds, 100);
	recorder_release(&recorder, &holds[3]);
	recorder_release(&recorder, &holds[1]);
	assert_int_equal(region.rings[RNIC_RECORD_FIRST_RING + 3].qpn, 103);
	note(&next, RNIC_RECORD_NAK_SENT, 0);
	note(&last, RNIC_RECORD_NAK_SENT, 0);
	assert_int_equal(next.ring, RNIC_RECORD_FIRST_RING + 3);
	assert_int_equal(last.ring, RNIC_RECORD_FIRST_RING + 1);
	assert_int_equal(region.rings[next.ring].qpn, 5000);
	assert_int_equal(region.rings[next.ring].count, 1);
}

static void test_without_a_region(void **state)
{
	struct record_hold hold = {.qpn = 1};

	(void)state;
	recorder_init(&recorder, NULL);
	note(&hold, RNIC_RECORD_NAK_SENT, 0);
	assert_int_equal(hold.ring, 0);
	recorder_release(&recorder, &hold);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ring_is_taken_at_first_entry, begin),
		cmocka_unit_test_setup(test_runs, begin),
		cmocka_unit_test_setup(test_ring_keeps_the_latest, begin),
		cmocka_unit_test_setup(test_shared_ring, begin),
		cmocka_unit_test_setup(test_shared_ring_keeps_an_owner, begin),
		cmocka_unit_test_setup(test_shared_ring_names_a_new_peer, begin),
		cmocka_unit_test_setup(test_shared_ring_is_left, begin),
		cmocka_unit_test_setup(test_many_queue_pairs, begin),
		cmocka_unit_test_setup(test_memory, begin),
		cmocka_unit_test_setup(test_released_rings, begin),
		cmocka_unit_test(test_without_a_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
