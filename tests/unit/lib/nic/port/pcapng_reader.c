/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/port/pcapng_reader.h"
#include "tests/unit/unit_test.h"

#include <unistd.h>

static uint32_t u32_at(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint16_t u16_at(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Finds option `code` between `at` and `end`; returns its value or NULL. */
static const uint8_t *option_find(const uint8_t *at, const uint8_t *end, uint16_t code,
				  uint16_t *length)
{
	const uint8_t *found = NULL;

	while (at < end) {
		uint16_t this_code = u16_at(at), this_length = u16_at(at + 2);

		assert_true(at + 4 + this_length <= end);
		if (this_code == 0) {
			assert_int_equal(this_length, 0);
			assert_ptr_equal(at + 4, end);
			return found;
		}
		if (this_code == code) {
			found = at + 4;
			*length = this_length;
		}
		at += 4 + (this_length + 3) / 4 * 4;
	}
	fail_msg("options without an end");
	return NULL;
}

static void read_interface(struct reader *reader, const uint8_t *body, const uint8_t *end)
{
	const uint8_t *value;
	uint16_t length;

	assert_int_equal(u16_at(body), 101); /* RAW */
	assert_int_equal(u32_at(body + 4), 0);
	value = option_find(body + 8, end, 9, &length);
	assert_non_null(value);
	assert_int_equal(*value, 9);
	value = option_find(body + 8, end, 2, &length);
	assert_non_null(value);
	assert_true(length < sizeof(reader->interface));
	memcpy(reader->interface, value, length);
	reader->interface[length] = '\0';
}

static void read_packet(struct reader *reader, const uint8_t *body, const uint8_t *end)
{
	struct reader_packet *packet = &reader->packets[reader->packet_count++];
	const uint8_t *value, *options;
	uint16_t length;

	assert_true(reader->packet_count <= READER_PACKETS_MAX);
	assert_int_equal(u32_at(body), 0);
	packet->time_ns = (uint64_t)u32_at(body + 4) << 32 | u32_at(body + 8);
	packet->length = u32_at(body + 12);
	packet->bytes = body + 20;
	assert_int_equal(u32_at(body + 16), packet->length);
	options = packet->bytes + (packet->length + 3) / 4 * 4;
	value = option_find(options, end, 2, &length);
	assert_non_null(value);
	assert_int_equal(length, 4);
	packet->is_outbound = u32_at(value) == 2;
	assert_true(packet->is_outbound || u32_at(value) == 1);
	packet->comment[0] = '\0';
	value = option_find(options, end, 1, &length);
	if (value != NULL) {
		assert_true(length < sizeof(packet->comment));
		memcpy(packet->comment, value, length);
		packet->comment[length] = '\0';
	}
}

void reader_read(struct reader *reader, int fd)
{
	ssize_t length = pread(fd, reader->file, READER_BYTES_MAX, 0);
	const uint8_t *at = reader->file, *end = at + length;

	assert_true(length >= 28 && length < READER_BYTES_MAX);
	reader->packet_count = 0;
	for (uint32_t i = 0; at < end; i++) {
		uint32_t type = u32_at(at), block = u32_at(at + 4);

		assert_true(block % 4 == 0 && block >= 12 && at + block <= end);
		assert_int_equal(u32_at(at + block - 4), block);
		if (i == 0) {
			assert_int_equal(type, 0x0a0d0d0a);
			assert_int_equal(u32_at(at + 8), 0x1a2b3c4d);
			assert_int_equal(u16_at(at + 12), 1);
			assert_int_equal(u16_at(at + 14), 0);
		} else if (i == 1) {
			assert_int_equal(type, 1);
			read_interface(reader, at + 8, at + block - 4);
		} else {
			assert_int_equal(type, 6);
			read_packet(reader, at + 8, at + block - 4);
		}
		at += block;
	}
}
