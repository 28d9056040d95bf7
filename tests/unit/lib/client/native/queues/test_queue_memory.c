/* SPDX-License-Identifier: MIT */
/* Places of queues in regions, from a daemon that grants regions up to a size. */
#include "lib/client/native/queues/queue_memory.h"

#include "lib/client/native/daemon_link.h"
#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES 4096

static struct {
	uint64_t granted_max_bytes;
	uint64_t latest_bytes;
	uint32_t created, destroyed;
	int destroy_error;
} fake;

int __wrap_rnic_link_call_for_fd(struct rnic_link *link, struct rnic_call call, int *reply_fd);
int __wrap_rnic_link_drop_object(struct rnic_link *link, enum rnic_ctl_operation operation,
				 struct rnic_handle handle);

int __wrap_rnic_link_call_for_fd(struct rnic_link *link, struct rnic_call call, int *reply_fd)
{
	const struct rnic_ctl_create_queue_region *request = call.request;
	struct rnic_ctl_queue_region_reply *reply = call.reply;

	(void)link;
	assert_int_equal(call.operation, RNIC_CTL_CREATE_QUEUE_REGION);
	assert_int_equal(request->bytes % RNIC_QUEUE_PAGE_BYTES, 0);
	if (request->bytes > fake.granted_max_bytes)
		return -ENOSPC;
	*reply_fd = memfd_create("queues", MFD_CLOEXEC);
	assert_true(*reply_fd >= 0);
	assert_int_equal(ftruncate(*reply_fd, (off_t)request->bytes), 0);
	fake.latest_bytes = request->bytes;
	reply->queue_region = (struct rnic_handle){.slot = fake.created++, .generation = 1};
	return 0;
}

int __wrap_rnic_link_drop_object(struct rnic_link *link, enum rnic_ctl_operation operation,
				 struct rnic_handle handle)
{
	(void)link;
	(void)handle;
	assert_int_equal(operation, RNIC_CTL_DESTROY_QUEUE_REGION);
	fake.destroyed += fake.destroy_error == 0;
	return fake.destroy_error;
}

static struct rnic_link link_to_fake;
static struct rnic_queue_memory memory = {.link = &link_to_fake};

static int set_up(void **state)
{
	(void)state;
	rnic_link_init(&link_to_fake);
	atomic_store(&link_to_fake.lost, 0);
	memset(&fake, 0, sizeof(fake));
	fake.granted_max_bytes = UINT64_MAX;
	return 0;
}

static struct rnic_queues_plan plan_of(uint64_t entries_bytes, uint64_t spill_bytes)
{
	return (struct rnic_queues_plan){
		.entries_bytes = entries_bytes,
		.spill_bytes = spill_bytes,
	};
}

static struct rnic_queue_places take(uint64_t entries_bytes, uint64_t spill_bytes)
{
	const struct rnic_queues_plan plan = plan_of(entries_bytes, spill_bytes);
	struct rnic_queue_places places;

	assert_int_equal(rnic_queue_places_take(&memory, &plan, &places), 0);
	return places;
}

/* Small queues lie beside their spill areas, and the next ones beside them. */
static void test_small_queues_share_a_page(void **state)
{
	struct rnic_queue_places first = take(700, 1024), second = take(700, 1024);

	(void)state;
	assert_int_equal(fake.created, 1);
	assert_int_equal(first.entries_offset, 0);
	assert_int_equal(first.spill_offset, 704);
	assert_int_equal(second.entries_offset, 1792);
	assert_int_equal(second.spill_offset, 1792 + 704);
	rnic_queue_places_give(&memory, &first);
	assert_int_equal(take(700, 1024).entries_offset, 0);
	assert_int_equal(rnic_queue_places_handle(&second).slot, 0);
	rnic_queue_memory_free(&memory);
}

/* No page lies between the entries because of spill areas that nobody may use. */
static void test_sides_lie_at_the_back(void **state)
{
	struct rnic_queue_places first = take(9216, 8192), second = take(9216, 8192);
	const uint64_t bytes = fake.latest_bytes;

	(void)state;
	assert_int_equal(first.entries_offset, 0);
	assert_int_equal(second.entries_offset, 9216);
	assert_int_equal(first.spill_offset, bytes - 8192);
	assert_int_equal(second.spill_offset, bytes - 2 * 8192);
	memset(rnic_queue_places_entries(&second), 0xff, 9216);
	memset(rnic_queue_places_spill(&second), 0xff, 8192);
	assert_int_equal(rnic_queue_places_entries(&first)[9215], 0);
	assert_int_equal(rnic_queue_places_spill(&first)[0], 0);
	rnic_queue_memory_free(&memory);
}

static void test_no_queues_need_no_memory(void **state)
{
	struct rnic_queue_places places = take(0, 0);

	(void)state;
	assert_int_equal(fake.created, 0);
	assert_true(rnic_handle_is_none(rnic_queue_places_handle(&places)));
	assert_null(rnic_queue_places_entries(&places));
	rnic_queue_places_give(&memory, &places);
}

/* A program that destroys and creates in turn asks the daemon once. */
static void test_the_last_region_stays(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct rnic_queue_places places = take(4096, 4096);

		rnic_queue_places_give(&memory, &places);
	}
	assert_int_equal(fake.created, 1);
	assert_int_equal(fake.destroyed, 0);
	rnic_queue_memory_free(&memory);
}

static void test_empty_regions_go(void **state)
{
	struct rnic_queue_places places[64];

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(places); i++)
		places[i] = take(60000, 60000);
	assert_true(fake.created > 4);
	for (unsigned i = 0; i < COUNT_OF(places); i++)
		rnic_queue_places_give(&memory, &places[i]);
	assert_int_equal(fake.destroyed, fake.created - 1);
	rnic_queue_memory_free(&memory);
}

/* Large queues have a region alone, which is not kept. */
static void test_large_queues_stand_alone(void **state)
{
	struct rnic_queue_places places = take(3 << 20, (32 << 20) + 1);

	(void)state;
	assert_int_equal(fake.latest_bytes, (35 << 20) + PAGE_BYTES);
	rnic_queue_places_spill(&places)[32 << 20] = 1;
	rnic_queue_places_give(&memory, &places);
	assert_int_equal(fake.destroyed, 1);
	assert_null(memory.regions);
}

/* A region stays where the daemon could not be asked to end it, and goes with a lost daemon. */
static void test_end_that_fails(void **state)
{
	struct rnic_queue_places places = take(2 << 20, 64);

	(void)state;
	fake.destroy_error = -ENOBUFS;
	rnic_queue_places_give(&memory, &places);
	assert_non_null(memory.regions);
	places = take(2 << 20, 64);
	assert_int_equal(fake.created, 1);
	fake.destroy_error = -ENODEV;
	atomic_store(&link_to_fake.lost, -ENODEV);
	rnic_queue_places_give(&memory, &places);
	assert_null(memory.regions);
}

/* A daemon that is short of memory grants what is needed. */
static void test_less_than_usual(void **state)
{
	const struct rnic_queues_plan plan = plan_of(9216, 8192), more = plan_of(9216, 32768);
	struct rnic_queue_places places;

	(void)state;
	fake.granted_max_bytes = 5 * PAGE_BYTES;
	assert_int_equal(rnic_queue_places_take(&memory, &plan, &places), 0);
	assert_int_equal(fake.latest_bytes, 5 * PAGE_BYTES);
	assert_int_equal(rnic_queue_places_take(&memory, &more, &places), -ENOSPC);
	assert_int_equal(fake.created, 1);
	rnic_queue_memory_free(&memory);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_small_queues_share_a_page),
		TEST(test_sides_lie_at_the_back),
		TEST(test_no_queues_need_no_memory),
		TEST(test_the_last_region_stays),
		TEST(test_empty_regions_go),
		TEST(test_large_queues_stand_alone),
		TEST(test_end_that_fails),
		TEST(test_less_than_usual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
