/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/responder_resources.h"
#include "tests/unit/unit_test.h"

static struct responder_resource *add(struct responder_resources *ring, uint32_t psn,
				      uint32_t packets)
{
	struct responder_resource *responder_resource;

	assert_true(responder_resources_has_space(ring));
	responder_resource = responder_resources_add(ring);
	responder_resource->psn = rnic_psn(psn);
	responder_resource->packets = packets;
	responder_resource->is_pending = true;
	return responder_resource;
}

static void a_ring_of_none_has_no_space(void **state)
{
	struct responder_resources ring;

	(void)state;
	assert_int_equal(responder_resources_init(&ring, 0), 0);
	assert_false(responder_resources_has_space(&ring));
	assert_null(responder_resources_find(&ring, rnic_psn(0)));
	assert_null(responder_resources_next_pending(&ring));
	responder_resources_fini(&ring);
}

static void the_oldest_answered_is_evicted(void **state)
{
	struct responder_resources ring;
	struct responder_resource *first, *second;

	(void)state;
	assert_int_equal(responder_resources_init(&ring, 2), 0);
	first = add(&ring, 10, 1);
	second = add(&ring, 11, 1);
	assert_false(responder_resources_has_space(&ring));
	second->is_pending = false; /* answers leave in order, so this alone frees nothing */
	assert_false(responder_resources_has_space(&ring));
	first->is_pending = false;
	add(&ring, 12, 1);
	assert_null(responder_resources_find(&ring, rnic_psn(10)));
	assert_ptr_equal(responder_resources_find(&ring, rnic_psn(11)), second);
	assert_int_equal(responder_resources_find(&ring, rnic_psn(12))->psn.value, 12);
	responder_resources_fini(&ring);
}

/* A peer that has its answer may go on, although the answer is being repeated. */
static void a_repetition_holds_no_slot(void **state)
{
	struct responder_resources ring;
	struct responder_resource *first;

	(void)state;
	assert_int_equal(responder_resources_init(&ring, 1), 0);
	first = add(&ring, 10, 4);
	assert_false(responder_resources_has_space(&ring));
	first->is_repeat = true;
	assert_true(responder_resources_has_space(&ring));
	responder_resources_fini(&ring);
}

static void a_request_is_found_by_any_psn_of_its_answer(void **state)
{
	static const struct {
		uint32_t psn;
		uint32_t found; /* PSN of the request, or 1 for none */
	} cases[] = {
		{0xfffffd, 1}, {0xfffffe, 0xfffffe}, {0xffffff, 0xfffffe},
		{0, 0xfffffe}, {2, 0xfffffe},	     {3, 3},
		{4, 1},	       {0x800000, 1},
	};
	struct responder_resources ring;

	(void)state;
	assert_int_equal(responder_resources_init(&ring, 4), 0);
	add(&ring, 0xfffffe, 5);
	add(&ring, 3, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct responder_resource *found =
			responder_resources_find(&ring, rnic_psn(cases[i].psn));

		assert_int_equal(found != NULL ? found->psn.value : 1, cases[i].found);
	}
	responder_resources_fini(&ring);
}

static void answers_are_owed_in_order(void **state)
{
	struct responder_resources ring;

	(void)state;
	assert_int_equal(responder_resources_init(&ring, 3), 0);
	for (uint32_t psn = 0; psn < 8; psn++) {
		add(&ring, psn, 1);
		assert_int_equal(responder_resources_next_pending(&ring)->psn.value, psn);
		responder_resources_next_pending(&ring)->is_pending = false;
		assert_null(responder_resources_next_pending(&ring));
	}
	add(&ring, 8, 1);
	add(&ring, 9, 1);
	assert_int_equal(responder_resources_next_pending(&ring)->psn.value, 8);
	responder_resources_clear(&ring);
	assert_null(responder_resources_next_pending(&ring));
	responder_resources_fini(&ring);
}

static void cancelling_spares_what_came_before(void **state)
{
	struct responder_resources ring;

	(void)state;
	assert_int_equal(responder_resources_init(&ring, 3), 0);
	add(&ring, 10, 5);
	add(&ring, 15, 5);
	add(&ring, 20, 1);
	responder_resources_cancel_from(&ring, rnic_psn(17));
	assert_int_equal(responder_resources_next_pending(&ring)->psn.value, 10);
	responder_resources_next_pending(&ring)->is_pending = false;
	assert_null(responder_resources_next_pending(&ring));
	responder_resources_fini(&ring);
}

static void requests_between_two_psns_are_found(void **state)
{
	static const struct {
		uint32_t psn, end;
		uint32_t found; /* PSN of the request, or 1 for none */
	} cases[] = {
		{0xfffff0, 10, 0xfffffe},
		{0xfffffd, 10, 0xfffffe},
		{0xfffffe, 10, 3},
		{0xffffff, 10, 3},
		{0, 3, 1},
		{0, 4, 3},
		{3, 10, 1},
		{0xfffff0, 0xfffffe, 1},
	};
	struct responder_resources ring;

	(void)state;
	assert_int_equal(responder_resources_init(&ring, 4), 0);
	add(&ring, 0xfffffe, 5);
	add(&ring, 3, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct responder_resource *found = responder_resources_find_between(
			&ring, rnic_psn(cases[i].psn), rnic_psn(cases[i].end));

		assert_int_equal(found != NULL ? found->psn.value : 1, cases[i].found);
	}
	responder_resources_fini(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_of_none_has_no_space),
		cmocka_unit_test(the_oldest_answered_is_evicted),
		cmocka_unit_test(a_repetition_holds_no_slot),
		cmocka_unit_test(a_request_is_found_by_any_psn_of_its_answer),
		cmocka_unit_test(requests_between_two_psns_are_found),
		cmocka_unit_test(answers_are_owed_in_order),
		cmocka_unit_test(cancelling_spares_what_came_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
