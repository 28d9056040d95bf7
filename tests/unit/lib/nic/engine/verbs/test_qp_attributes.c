/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/verbs/qp_attributes.h"

#include "lib/nic/engine/engine_limits.h"
#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <stdbool.h>

#define REFUSED true

#define A(name)	  RNIC_QP_ATTR_##name
#define M(member) offsetof(struct rnic_qp_attributes, member)

/* A value of an attribute, and what the device makes of it. */
static const struct row {
	uint32_t attribute;
	size_t member;
	uint32_t bytes;
	uint32_t given;
	bool is_refused;
	uint32_t kept;
} rows[] = {
	{A(RQ_PSN), M(rq_psn), 4, 0xffffff, false, 0xffffff},
	{A(RQ_PSN), M(rq_psn), 4, 0x1000001, false, 1},
	{A(SQ_PSN), M(sq_psn), 4, 0xdeadbeef, false, 0xadbeef},
	{A(DEST_QPN), M(dest_qpn), 4, 0x1000002, false, 2},
	{A(RETRY_COUNT), M(retry_count), 1, 7, false, 7},
	{A(RETRY_COUNT), M(retry_count), 1, 10, false, 2},
	{A(RNR_RETRY), M(rnr_retry), 1, 255, false, 7},
	{A(MIN_RNR_TIMER), M(min_rnr_timer), 1, 33, false, 1},
	{A(QKEY), M(qkey), 4, 0xffffffff, false, 0xffffffff},
	{A(ACCESS_FLAGS), M(access_flags), 4, 0x3ff003ff, false, 0x3ff003ff},
	{A(ACCESS_FLAGS), M(access_flags), 4, 0xffff, REFUSED, 0},
	{A(ACCESS_FLAGS), M(access_flags), 4, 1U << 31, REFUSED, 0},
	{A(TIMEOUT), M(timeout), 1, 31, false, 31},
	{A(TIMEOUT), M(timeout), 1, 32, REFUSED, 0},
	{A(PATH_MTU), M(path_mtu), 1, 0, REFUSED, 0},
	{A(PATH_MTU), M(path_mtu), 1, 5, false, 5},
	{A(PATH_MTU), M(path_mtu), 1, 6, REFUSED, 0},
	{A(PORT), M(port), 1, 0, REFUSED, 0},
	{A(PORT), M(port), 1, 1, false, 1},
	{A(PORT), M(port), 1, 2, REFUSED, 0},
	{A(PKEY_INDEX), M(pkey_index), 2, LIMIT_PKEYS - 1, false, LIMIT_PKEYS - 1},
	{A(PKEY_INDEX), M(pkey_index), 2, LIMIT_PKEYS, REFUSED, 0},
	{A(MAX_RD_ATOMIC), M(max_rd_atomic), 1, LIMIT_RD_ATOMIC, false, LIMIT_RD_ATOMIC},
	{A(MAX_RD_ATOMIC), M(max_rd_atomic), 1, LIMIT_RD_ATOMIC + 1, REFUSED, 0},
	{A(MAX_DEST_RD_ATOMIC), M(max_dest_rd_atomic), 1, LIMIT_RD_ATOMIC + 1, REFUSED, 0},
	{A(EN_SQD_ASYNC_NOTIFY), M(en_sqd_async_notify), 1, 1, false, 1},
	{A(EN_SQD_ASYNC_NOTIFY), M(en_sqd_async_notify), 1, 2, REFUSED, 0},
	/* The path stays in MIGRATED, and there is no other one. */
	{A(PATH_MIGRATION_STATE), M(path_migration_state), 1, 0, false, 0},
	{A(PATH_MIGRATION_STATE), M(path_migration_state), 1, 1, REFUSED, 0},
	{A(PATH_MIGRATION_STATE), M(path_migration_state), 1, 2, REFUSED, 0},
	{A(ALTERNATE_PATH), M(alternate_port), 1, 1, REFUSED, 0},
};

/* The machines that this runs on are little-endian: the low bytes come first. */
static struct rnic_qp_attributes attributes_with(const struct row *row)
{
	struct rnic_qp_attributes attributes = {0};

	memcpy((uint8_t *)&attributes + row->member, &row->given, row->bytes);
	return attributes;
}

static void each_value_is_refused_masked_or_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct rnic_qp_attributes given = attributes_with(&rows[i]), taken = {0};
		uint32_t refused = qp_attributes_refused(&given, rows[i].attribute);
		uint32_t kept = 0;

		if (refused != (rows[i].is_refused ? rows[i].attribute : 0))
			fail_msg("row %zu: refused %#x", i, refused);
		if (rows[i].is_refused)
			continue;
		qp_attributes_take(&taken, &given, rows[i].attribute);
		memcpy(&kept, (uint8_t *)&taken + rows[i].member, rows[i].bytes);
		if (kept != rows[i].kept)
			fail_msg("row %zu: kept %#x", i, kept);
	}
}

/* All values are bad, and none of them is asked for. */
static void only_what_the_mask_names_counts(void **state)
{
	struct rnic_qp_attributes bad, taken = {0};
	const struct rnic_qp_attributes none = {0};

	(void)state;
	memset(&bad, 0xff, sizeof(bad));
	assert_int_equal(qp_attributes_refused(&bad, RNIC_QP_ATTR_STATE), 0);
	qp_attributes_take(&taken, &bad, RNIC_QP_ATTR_STATE);
	assert_memory_equal(&taken, &none, sizeof(none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_value_is_refused_masked_or_taken),
		cmocka_unit_test(only_what_the_mask_names_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
