/* SPDX-License-Identifier: MIT */
#include "tools/lab/lambda/lambda_message.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <elf.h>

enum { FILE_BYTES = 70, INPUT_BYTES = 5, WHOLE = LAMBDA_REQUEST_BYTES + FILE_BYTES + INPUT_BYTES };

static void test_requests(void **state)
{
	const struct lambda_request in = {.number = 3,
					  .file_bytes = FILE_BYTES,
					  .input_bytes = INPUT_BYTES,
					  .output_room = 0x01020304};
	uint8_t bytes[WHOLE + 1] = {0};
	struct lambda_request out;

	(void)state;
	lambda_request_encode(&in, bytes);
	assert_int_equal(lambda_request_decode(bytes, WHOLE, &out), 0);
	assert_memory_equal(&in, &out, sizeof(in));
	for (size_t part = 0; part < WHOLE; part++)
		assert_int_equal(lambda_request_decode(bytes, part, &out), -EBADMSG);
	assert_int_equal(lambda_request_decode(bytes, WHOLE + 1, &out), -EBADMSG);
	bytes[20] = 1;
	assert_int_equal(lambda_request_decode(bytes, WHOLE, &out), -EBADMSG);
}

/* Sizes whose sum only fits because it wraps. */
static void test_a_request_that_wraps(void **state)
{
	const struct lambda_request in = {.file_bytes = UINT32_MAX, .input_bytes = 6};
	uint8_t bytes[LAMBDA_REQUEST_BYTES + 5];
	struct lambda_request out;

	(void)state;
	lambda_request_encode(&in, bytes);
	assert_int_equal(lambda_request_decode(bytes, sizeof(bytes), &out), -EBADMSG);
}

static void test_results(void **state)
{
	const struct lambda_result in = {.number = 3,
					 .output_bytes = 2,
					 .verdict = LAMBDA_RETURNED,
					 .detail = -1,
					 .address = UINT64_C(0x0123456789abcdef),
					 .value = -5};
	uint8_t bytes[LAMBDA_RESULT_BYTES + 3] = {0};
	struct lambda_result out;

	(void)state;
	lambda_result_encode(&in, bytes);
	assert_int_equal(lambda_result_decode(bytes, LAMBDA_RESULT_BYTES + 2, &out), 0);
	assert_int_equal(out.number, in.number);
	assert_int_equal(out.output_bytes, in.output_bytes);
	assert_int_equal(out.verdict, in.verdict);
	assert_int_equal(out.detail, in.detail);
	assert_int_equal(out.address, in.address);
	assert_int_equal(out.value, in.value);
	assert_int_equal(lambda_result_decode(bytes, LAMBDA_RESULT_BYTES + 1, &out), -EBADMSG);
	assert_int_equal(lambda_result_decode(bytes, LAMBDA_RESULT_BYTES + 3, &out), -EBADMSG);
	assert_int_equal(lambda_result_decode(bytes, LAMBDA_RESULT_BYTES - 1, &out), -EBADMSG);
}

static void expect_bad(const struct lambda_result *result, size_t count)
{
	uint8_t bytes[LAMBDA_RESULT_BYTES + 1] = {0};
	struct lambda_result out;

	lambda_result_encode(result, bytes);
	assert_int_equal(lambda_result_decode(bytes, count, &out), -EBADMSG);
}

static void test_results_that_cannot_be(void **state)
{
	const struct lambda_result unknown = {.verdict = LAMBDA_VERDICTS};
	const struct lambda_result output_of_a_crash = {.verdict = LAMBDA_CRASHED,
							.output_bytes = 1};

	(void)state;
	expect_bad(&unknown, LAMBDA_RESULT_BYTES);
	expect_bad(&output_of_a_crash, LAMBDA_RESULT_BYTES + 1);
}

/* Each way to end has words of its own. */
static void test_descriptions_differ(void **state)
{
	char texts[LAMBDA_VERDICTS][128];

	(void)state;
	for (uint32_t i = 0; i < LAMBDA_VERDICTS; i++) {
		const struct lambda_result result = {.verdict = (enum lambda_verdict)i};

		lambda_result_describe(&result, texts[i], sizeof(texts[i]));
		for (uint32_t other = 0; other < i; other++)
			assert_string_not_equal(texts[i], texts[other]);
	}
}

/* The numbers are those of the server's machine, whatever this one is. */
static void test_calls_have_names(void **state)
{
	static const struct {
		int64_t machine;
		int32_t call;
		const char *text;
	} cases[] = {
		{EM_X86_64, 60, "it called the system: exit (call 60)"},
		{EM_AARCH64, 93, "it called the system: exit (call 93)"},
		{EM_X86_64, 231, "it called the system: exit_group (call 231)"},
		{EM_X86_64, 2, "it called the system: open (call 2)"},
		{EM_X86_64, 100000, "it called the system (call 100000)"},
		{EM_X86_64, -1, "it called the system (call -1)"},
		{0, 2, "it called the system (call 2)"},
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		const struct lambda_result result = {.verdict = LAMBDA_CALLED_SYSTEM,
						     .detail = cases[i].call,
						     .value = cases[i].machine};

		lambda_result_describe(&result, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_a_request_that_wraps),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_results_that_cannot_be),
		cmocka_unit_test(test_descriptions_differ),
		cmocka_unit_test(test_calls_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
