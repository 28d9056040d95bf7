/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/mr.h"

#include "proto/base/bits.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define NEW_IOVA UINT64_C(0x5000)

static void test_change_keeps_the_key(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct engine *engine = &fixture->engine;
	struct mr *mr = &fixture->mr;
	const uint32_t key = mr->key;
	const uint32_t references = fixture->pd.references;
	struct pd other = {0};
	struct mr wanted = *mr;
	uint64_t offset = 0;

	(void)state;
	wanted.pd = &other;
	wanted.iova = NEW_IOVA;
	wanted.length = 64;
	wanted.access = RNIC_ACCESS_REMOTE_READ;
	wanted.key = 0;
	mr_change(engine, mr, &wanted);
	assert_int_equal(mr->key, key);
	assert_int_equal(other.references, 1);
	assert_int_equal(fixture->pd.references, references - 1);
	assert_ptr_equal(
		mr_find(engine, key, &other, RNIC_ACCESS_REMOTE_READ, NEW_IOVA + 8, 56, &offset),
		mr);
	assert_int_equal(offset, mr->region_offset + 8);
	assert_null(
		mr_find(engine, key, &fixture->pd, RNIC_ACCESS_REMOTE_READ, NEW_IOVA, 1, &offset));
	assert_null(mr_find(engine, key, &other, RNIC_ACCESS_REMOTE_WRITE, NEW_IOVA, 1, &offset));
	assert_null(mr_find(engine, key, &other, RNIC_ACCESS_REMOTE_READ, NEW_IOVA, 65, &offset));
	assert_null(
		mr_find(engine, key, &other, RNIC_ACCESS_REMOTE_READ, FIXTURE_IOVA, 1, &offset));

	wanted.pd = &fixture->pd;
	mr_change(engine, mr, &wanted);
	assert_int_equal(other.references, 0);
	assert_int_equal(fixture->pd.references, references);
	fixture_destroy(fixture);
}

/* No access with bytes is within a region without any. */
static void test_region_of_no_bytes(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct mr wanted = fixture->mr;
	uint64_t offset = 0;

	(void)state;
	wanted.length = 0;
	mr_change(&fixture->engine, &fixture->mr, &wanted);
	assert_null(mr_find(&fixture->engine, fixture->mr.key, &fixture->pd, 0, FIXTURE_IOVA, 1,
			    &offset));
	assert_ptr_equal(mr_find(&fixture->engine, fixture->mr.key, &fixture->pd, 0, FIXTURE_IOVA,
				 0, &offset),
			 &fixture->mr);
	fixture_destroy(fixture);
}

/* Each share counts its own objects, and all shares have the keys in common. */
static void test_keys_of_a_shared_domain(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct mr *mr = &fixture->mr;
	struct pd_share share = {.holders = 2}, another = {.holders = 1};
	struct pd sharer = {.share = &share}, stranger = {.share = &another}, alone = {0};
	uint64_t offset = 0;

	(void)state;
	assert_null(mr_find(&fixture->engine, mr->key, &sharer, 0, FIXTURE_IOVA, 1, &offset));
	fixture->pd.share = &share;
	assert_ptr_equal(mr_find(&fixture->engine, mr->key, &sharer, 0, FIXTURE_IOVA, 1, &offset),
			 mr);
	assert_null(mr_find(&fixture->engine, mr->key, &stranger, 0, FIXTURE_IOVA, 1, &offset));
	assert_null(mr_find(&fixture->engine, mr->key, &alone, 0, FIXTURE_IOVA, 1, &offset));
	assert_int_equal(sharer.references, 0);
	fixture_destroy(fixture);
}

/*
 * Each fault of an access has its own verdict; but a requester learns nothing about the keys of
 * another protection domain.
 */
static void test_what_is_wrong_with_an_access(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	const struct mr *mr = &fixture->mr;
	const struct pd other = {0};
	const struct {
		uint32_t key_difference;
		const struct pd *pd;
		uint32_t access;
		uint64_t length;
		const char *text;
	} rows[] = {
		{0x100, &fixture->pd, 0, 1, "domain has no memory region with the rkey 0x"},
		{0, &other, 0, 1, "domain has no memory region with the rkey 0x"},
		{0, &fixture->pd, RNIC_ACCESS_FLUSH_GLOBAL, 1, "without IBV_ACCESS_FLUSH_GLOBAL."},
		{0, &fixture->pd, 0, mr->length + 1, "bytes at 0x"},
	};
	char text[160];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		uint64_t offset;

		assert_null(mr_find(&fixture->engine, mr->key ^ rows[i].key_difference, rows[i].pd,
				    rows[i].access, mr->iova, rows[i].length, &offset));
		mr_refusal_text(&fixture->engine.refusal, "rkey", text, sizeof(text));
		assert_non_null(strstr(text, rows[i].text));
	}
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change_keeps_the_key),
		cmocka_unit_test(test_region_of_no_bytes),
		cmocka_unit_test(test_keys_of_a_shared_domain),
		cmocka_unit_test(test_what_is_wrong_with_an_access),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
