/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/client/call_rhythm.h"
#include "tests/unit/unit_test.h"

#define US    UINT64_C(1000)
#define START (1000 * US)

static struct call_rhythm rhythm;
static uint64_t now_ns;

static int set_up(void **state)
{
	(void)state;
	rhythm = (struct call_rhythm){0};
	now_ns = START;
	return 0;
}

/* Calls end, and the next one begins `pause_ns` later; so many times. */
static void call_again(uint64_t pause_ns, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		now_ns += 20 * US;
		call_rhythm_ended(&rhythm, now_ns);
		now_ns += pause_ns;
		call_rhythm_began(&rhythm, now_ns);
	}
}

static void test_some_prompt_calls_make_a_rhythm(void **state)
{
	(void)state;
	call_again(CALL_RHYTHM_SOON_NS, CALL_RHYTHM_TIMES - 1);
	assert_false(call_rhythm_is_prompt(&rhythm));
	call_again(CALL_RHYTHM_SOON_NS, 1);
	assert_true(call_rhythm_is_prompt(&rhythm));
}

static void test_a_pause_ends_the_rhythm(void **state)
{
	(void)state;
	call_again(US, 2 * CALL_RHYTHM_TIMES);
	call_again(CALL_RHYTHM_SOON_NS + 1, 1);
	assert_false(call_rhythm_is_prompt(&rhythm));
	call_again(US, CALL_RHYTHM_TIMES - 1);
	assert_false(call_rhythm_is_prompt(&rhythm));
}

/* Only the first of the calls that begin after an end counts. */
static void test_many_calls_at_once_count_once(void **state)
{
	(void)state;
	call_again(US, 1);
	for (unsigned i = 0; i < 2 * CALL_RHYTHM_TIMES; i++)
		call_rhythm_began(&rhythm, now_ns);
	assert_false(call_rhythm_is_prompt(&rhythm));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_some_prompt_calls_make_a_rhythm, set_up),
		cmocka_unit_test_setup(test_a_pause_ends_the_rhythm, set_up),
		cmocka_unit_test_setup(test_many_calls_at_once_count_once, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
