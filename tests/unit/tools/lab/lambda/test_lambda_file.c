/* SPDX-License-Identifier: MIT */
#include "tools/lab/lambda/lambda_file.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <elf.h>

enum { CODE_BYTES = 40, FILE_BYTES = LAMBDA_HEADER_BYTES + CODE_BYTES };

static void make(uint8_t bytes[FILE_BYTES])
{
	const struct lambda_file file = {
		.machine = EM_X86_64, .entry = 7, .code_bytes = CODE_BYTES, .name = "sum"};

	lambda_file_encode(&file, bytes);
	memset(bytes + LAMBDA_HEADER_BYTES, 0xc3, CODE_BYTES);
}

static void test_a_file(void **state)
{
	uint8_t bytes[FILE_BYTES];
	struct lambda_file file;

	(void)state;
	make(bytes);
	assert_int_equal(lambda_file_decode(bytes, sizeof(bytes), &file), 0);
	assert_int_equal(file.machine, EM_X86_64);
	assert_int_equal(file.entry, 7);
	assert_int_equal(file.code_bytes, CODE_BYTES);
	assert_ptr_equal(file.code, bytes + LAMBDA_HEADER_BYTES);
	assert_string_equal(file.name, "sum");
}

static void test_bytes_of_the_header(void **state)
{
	static const uint8_t wanted[] = {
		'R', 'N', 'I', 'C', 'L', 'A', 'M', 'B', 0, 1, 0, 62, 0, 0, 0, 7, 0, 0, 0, 40,
	};
	uint8_t bytes[FILE_BYTES];

	(void)state;
	make(bytes);
	assert_memory_equal(bytes, wanted, sizeof(wanted));
	assert_memory_equal(bytes + 32, "sum", 4);
}

static void test_damages(void **state)
{
	static const struct {
		size_t offset;
		uint8_t value;
		int error;
	} damages[] = {
		{0, 'X', -EBADMSG},
		{9, 2, -EPROTONOSUPPORT},
		{10, 1, -ENOEXEC}, /* machine */
		{11, EM_386, -ENOEXEC},
		{15, CODE_BYTES, -EBADMSG}, /* entry behind the code */
		{12, 0x80, -EBADMSG},
		{19, CODE_BYTES - 1, -EBADMSG},
		{19, CODE_BYTES + 1, -EBADMSG},
		{16, 0xff, -EBADMSG},
		{20, 1, -EBADMSG}, /* reserved */
		{31, 1, -EBADMSG},
		{32, '\n', -EBADMSG}, /* name */
		{63, 'x', -EBADMSG},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(damages); i++) {
		uint8_t bytes[FILE_BYTES];
		struct lambda_file file;

		make(bytes);
		bytes[damages[i].offset] = damages[i].value;
		assert_int_equal(lambda_file_decode(bytes, sizeof(bytes), &file), damages[i].error);
	}
}

static void test_other_sizes(void **state)
{
	struct lambda_file file = {.machine = EM_X86_64, .code_bytes = LAMBDA_CODE_BYTES_MAX + 1};
	size_t count = LAMBDA_HEADER_BYTES + (size_t)file.code_bytes;
	uint8_t *bytes = calloc(1, count);

	(void)state;
	assert_non_null(bytes);
	lambda_file_encode(&file, bytes);
	assert_int_equal(lambda_file_decode(bytes, count, &file), -EBADMSG);
	make(bytes);
	for (size_t part = 0; part < FILE_BYTES; part++)
		assert_int_equal(lambda_file_decode(bytes, part, &file), -EBADMSG);
	assert_int_equal(lambda_file_decode(bytes, FILE_BYTES + 1, &file), -EBADMSG);
	free(bytes);
}

/* Instructions of aarch64 are at multiples of four. */
static void test_an_entry_between_instructions(void **state)
{
	uint8_t bytes[FILE_BYTES];
	struct lambda_file file;

	(void)state;
	make(bytes);
	bytes[11] = EM_AARCH64;
	assert_int_equal(lambda_file_decode(bytes, sizeof(bytes), &file), -EBADMSG);
	bytes[15] = 8;
	assert_int_equal(lambda_file_decode(bytes, sizeof(bytes), &file), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file),
		cmocka_unit_test(test_bytes_of_the_header),
		cmocka_unit_test(test_damages),
		cmocka_unit_test(test_other_sizes),
		cmocka_unit_test(test_an_entry_between_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
