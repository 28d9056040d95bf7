/* SPDX-License-Identifier: MIT */
#include "tests/unit/proto/wire/pcap_reader.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>

#define PCAP_MAGIC	    0xa1b2c3d4u
#define FILE_HEADER_BYTES   24
#define RECORD_HEADER_BYTES 16
#define LINK_TYPE_ETHERNET  1
#define ETHERNET_BYTES	    14

static uint32_t read_u32(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

void pcap_reader_open(struct pcap_reader *reader, const char *path)
{
	FILE *file = fopen(path, "rb");
	long length;

	if (file == NULL)
		fail_msg("cannot open %s", path);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	length = ftell(file);
	assert_true(length >= FILE_HEADER_BYTES);
	rewind(file);
	reader->bytes = malloc((size_t)length);
	assert_non_null(reader->bytes);
	reader->length = fread(reader->bytes, 1, (size_t)length, file);
	assert_int_equal(reader->length, length);
	fclose(file);
	assert_int_equal(read_u32(reader->bytes), PCAP_MAGIC);
	assert_int_equal(read_u32(reader->bytes + 20), LINK_TYPE_ETHERNET);
	reader->at = FILE_HEADER_BYTES;
}

bool pcap_reader_next(struct pcap_reader *reader, const uint8_t **packet, size_t *length)
{
	const uint8_t *record = reader->bytes + reader->at;
	size_t left = reader->length - reader->at;
	size_t frame_bytes;

	if (left == 0)
		return false;
	assert_true(left >= RECORD_HEADER_BYTES);
	frame_bytes = read_u32(record + 8);
	assert_int_equal(frame_bytes, read_u32(record + 12));
	assert_true(frame_bytes >= ETHERNET_BYTES && frame_bytes <= left - RECORD_HEADER_BYTES);
	*packet = record + RECORD_HEADER_BYTES + ETHERNET_BYTES;
	*length = frame_bytes - ETHERNET_BYTES;
	reader->at += RECORD_HEADER_BYTES + frame_bytes;
	return true;
}

void pcap_reader_close(struct pcap_reader *reader)
{
	free(reader->bytes);
	reader->bytes = NULL;
}
