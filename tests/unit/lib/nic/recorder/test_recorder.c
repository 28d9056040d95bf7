/* SPDX-License-Identifier: MIT */
#include "lib/nic/recorder/recorder.h"

#include "tests/unit/unit_test.h"

#include <string.h>

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

/* The ring of the queue pair that ended first is used again first, and read until then. */
static void test_released_rings(void **state)
{
	static struct record_hold holds[QP_RINGS];
	struct record_hold next = {.qpn = 5000}, last = {.qpn = 5001};

	(void)state;
	for (uint32_t i = 0; i < QP_RINGS; i++) {
		holds[i] = (struct record_hold){.qpn = 100 + i};
		note(&holds[i], RNIC_RECORD_NAK_SENT, i);
	}
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
		cmocka_unit_test_setup(test_released_rings, begin),
		cmocka_unit_test(test_without_a_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
