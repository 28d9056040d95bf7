/* SPDX-License-Identifier: MIT */
/* The rows of a flight recorder whose process may have written anything. */
#include "daemon/control/server/show_record.h"

#include "daemon/control/clients/client_set.h"
#include "daemon/shared/reports/show_rows.h"
#include "lib/nic/base/prng.h"
#include "proto/base/lane.h"
#include "tests/unit/daemon/control/supervisor/device_fixture.h"
#include "tests/unit/unit_test.h"

#include <stdlib.h>

#define PROCESS_PID 4242
#define PROGRAM_PID 4300
#define USER	    31001
#define STRANGER    31002
#define LANE	    0x85
#define CLIENT	    7
#define QPN	    (LANE << RNIC_LANE_BITS | 0x123)
#define OTHERS_QPN  ((LANE + 1) << RNIC_LANE_BITS | 0x123)
#define ROWS_MAX    150000

static struct client_set set;
static uint64_t page_ns; /* between two replies */
static struct rnic_record_region region;
static struct rnic_show_record rows[ROWS_MAX];

static int open_set(void **state)
{
	const struct gone_client gone = {.client_id = CLIENT,
					 .pid = PROGRAM_PID,
					 .uid = USER,
					 .device_pid = PROCESS_PID,
					 .program = "gone_program"};

	if (device_fixture_open(state) != 0)
		return 1;
	memset(&region, 0, sizeof(region));
	set = (struct client_set){.devices = &fixture->set, .now_ns = FIXTURE_SECOND};
	for (uint32_t i = 0; i < CLIENT_SET_BUCKETS; i++)
		list_init(&set.by_id[i]);
	gone_clients_note(&set.gone, &gone);
	return 0;
}

static int close_set(void **state)
{
	record_shelf_clear(&fixture->set.common.records);
	return device_fixture_close(state);
}

/* Puts the region on the shelf, as that of an ended process of USER. */
static void shelve(void)
{
	const struct shelved_record record = {.uid = USER, .pid = PROCESS_PID, .lane = LANE};

	record_shelf_put(&fixture->set.common.records, &record, &region);
}

/* All rows that the viewer gets, page by page. */
static uint32_t show_to(uid_t viewer)
{
	uint32_t count = 0, cursor = 0;

	do {
		struct show_rows page = {
			.max = 200, .row_bytes = sizeof(rows[0]), .rows = (uint8_t *)&rows[count]};

		assert_true(count + page.max <= ROWS_MAX);
		cursor = show_record(&set, viewer, &page, cursor);
		count += page.count;
		set.now_ns += page_ns;
	} while (cursor != 0);
	return count;
}

static void put(uint32_t ring, uint8_t event, uint32_t psn, uint32_t value, uint32_t tick)
{
	struct rnic_record_ring *to = &region.rings[ring];

	to->entries[to->count++ % RNIC_RECORD_RING_ENTRIES] = (struct rnic_record_entry){
		.tick = tick, .event = event, .psn = psn, .value = value};
}

/* The entries of the shared ring have program and queue pair; those of no owner are left out. */
static void test_shared_ring(void **state)
{
	(void)state;
	put(RNIC_RECORD_SHARED_RING, RNIC_RECORD_NAK_SENT, 1, 0, 0);
	put(RNIC_RECORD_SHARED_RING, RNIC_RECORD_OWNER, QPN, 0x456, CLIENT);
	put(RNIC_RECORD_SHARED_RING, RNIC_RECORD_NAK_SENT, 2, 0, 0);
	put(RNIC_RECORD_SHARED_RING, RNIC_RECORD_OWNER, QPN + 1, 0x457, CLIENT + 1);
	put(RNIC_RECORD_SHARED_RING, RNIC_RECORD_NAK_SENT, 3, 0, 0);
	shelve();
	assert_int_equal(show_to(USER), 2);
	assert_int_equal(rows[0].qpn, QPN);
	assert_int_equal(rows[0].peer_qpn, 0x456);
	assert_int_equal(rows[0].pid, PROGRAM_PID);
	assert_int_equal(rows[0].client_id, CLIENT);
	assert_string_equal(rows[0].program, "gone_program");
	assert_int_equal(rows[0].gaps, RNIC_RECORD_GAP_SHARED);
	assert_int_equal(rows[1].qpn, QPN + 1);
	assert_int_equal(rows[1].pid, PROCESS_PID);
	assert_int_equal(rows[1].client_id, 0);
	assert_string_equal(rows[1].program, "");
}

static void test_ring_that_is_full(void **state)
{
	(void)state;
	region.rings[RNIC_RECORD_FIRST_RING].qpn = QPN;
	for (uint32_t i = 0; i < RNIC_RECORD_RING_ENTRIES; i++)
		put(RNIC_RECORD_FIRST_RING, RNIC_RECORD_NAK_SENT, i, 0, 0);
	shelve();
	assert_int_equal(show_to(USER), RNIC_RECORD_RING_ENTRIES);
	assert_int_equal(rows[0].gaps, 0);
	put(RNIC_RECORD_FIRST_RING, RNIC_RECORD_NAK_SENT, 1000, 0, 0);
	shelve();
	assert_int_equal(show_to(USER), 2 * RNIC_RECORD_RING_ENTRIES);
	assert_int_equal(rows[RNIC_RECORD_RING_ENTRIES].gaps, RNIC_RECORD_GAP_OLDER);
	assert_int_equal(rows[RNIC_RECORD_RING_ENTRIES].psn, 1);
}

/* Nobody sees another user's record but root. */
static void test_viewers(void **state)
{
	(void)state;
	region.rings[RNIC_RECORD_FIRST_RING].qpn = QPN;
	put(RNIC_RECORD_FIRST_RING, RNIC_RECORD_NAK_SENT, 1, 0, 0);
	put(RNIC_RECORD_PORT_RING, RNIC_RECORD_LINK, 0, 0, 0);
	shelve();
	assert_int_equal(show_to(USER), 2);
	assert_int_equal(show_to(0), 2);
	assert_int_equal(show_to(STRANGER), 0);
}

/* A process tells nothing of queue pairs that cannot be its own. */
static void test_queue_pairs_of_others(void **state)
{
	(void)state;
	region.rings[RNIC_RECORD_FIRST_RING].qpn = OTHERS_QPN;
	put(RNIC_RECORD_FIRST_RING, RNIC_RECORD_TROUBLE, 1, 0, 0);
	put(RNIC_RECORD_SHARED_RING, RNIC_RECORD_OWNER, OTHERS_QPN, QPN, CLIENT);
	put(RNIC_RECORD_SHARED_RING, RNIC_RECORD_TROUBLE, 1, 0, 0);
	put(1, RNIC_RECORD_CONNECTED, OTHERS_QPN, QPN, 0);
	put(1, RNIC_RECORD_QP_TOOK, OTHERS_QPN, 0x100, 0);
	put(1, RNIC_RECORD_QP_ENDED, OTHERS_QPN, QPN, 0);
	put(1, RNIC_RECORD_TROUBLE, QPN, 0, 0);
	put(1, RNIC_RECORD_PROGRAM_ENDED, 0, 0, 0);
	put(1, RNIC_RECORD_CONNECTED, QPN, OTHERS_QPN, 0);
	shelve();
	assert_int_equal(show_to(0), 1);
	assert_int_equal(rows[0].event, RNIC_RECORD_CONNECTED);
	assert_int_equal(rows[0].psn, QPN);
}

/* Any bytes as a region: each row is one that the process might have. */
static void test_nonsense(void **state)
{
	struct prng prng;

	(void)state;
	prng_init(&prng, 45);
	for (uint32_t round = 0; round < RECORD_SHELF_MAX; round++) {
		uint8_t *bytes = (uint8_t *)&region;

		for (size_t i = 0; i < sizeof(region); i++)
			bytes[i] = (uint8_t)(prng_below(&prng, 256) >> (round % 2 ? 4 : 0));
		for (uint32_t i = RNIC_RECORD_FIRST_RING; i < RNIC_RECORD_RINGS; i += 2)
			region.rings[i].qpn = QPN;
		shelve();
	}
	assert_int_equal(show_to(STRANGER), 0);
	for (uint32_t i = show_to(0); i-- > 0;) {
		assert_true(rows[i].event > RNIC_RECORD_OWNER);
		assert_true(rows[i].event < RNIC_RECORD_EVENT_COUNT);
		assert_true(rows[i].qpn == 0 || rows[i].qpn >> RNIC_LANE_BITS == LANE);
		assert_int_equal(rows[i].uid, USER);
		assert_true(rows[i].pid == PROCESS_PID || rows[i].pid == PROGRAM_PID);
		assert_non_null(memchr(rows[i].program, 0, sizeof(rows[i].program)));
	}
}

/* Ages are those of one moment, however long the replies take: a later entry is not older. */
static void test_ages(void **state)
{
	const uint32_t tick = rnic_record_tick(FIXTURE_SECOND / 2);
	uint32_t count;

	(void)state;
	put(1, RNIC_RECORD_CONNECTED, QPN, 0x456, tick);
	for (uint32_t ring = RNIC_RECORD_FIRST_RING; ring < RNIC_RECORD_RINGS; ring++) {
		region.rings[ring].qpn = QPN;
		for (uint32_t i = 0; i < RNIC_RECORD_RING_ENTRIES; i++)
			put(ring, RNIC_RECORD_NAK_SENT, i, 0, tick + 1);
	}
	shelve();
	page_ns = FIXTURE_SECOND / 100;
	count = show_to(0);
	page_ns = 0;
	assert_true(rows[0].age_us >= 500000 && rows[0].age_us < 502000);
	for (uint32_t i = 1; i < count; i++)
		assert_true(rows[i].age_us < rows[0].age_us && rows[i].age_us > 499000);
}

/* The shelf is shared by user: whoever puts most records loses the oldest of them. */
static void test_shelf_is_shared(void **state)
{
	const struct record_shelf *shelf = &fixture->set.common.records;
	struct shelved_record record = {.uid = STRANGER, .pid = 1, .lane = LANE};

	(void)state;
	put(RNIC_RECORD_PORT_RING, RNIC_RECORD_LINK, 0, 0, 0);
	shelve();
	for (pid_t i = 1; i <= 3 * RECORD_SHELF_MAX; i++) {
		record.pid = i;
		record_shelf_put(&fixture->set.common.records, &record, &region);
	}
	assert_int_equal(shelf->count, RECORD_SHELF_MAX);
	assert_int_equal(shelf->records[0].uid, USER);
	assert_int_equal(shelf->records[RECORD_SHELF_MAX - 1].pid, 3 * RECORD_SHELF_MAX);
	assert_int_equal(show_to(USER), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shared_ring, open_set, close_set),
		cmocka_unit_test_setup_teardown(test_ring_that_is_full, open_set, close_set),
		cmocka_unit_test_setup_teardown(test_viewers, open_set, close_set),
		cmocka_unit_test_setup_teardown(test_queue_pairs_of_others, open_set, close_set),
		cmocka_unit_test_setup_teardown(test_nonsense, open_set, close_set),
		cmocka_unit_test_setup_teardown(test_ages, open_set, close_set),
		cmocka_unit_test_setup_teardown(test_shelf_is_shared, open_set, close_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
