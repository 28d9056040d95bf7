/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_calls.h"
#include "lib/apis/rpc/wire/rpc_history.h"
#include "lib/apis/rpc/wire/rpc_sender.h"
#include "tests/unit/unit_test.h"

static const uint8_t first[RPC_IDENTITY_BYTES] = "first";
static const uint8_t second[RPC_IDENTITY_BYTES] = "second";

static struct rpc_calls calls;
static struct rpc_history history;

static int set_up(void **state)
{
	(void)state;
	rpc_calls_init(&calls);
	rpc_history_init(&history);
	return 0;
}

static void assert_end(uint64_t id, uint32_t status)
{
	struct rpc_call ended;

	assert_true(rpc_calls_take_ended(&calls, &ended));
	assert_int_equal(ended.id, id);
	assert_int_equal(ended.status, status);
}

static void assert_nothing_ended(void)
{
	struct rpc_call ended;

	assert_false(rpc_calls_take_ended(&calls, &ended));
}

static void test_answered(void **state)
{
	struct rpc_call *call = rpc_calls_begin(&calls, false, RPC_NEVER, NULL);
	struct rpc_frame answer = {.kind = RPC_FRAME_ANSWER, .call = 1};

	(void)state;
	assert_null(rpc_calls_take_waiting(&calls));	/* no conversation */
	assert_null(rpc_calls_answer(&calls, &answer)); /* an answer without a question */
	rpc_calls_conversation_opened(&calls, first);
	assert_ptr_equal(rpc_calls_take_waiting(&calls), call);
	assert_null(rpc_calls_take_waiting(&calls));
	assert_ptr_equal(rpc_calls_answer(&calls, &answer), call);
	assert_null(rpc_calls_answer(&calls, &answer)); /* twice */
	assert_end(1, RNIC_RPC_OK);
	assert_nothing_ended();
	assert_true(calls.oldest == calls.next);
}

static void test_deadline_and_cancel(void **state)
{
	struct rpc_frame frame = {0};
	struct rpc_call *late, *unwanted, ended;

	(void)state;
	rpc_calls_conversation_opened(&calls, first);
	late = rpc_calls_begin(&calls, false, 5000000, NULL);
	unwanted = rpc_calls_begin(&calls, false, RPC_NEVER, NULL);
	rpc_calls_take_waiting(&calls);
	rpc_calls_describe(&calls, late, &frame, 4000001);
	assert_int_equal(frame.timeout_ms, 1);
	rpc_calls_describe(&calls, unwanted, &frame, 4000001);
	assert_int_equal(frame.timeout_ms, 0);
	assert_int_equal(rpc_calls_next_deadline_ns(&calls), 5000000);
	rpc_calls_tick(&calls, 4999999);
	assert_nothing_ended();
	rpc_calls_tick(&calls, 5000000);
	rpc_calls_end(late, RNIC_RPC_CANCELLED); /* too late for that */
	assert_true(rpc_calls_take_ended(&calls, &ended));
	assert_int_equal(ended.status, RNIC_RPC_DEADLINE_EXCEEDED);
	assert_true(ended.owes_cancel);
	rpc_calls_end(unwanted, RNIC_RPC_CANCELLED);
	assert_true(rpc_calls_take_ended(&calls, &ended));
	assert_int_equal(ended.status, RNIC_RPC_CANCELLED);
	assert_false(ended.owes_cancel); /* the server never heard of it */
	assert_int_equal(rpc_calls_next_deadline_ns(&calls), RPC_NEVER);
}

/* Calls 1 and 2 were sent, the second idempotent; 3 was not. */
static void lose_conversation(void)
{
	rpc_calls_conversation_opened(&calls, first);
	rpc_calls_begin(&calls, false, RPC_NEVER, NULL);
	rpc_calls_begin(&calls, true, RPC_NEVER, NULL);
	rpc_calls_take_waiting(&calls);
	rpc_calls_take_waiting(&calls);
	rpc_calls_begin(&calls, false, RPC_NEVER, NULL);
	rpc_calls_conversation_lost(&calls);
	assert_nothing_ended();
}

static void test_same_server_again(void **state)
{
	(void)state;
	lose_conversation();
	rpc_calls_conversation_opened(&calls, first);
	for (uint64_t id = 1; id <= 3; id++)
		assert_int_equal(rpc_calls_take_waiting(&calls)->id, id);
	assert_nothing_ended();
}

/* Calls that ended before a conversation came leave their places to others, which go in order. */
static void test_ended_before_the_conversation(void **state)
{
	struct rpc_call *call;

	(void)state;
	for (uint32_t i = 0; i < RPC_CALLS_MAX / 2; i++)
		rpc_calls_end(rpc_calls_begin(&calls, false, RPC_NEVER, NULL), RNIC_RPC_CANCELLED);
	for (uint64_t id = 1; id <= RPC_CALLS_MAX / 2; id++)
		assert_end(id, RNIC_RPC_CANCELLED);
	while (rpc_calls_begin(&calls, false, RPC_NEVER, NULL) != NULL)
		;
	rpc_calls_conversation_opened(&calls, first);
	for (uint64_t id = calls.oldest; id != calls.next; id++) {
		assert_non_null(call = rpc_calls_take_waiting(&calls));
		assert_int_equal(call->id, id);
	}
	assert_null(rpc_calls_take_waiting(&calls));
}

static void test_other_server(void **state)
{
	(void)state;
	lose_conversation();
	rpc_calls_conversation_opened(&calls, second);
	assert_int_equal(rpc_calls_take_waiting(&calls)->id, 2);
	assert_int_equal(rpc_calls_take_waiting(&calls)->id, 3);
	assert_end(1, RNIC_RPC_OUTCOME_UNKNOWN);
	assert_nothing_ended();
}

static void test_no_server(void **state)
{
	(void)state;
	lose_conversation();
	rpc_calls_give_up(&calls);
	assert_end(1, RNIC_RPC_OUTCOME_UNKNOWN);
	assert_end(2, RNIC_RPC_UNAVAILABLE);
	assert_end(3, RNIC_RPC_UNAVAILABLE);
	assert_nothing_ended();
}

static void test_full(void **state)
{
	struct rpc_call *call = NULL;

	(void)state;
	for (uint32_t i = 0; i < RPC_CALLS_MAX; i++)
		assert_non_null(call = rpc_calls_begin(&calls, false, RPC_NEVER, NULL));
	assert_null(rpc_calls_begin(&calls, false, RPC_NEVER, NULL));
	rpc_calls_end(call, RNIC_RPC_CANCELLED);
	assert_end(RPC_CALLS_MAX, RNIC_RPC_CANCELLED);
	/* The window is from the oldest on: the server remembers no more than that. */
	assert_null(rpc_calls_begin(&calls, false, RPC_NEVER, NULL));
	rpc_calls_end(&calls.slots[1], RNIC_RPC_CANCELLED);
	assert_end(1, RNIC_RPC_CANCELLED);
	assert_non_null(rpc_calls_begin(&calls, false, RPC_NEVER, NULL));
}

static enum rpc_verdict ask(uint64_t call, void **answer)
{
	struct rpc_frame request = {.kind = RPC_FRAME_REQUEST, .call = call};

	return rpc_history_request(&history, &request, answer);
}

static void test_history(void **state)
{
	int kept = 1, dropped = 2;
	void *answer = NULL;

	(void)state;
	assert_int_equal(ask(0, &answer), RPC_STALE);
	assert_int_equal(ask(1, &answer), RPC_EXECUTE);
	assert_int_equal(ask(1, &answer), RPC_WAIT);
	assert_int_equal(ask(RPC_CALLS_MAX, &answer), RPC_EXECUTE);
	assert_int_equal(ask(RPC_CALLS_MAX + 1, &answer), RPC_REFUSE);
	assert_int_equal(ask(UINT64_MAX, &answer), RPC_REFUSE);
	assert_true(rpc_history_answer(&history, 1, &kept));
	assert_false(rpc_history_answer(&history, 1, &dropped));
	assert_false(rpc_history_answer(&history, 2, &dropped)); /* never asked for */
	assert_int_equal(ask(1, &answer), RPC_REPEAT);
	assert_ptr_equal(answer, &kept);
	assert_null(rpc_history_take_dropped(&history, false));
	rpc_history_settle(&history, 2);
	assert_ptr_equal(rpc_history_take_dropped(&history, false), &kept);
	assert_null(rpc_history_take_dropped(&history, false));
	assert_int_equal(ask(1, &answer), RPC_STALE);
	assert_int_equal(ask(RPC_CALLS_MAX + 1, &answer), RPC_EXECUTE);
}

static void test_history_cancelled(void **state)
{
	void *answer = NULL;
	int unwanted = 1;

	(void)state;
	ask(1, &answer);
	assert_true(rpc_history_is_wanted(&history, 1));
	rpc_history_cancel(&history, 1);
	assert_false(rpc_history_is_wanted(&history, 1));
	assert_false(rpc_history_answer(&history, 1, &unwanted));
	assert_int_equal(ask(1, &answer), RPC_STALE);
}

static void test_history_over(void **state)
{
	int answers[RPC_CALLS_MAX];
	void *answer = NULL;
	uint32_t count = 0;

	(void)state;
	for (uint64_t id = 1; id <= RPC_CALLS_MAX; id++) {
		ask(id, &answer);
		assert_true(rpc_history_answer(&history, id, &answers[id - 1]));
	}
	while (rpc_history_take_dropped(&history, true) != NULL)
		count++;
	assert_int_equal(count, RPC_CALLS_MAX);
	rpc_history_settle(&history, UINT64_MAX); /* a client that lies; no long loop */
	assert_null(rpc_history_take_dropped(&history, false));
	assert_int_equal(ask(UINT64_MAX - 1, &answer), RPC_STALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_answered, set_up),
		cmocka_unit_test_setup(test_deadline_and_cancel, set_up),
		cmocka_unit_test_setup(test_same_server_again, set_up),
		cmocka_unit_test_setup(test_ended_before_the_conversation, set_up),
		cmocka_unit_test_setup(test_other_server, set_up),
		cmocka_unit_test_setup(test_no_server, set_up),
		cmocka_unit_test_setup(test_full, set_up),
		cmocka_unit_test_setup(test_history, set_up),
		cmocka_unit_test_setup(test_history_cancelled, set_up),
		cmocka_unit_test_setup(test_history_over, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
