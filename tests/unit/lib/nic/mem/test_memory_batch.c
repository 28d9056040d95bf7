/* SPDX-License-Identifier: MIT */
#include "lib/nic/mem/memory_batch.h"
#include "tests/unit/unit_test.h"

/* A region that counts calls and fails at one offset. */
struct fake_region {
	struct client_region region;
	uint64_t bad_offset;
	uint8_t bytes[4096];
	uint32_t calls;
	uint32_t transfers;
};

static struct fake_region *fake(const struct memory_transfer *transfer)
{
	return (struct fake_region *)(void *)transfer->region;
}

static uint32_t fake_write(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	fake(transfers)->calls++;
	for (uint32_t i = 0; i < count; i++) {
		struct fake_region *region = fake(&transfers[i]);

		assert_ptr_equal(region->region.space, transfers[0].region->space);
		if (transfers[i].offset == region->bad_offset) {
			*error = -EFAULT;
			return i;
		}
		memcpy(region->bytes + transfers[i].offset, transfers[i].bytes,
		       transfers[i].length);
		region->transfers++;
	}
	return count;
}

static uint32_t fake_read(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	(void)error;
	fake(transfers)->calls++;
	for (uint32_t i = 0; i < count; i++)
		memcpy(transfers[i].bytes, fake(&transfers[i])->bytes + transfers[i].offset,
		       transfers[i].length);
	return count;
}

static const struct client_memory_ops fake_ops = {
	.read = fake_read,
	.write = fake_write,
};

static void make_region(struct fake_region *region, const void *space)
{
	memset(region, 0, sizeof(*region));
	region->region.ops = &fake_ops;
	region->region.space = space;
	region->region.bytes = sizeof(region->bytes);
	region->bad_offset = UINT64_MAX;
}

struct failures {
	uint32_t count;
	void *owner[8];
	uint64_t tag[8];
	int error[8];
};

static void remember_failure(void *context, void *owner, uint64_t tag, int error)
{
	struct failures *failures = context;

	assert_true(failures->count < 8);
	failures->owner[failures->count] = owner;
	failures->tag[failures->count] = tag;
	failures->error[failures->count] = error;
	failures->count++;
}

static struct memory_batch batch;
static struct failures failures;
static uint8_t byte = 0x5a;

static int set_up(void **state)
{
	(void)state;
	memset(&failures, 0, sizeof(failures));
	memory_batch_init(&batch, MEMORY_WRITE, remember_failure, &failures);
	return 0;
}

static int add(struct fake_region *region, uint64_t offset, void *owner, uint64_t tag)
{
	struct memory_transfer transfer = {&region->region, offset, &byte, 1};

	return memory_batch_add(&batch, &transfer, owner, tag);
}

static void transfers_of_one_space_go_in_one_call(void **state)
{
	static struct fake_region a, b;
	int owner;

	(void)state;
	make_region(&a, &a);
	make_region(&b, &a);
	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(add(i % 2 == 0 ? &a : &b, i, &owner, i), 0);
	assert_int_equal(a.calls + b.calls, 0);
	memory_batch_flush(&batch);
	assert_int_equal(a.calls + b.calls, 1);
	assert_int_equal(a.transfers, 8);
	assert_int_equal(b.transfers, 8);
	assert_true(memory_batch_is_empty(&batch));
}

static void a_change_of_space_starts_a_call(void **state)
{
	static struct fake_region a, b;
	int owner;

	(void)state;
	make_region(&a, &a);
	make_region(&b, &b);
	add(&a, 0, &owner, 0);
	add(&a, 1, &owner, 1);
	add(&b, 0, &owner, 2);
	add(&a, 2, &owner, 3);
	memory_batch_flush(&batch);
	assert_int_equal(a.calls, 2);
	assert_int_equal(b.calls, 1);
	assert_int_equal(a.transfers, 3);
}

static void a_direct_region_is_written_at_once(void **state)
{
	static struct fake_region region;
	int owner;

	(void)state;
	make_region(&region, &region);
	region.region.direct = true;
	region.bad_offset = 9;
	assert_int_equal(add(&region, 3, &owner, 0), 0);
	assert_int_equal(region.bytes[3], byte);
	assert_int_equal(add(&region, 9, &owner, 0), -EFAULT);
	assert_int_equal(failures.count, 0);
	assert_true(memory_batch_is_empty(&batch));
}

static void a_full_batch_is_flushed_by_the_next_transfer(void **state)
{
	static struct fake_region region;
	int owner;

	(void)state;
	make_region(&region, &region);
	for (uint64_t i = 0; i < MEMORY_BATCH_TRANSFERS; i++)
		add(&region, i, &owner, i);
	assert_int_equal(region.calls, 0);
	add(&region, MEMORY_BATCH_TRANSFERS, &owner, 0);
	assert_int_equal(region.calls, 1);
	assert_int_equal(region.transfers, MEMORY_BATCH_TRANSFERS);
	assert_int_equal(batch.count, 1);
}

static void a_failure_is_told_and_stops_its_owner_only(void **state)
{
	static struct fake_region region;
	int first, second;

	(void)state;
	make_region(&region, &region);
	region.bad_offset = 2;
	add(&region, 0, &first, 10);
	add(&region, 1, &second, 20);
	add(&region, 2, &first, 11);
	add(&region, 3, &second, 21);
	add(&region, 4, &first, 12);
	memory_batch_flush(&batch);
	assert_int_equal(failures.count, 1);
	assert_ptr_equal(failures.owner[0], &first);
	assert_int_equal(failures.tag[0], 11);
	assert_int_equal(failures.error[0], -EFAULT);
	assert_int_equal(region.bytes[0], byte);
	assert_int_equal(region.bytes[1], byte);
	assert_int_equal(region.bytes[3], byte);
	assert_int_equal(region.bytes[4], 0);
}

static void each_owner_hears_of_its_own_failure(void **state)
{
	static struct fake_region a, b;
	int first, second;

	(void)state;
	make_region(&a, &a);
	make_region(&b, &b);
	a.bad_offset = 0;
	b.bad_offset = 5;
	add(&a, 0, &first, 1);
	add(&b, 5, &second, 2);
	add(&b, 6, &second, 3);
	add(&b, 7, &first, 4);
	memory_batch_flush(&batch);
	assert_int_equal(failures.count, 2);
	assert_ptr_equal(failures.owner[1], &second);
	assert_int_equal(failures.tag[1], 2);
	assert_int_equal(b.bytes[6], 0);
	assert_int_equal(b.bytes[7], 0);
}

static void a_read_batch_reads(void **state)
{
	static struct fake_region region;
	struct memory_transfer transfer;
	uint8_t into = 0;
	int owner;

	(void)state;
	make_region(&region, &region);
	region.bytes[77] = 0xa5;
	memory_batch_init(&batch, MEMORY_READ, remember_failure, &failures);
	transfer = (struct memory_transfer){&region.region, 77, &into, 1};
	memory_batch_add(&batch, &transfer, &owner, 0);
	assert_int_equal(into, 0);
	memory_batch_flush(&batch);
	assert_int_equal(into, 0xa5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(transfers_of_one_space_go_in_one_call, set_up),
		cmocka_unit_test_setup(a_change_of_space_starts_a_call, set_up),
		cmocka_unit_test_setup(a_direct_region_is_written_at_once, set_up),
		cmocka_unit_test_setup(a_full_batch_is_flushed_by_the_next_transfer, set_up),
		cmocka_unit_test_setup(a_failure_is_told_and_stops_its_owner_only, set_up),
		cmocka_unit_test_setup(each_owner_hears_of_its_own_failure, set_up),
		cmocka_unit_test_setup(a_read_batch_reads, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
