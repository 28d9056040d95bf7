/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/verdict.h"

#include "proto/base/causes.h"
#include "proto/base/verbs_types.h"
#include "proto/wire/syndrome.h"
#include "tests/unit/unit_test.h"

static void every_row_is_complete(void **state)
{
	(void)state;
	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++) {
		const struct verdict_row *row = verdict_row((enum verdict)verdict);
		const struct rnic_cause_row *cause = rnic_cause_of(row->cause);

		assert_int_equal(cause == NULL, verdict == VERDICT_PASS);
		/* The status that people look up is the one that they got. */
		if (row->send_status != VERDICT_NO_STATUS)
			assert_int_equal(cause->status, row->send_status);
		else if (row->receive_status != VERDICT_NO_STATUS)
			assert_int_equal(cause->status, row->receive_status);
		assert_true(row->counter < COUNTER_COUNT);
		assert_true(row->unreliable_counter < COUNTER_COUNT);
		assert_true(row->receive_status == VERDICT_NO_STATUS ||
			    row->receive_status < RNIC_WC_STATUS_COUNT);
		assert_true(row->send_status == VERDICT_NO_STATUS ||
			    row->send_status < RNIC_WC_STATUS_COUNT);
		assert_true(row->async_event == VERDICT_NO_STATUS ||
			    row->async_event < RNIC_EVENT_COUNT);
	}
}

/* An entry that ends with an error takes its QP with it, and never reads as a success. */
static void completions_in_error_are_fatal(void **state)
{
	(void)state;
	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++) {
		const struct verdict_row *row = verdict_row((enum verdict)verdict);

		assert_int_not_equal(row->receive_status, RNIC_WC_SUCCESS);
		assert_int_not_equal(row->send_status, RNIC_WC_SUCCESS);
		if (row->receive_status != VERDICT_NO_STATUS ||
		    row->send_status != VERDICT_NO_STATUS)
			assert_true(row->is_fatal);
		if (row->takes_receive)
			assert_int_not_equal(row->receive_status, VERDICT_NO_STATUS);
		if (!row->is_fatal)
			assert_int_equal(row->async_event, VERDICT_NO_STATUS);
	}
}

/* UC and UD answer nothing: only faults on our own side end the QP. */
static void only_our_own_faults_end_an_unreliable_qp(void **state)
{
	(void)state;
	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++) {
		const struct verdict_row *row = verdict_row((enum verdict)verdict);
		bool is_ours = verdict == VERDICT_BAD_RECEIVE ||
			       verdict == VERDICT_RECEIVE_PROTECTION ||
			       verdict == VERDICT_MEMORY_GONE || verdict == VERDICT_PROGRAM_GONE ||
			       verdict == VERDICT_PROGRAM_REFUSES;

		assert_int_equal(row->is_fatal_unreliable, is_ours);
	}
	assert_int_equal(verdict_row(VERDICT_NO_RECEIVE)->unreliable_counter,
			 COUNTER_DROPPED_NO_RECEIVE);
}

static void the_wire_sees_the_right_syndromes(void **state)
{
	static const struct {
		enum verdict verdict;
		uint8_t syndrome;
		uint8_t receive_status;
		bool is_fatal;
	} cases[] = {
		{VERDICT_PASS, 0x1f, VERDICT_NO_STATUS, false},
		{VERDICT_DUPLICATE, 0x1f, VERDICT_NO_STATUS, false},
		{VERDICT_SEQUENCE_GAP, 0x60, VERDICT_NO_STATUS, false},
		{VERDICT_BAD_SEQUENCE, 0x61, RNIC_WC_REM_INV_REQ_ERR, true},
		{VERDICT_BAD_OPERATION, 0x61, RNIC_WC_REM_INV_REQ_ERR, true},
		{VERDICT_TOO_MANY_READS, 0x61, RNIC_WC_REM_INV_REQ_ERR, true},
		{VERDICT_NO_RECEIVE, 0x20, VERDICT_NO_STATUS, false},
		{VERDICT_BAD_RECEIVE, 0x63, RNIC_WC_LOC_QP_OP_ERR, true},
		{VERDICT_RECEIVE_PROTECTION, 0x63, RNIC_WC_LOC_PROT_ERR, true},
		{VERDICT_RECEIVE_TOO_SHORT, 0x61, RNIC_WC_LOC_LEN_ERR, true},
		{VERDICT_BAD_LENGTH, 0x61, RNIC_WC_REM_INV_REQ_ERR, true},
		{VERDICT_BAD_RKEY, 0x62, RNIC_WC_LOC_ACCESS_ERR, true},
		{VERDICT_MISALIGNED_ATOMIC, 0x61, RNIC_WC_REM_INV_REQ_ERR, true},
		{VERDICT_BAD_INVALIDATE, VERDICT_NO_SYNDROME, RNIC_WC_REM_INV_REQ_ERR, true},
		{VERDICT_MEMORY_GONE, 0x63, RNIC_WC_LOC_PROT_ERR, true},
		{VERDICT_PROGRAM_GONE, VERDICT_NO_SYNDROME, RNIC_WC_LOC_PROT_ERR, true},
		{VERDICT_PROGRAM_REFUSES, 0x62, RNIC_WC_LOC_PROT_ERR, true},
		{VERDICT_BAD_PKEY, VERDICT_NO_SYNDROME, VERDICT_NO_STATUS, false},
		{VERDICT_BAD_PEER, VERDICT_NO_SYNDROME, VERDICT_NO_STATUS, false},
		{VERDICT_BAD_PORT, VERDICT_NO_SYNDROME, VERDICT_NO_STATUS, false},
		{VERDICT_BAD_STATE, VERDICT_NO_SYNDROME, VERDICT_NO_STATUS, false},
		{VERDICT_BAD_SERVICE, VERDICT_NO_SYNDROME, VERDICT_NO_STATUS, false},
		{VERDICT_BAD_QKEY, VERDICT_NO_SYNDROME, VERDICT_NO_STATUS, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct verdict_row *row = verdict_row(cases[i].verdict);

		assert_int_equal(row->syndrome, cases[i].syndrome);
		assert_int_equal(row->receive_status, cases[i].receive_status);
		assert_int_equal(row->is_fatal, cases[i].is_fatal);
	}
}

static void send_entries_end_with_the_right_status(void **state)
{
	static const struct {
		enum verdict verdict;
		uint8_t send_status;
	} cases[] = {
		{VERDICT_LOCAL_LENGTH, RNIC_WC_LOC_LEN_ERR},
		{VERDICT_LOCAL_OPERATION, RNIC_WC_LOC_QP_OP_ERR},
		{VERDICT_LOCAL_PROTECTION, RNIC_WC_LOC_PROT_ERR},
		{VERDICT_LOCAL_MEMORY_GONE, RNIC_WC_LOC_PROT_ERR},
		{VERDICT_LOCAL_PROGRAM_GONE, RNIC_WC_LOC_PROT_ERR},
		{VERDICT_REMOTE_INVALID_REQUEST, RNIC_WC_REM_INV_REQ_ERR},
		{VERDICT_REMOTE_ACCESS, RNIC_WC_REM_ACCESS_ERR},
		{VERDICT_REMOTE_OPERATIONAL, RNIC_WC_REM_OP_ERR},
		{VERDICT_BAD_RESPONSE, RNIC_WC_BAD_RESP_ERR},
		{VERDICT_RETRY_EXCEEDED, RNIC_WC_RETRY_EXC_ERR},
		{VERDICT_RNR_RETRY_EXCEEDED, RNIC_WC_RNR_RETRY_EXC_ERR},
		{VERDICT_FLUSHED, RNIC_WC_WR_FLUSH_ERR},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(verdict_row(cases[i].verdict)->send_status, cases[i].send_status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_complete),
		cmocka_unit_test(completions_in_error_are_fatal),
		cmocka_unit_test(only_our_own_faults_end_an_unreliable_qp),
		cmocka_unit_test(the_wire_sees_the_right_syndromes),
		cmocka_unit_test(send_entries_end_with_the_right_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
