/* SPDX-License-Identifier: MIT */
/* What a pcapng file says of a packet besides its bytes: the direction and the comment. */
#include "tools/rnic-inspect/capture_reader.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* In the byte order of the machine, as the file says. */
static const uint32_t beginning[] = {
	0x0a0d0d0a, 28, 0x1a2b3c4d, 1, UINT32_MAX, UINT32_MAX, 28, /* the section */
	1,	    20, 1,	    0, 20,			   /* an interface: Ethernet */
};

/* A packet of 4 bytes, and room for its options. */
struct packet_block {
	uint32_t type, block_bytes, interface, time[2], captured, original;
	uint8_t bytes[4];
	uint8_t options[24];
	uint32_t block_bytes_again;
};

static void write_option(uint8_t *at, uint16_t code, uint16_t bytes, const void *value, size_t size)
{
	memcpy(at, &code, 2);
	memcpy(at + 2, &bytes, 2);
	memcpy(at + 4, value, size);
}

static struct packet_block block_of(uint32_t flags, uint16_t comment_bytes)
{
	struct packet_block block = {
		.type = 6,
		.block_bytes = sizeof(block),
		.captured = 4,
		.original = 4,
		.block_bytes_again = sizeof(block),
	};

	write_option(block.options, 2, 4, &flags, 4);
	write_option(block.options + 8, 1, comment_bytes, "lost!", 5);
	return block;
}

/* The only frame of a file with the block. The reader is open until the end of the test. */
static struct capture_reader *read_frame(const struct packet_block *block,
					 struct capture_frame *frame)
{
	const int fd = memfd_create("capture", MFD_CLOEXEC);
	struct capture_reader *reader;
	char path[32];

	assert_int_equal(write(fd, beginning, sizeof(beginning)), sizeof(beginning));
	assert_int_equal(write(fd, block, sizeof(*block)), sizeof(*block));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(capture_reader_open(&reader, path), 0);
	close(fd);
	assert_int_equal(capture_reader_next(reader, frame), 1);
	assert_int_equal(frame->captured_bytes, 4);
	return reader;
}

static void test_direction(void **state)
{
	static const enum capture_direction of_flags[] = {CAPTURE_UNKNOWN, CAPTURE_INBOUND,
							  CAPTURE_OUTBOUND, CAPTURE_UNKNOWN};

	(void)state;
	for (uint32_t flags = 0; flags < RNIC_COUNT_OF(of_flags); flags++) {
		const struct packet_block block = block_of(flags, 5);
		struct capture_frame frame;
		struct capture_reader *reader = read_frame(&block, &frame);

		assert_int_equal(frame.direction, of_flags[flags]);
		assert_int_equal(frame.comment_bytes, 5);
		assert_memory_equal(frame.comment, "lost!", 5);
		capture_reader_close(reader);
	}
}

/* The packet is good, and what stands before the damage. */
static void test_damaged_option(void **state)
{
	const struct packet_block block = block_of(2, 13);
	struct capture_frame frame;
	struct capture_reader *reader = read_frame(&block, &frame);

	(void)state;
	assert_int_equal(frame.direction, CAPTURE_OUTBOUND);
	assert_null(frame.comment);
	assert_int_equal(frame.comment_bytes, 0);
	assert_int_equal(capture_reader_next(reader, &frame), 0);
	capture_reader_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_direction),
		cmocka_unit_test(test_damaged_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
