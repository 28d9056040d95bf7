/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit_test.h"
#include "tools/lab/link/segment_buffer.h"

/* The pieces of a message do not touch, lie in the block and hold the message, for all counts. */
static void judge(uint32_t room, uint32_t bytes, uint32_t count)
{
	size_t block_bytes = segment_buffer_block_bytes(room, count), end = 0;
	uint8_t *block = calloc(1, block_bytes), *in = malloc(room), *out = calloc(1, room);
	struct segment segments[SEGMENTS_MAX];
	struct segment_buffer buffer;
	uint32_t used, sum = 0;

	assert_non_null(block);
	assert_non_null(in);
	assert_non_null(out);
	for (uint32_t i = 0; i < room; i++)
		in[i] = (uint8_t)(i * 7 + 1);
	segment_buffer_init(&buffer, block, room, count);
	used = segment_buffer_list(&buffer, bytes, segments);
	assert_true(used <= count);
	for (uint32_t i = 0; i < used; i++) {
		assert_true(segments[i].bytes > 0);
		assert_true(i == 0 || segments[i].offset > end);
		end = segments[i].offset + segments[i].bytes;
		assert_true(end <= block_bytes);
		sum += segments[i].bytes;
	}
	assert_int_equal(sum, bytes);
	segment_buffer_put(&buffer, in, bytes);
	segment_buffer_get(&buffer, out, bytes);
	assert_memory_equal(in, out, bytes);
	free(block);
	free(in);
	free(out);
}

static void test_all_counts(void **state)
{
	(void)state;
	for (uint32_t count = 1; count <= SEGMENTS_MAX; count++) {
		for (uint32_t room = 16; room <= 4096; room += 239) {
			judge(room, room, count);
			judge(room, room / 2, count);
			judge(room, 1, count);
			judge(room, 0, count);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_counts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
