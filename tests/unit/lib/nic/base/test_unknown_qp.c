/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/unknown_qp.h"

#include "tests/unit/unit_test.h"

static const struct rnic_gid near_gid = {{[15] = 1}};
static const struct rnic_gid far_gid = {{[15] = 2}};

static void note_times(struct unknown_qp *unknown, const struct rnic_gid *source, uint32_t qpn,
		       uint32_t times)
{
	while (times-- > 0)
		unknown_qp_note(unknown, source, qpn);
}

static void test_a_run_tells_once(void **state)
{
	struct unknown_qp unknown = {0}, taken;

	(void)state;
	note_times(&unknown, &near_gid, 7, UNKNOWN_QP_PACKETS - 1);
	assert_false(unknown_qp_take(&unknown, &taken));
	note_times(&unknown, &near_gid, 7, 1);
	assert_true(unknown_qp_take(&unknown, &taken));
	assert_int_equal(taken.qpn, 7);
	assert_memory_equal(&taken.source, &near_gid, sizeof(near_gid));
	note_times(&unknown, &near_gid, 7, 10000);
	assert_false(unknown_qp_take(&unknown, &taken));
}

static void test_packets_of_others_break_a_run(void **state)
{
	struct unknown_qp unknown = {0}, taken;

	(void)state;
	for (int i = 0; i < 100; i++) {
		note_times(&unknown, &near_gid, 7, UNKNOWN_QP_PACKETS - 1);
		note_times(&unknown, i % 2 == 0 ? &far_gid : &near_gid, i % 2 == 0 ? 7 : 8, 1);
		assert_false(unknown_qp_take(&unknown, &taken));
	}
}

static void test_what_is_due_waits(void **state)
{
	struct unknown_qp unknown = {0}, taken;

	(void)state;
	note_times(&unknown, &near_gid, 7, UNKNOWN_QP_PACKETS);
	note_times(&unknown, &far_gid, 8, UNKNOWN_QP_PACKETS);
	assert_true(unknown_qp_take(&unknown, &taken));
	assert_int_equal(taken.qpn, 7);
	note_times(&unknown, &far_gid, 8, UNKNOWN_QP_PACKETS);
	assert_true(unknown_qp_take(&unknown, &taken));
	assert_int_equal(taken.qpn, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_run_tells_once),
		cmocka_unit_test(test_packets_of_others_break_a_run),
		cmocka_unit_test(test_what_is_due_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
