/* SPDX-License-Identifier: MIT */
#include "tools/rnic-inspect/capture_reader.h"

#include "proto/base/time_units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PCAP_MAGIC_US	    0xa1b2c3d4u
#define PCAP_MAGIC_NS	    0xa1b23c4du
#define PCAP_HEADER_BYTES   24
#define PCAP_RECORD_BYTES   16
#define PCAP_LINK_TYPE_MASK 0x0fffffffu

#define PCAPNG_SECTION		0x0a0d0d0au
#define PCAPNG_INTERFACE	1
#define PCAPNG_SIMPLE_PACKET	3
#define PCAPNG_ENHANCED_PACKET	6
#define PCAPNG_BYTE_ORDER_MAGIC 0x1a2b3c4du
#define PCAPNG_BLOCK_BYTES_MIN	12
#define PCAPNG_OPTION_END	0
#define PCAPNG_OPTION_COMMENT	1 /* of any block */
#define PCAPNG_OPTION_FLAGS	2 /* of an enhanced packet block */
#define PCAPNG_OPTION_TSRESOL	9 /* of an interface */
#define PCAPNG_DIRECTION_MASK	3

#define INTERFACES_MAX 256

struct capture_interface {
	uint32_t link_type;
	uint64_t units_per_second;
};

struct capture_reader {
	const uint8_t *bytes;
	size_t length;
	size_t at;
	bool is_swapped; /* the file's byte order is not the machine's */
	bool is_pcapng;
	/* A pcap file has one interface, a pcapng section any number. */
	struct capture_interface interfaces[INTERFACES_MAX];
	uint32_t interface_count;
};

static uint32_t read_u32(const struct capture_reader *reader, const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return reader->is_swapped ? __builtin_bswap32(value) : value;
}

static uint16_t read_u16(const struct capture_reader *reader, const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return reader->is_swapped ? __builtin_bswap16(value) : value;
}

static uint64_t to_ns(uint64_t time, uint64_t units_per_second)
{
	uint64_t seconds = time / units_per_second;
	unsigned __int128 rest = time % units_per_second;

	return seconds * RNIC_NS_PER_SECOND +
	       (uint64_t)(rest * RNIC_NS_PER_SECOND / units_per_second);
}

static bool try_pcap(struct capture_reader *reader)
{
	uint32_t magic;

	if (reader->length < PCAP_HEADER_BYTES)
		return false;
	for (int swapped = 0; swapped < 2; swapped++) {
		reader->is_swapped = swapped;
		magic = read_u32(reader, reader->bytes);
		if (magic != PCAP_MAGIC_US && magic != PCAP_MAGIC_NS)
			continue;
		reader->interfaces[0].units_per_second =
			magic == PCAP_MAGIC_NS ? RNIC_NS_PER_SECOND : 1000000;
		reader->interfaces[0].link_type =
			read_u32(reader, reader->bytes + 20) & PCAP_LINK_TYPE_MASK;
		reader->at = PCAP_HEADER_BYTES;
		return true;
	}
	return false;
}

static bool try_pcapng(struct capture_reader *reader)
{
	reader->is_swapped = false;
	reader->is_pcapng = reader->length >= PCAPNG_BLOCK_BYTES_MIN &&
			    read_u32(reader, reader->bytes) == PCAPNG_SECTION;
	return reader->is_pcapng;
}

static int capture_reader_map_file(struct capture_reader *reader, const char *path)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *mapping;
	int error = 0;

	if (descriptor < 0)
		return -errno;
	if (fstat(descriptor, &status) != 0) {
		error = -errno;
		goto close_descriptor;
	}
	if (!S_ISREG(status.st_mode) || status.st_size == 0) {
		error = -EBADMSG;
		goto close_descriptor;
	}
	mapping = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (mapping == MAP_FAILED) {
		error = -errno;
		goto close_descriptor;
	}
	reader->bytes = mapping;
	reader->length = (size_t)status.st_size;
close_descriptor:
	close(descriptor);
	return error;
}

int capture_reader_open(struct capture_reader **out, const char *path)
{
	struct capture_reader *reader = calloc(1, sizeof(*reader));
	int error;

	if (reader == NULL)
		return -ENOMEM;
	error = capture_reader_map_file(reader, path);
	if (error != 0) {
		free(reader);
		return error;
	}
	if (!try_pcap(reader) && !try_pcapng(reader)) {
		capture_reader_close(reader);
		return -EBADMSG;
	}
	*out = reader;
	return 0;
}

void capture_reader_close(struct capture_reader *reader)
{
	munmap((void *)reader->bytes, reader->length);
	free(reader);
}

static int pcap_next(struct capture_reader *reader, struct capture_frame *frame)
{
	const uint8_t *record = reader->bytes + reader->at;
	const struct capture_interface *interface = &reader->interfaces[0];
	size_t left = reader->length - reader->at;
	uint32_t captured_bytes;

	if (left == 0)
		return 0;
	if (left < PCAP_RECORD_BYTES)
		return -EBADMSG;
	captured_bytes = read_u32(reader, record + 8);
	if (captured_bytes > left - PCAP_RECORD_BYTES)
		return -EBADMSG;
	*frame = (struct capture_frame){
		.time_ns = read_u32(reader, record) * RNIC_NS_PER_SECOND +
			   to_ns(read_u32(reader, record + 4), interface->units_per_second),
		.link_type = interface->link_type,
		.bytes = record + PCAP_RECORD_BYTES,
		.captured_bytes = captured_bytes,
		.original_bytes = read_u32(reader, record + 12),
	};
	reader->at += PCAP_RECORD_BYTES + captured_bytes;
	return 1;
}

/*
 * Decodes the resolution byte: a power of 2 when its high bit is set, else of 10. 0: the reader
 * cannot use it.
 */
static uint64_t units_from_resolution(uint8_t resolution)
{
	uint8_t exponent = resolution & 0x7f;
	uint64_t units = 1;

	if (resolution & 0x80)
		return exponent < 64 ? UINT64_C(1) << exponent : 0;
	if (exponent > 19)
		return 0;
	while (exponent-- > 0)
		units *= 10;
	return units;
}

struct capture_option {
	uint16_t code;
	const uint8_t *value;
	size_t value_bytes;
};

static size_t padded(size_t bytes)
{
	return (bytes + 3) & ~(size_t)3;
}

/*
 * Reads the option at `*at` of a block's body, which `*at` is within, and moves on. Returns 1; 0 at
 * the end; or -EBADMSG for an option that is longer than the block.
 */
static int option_next(const struct capture_reader *reader, const uint8_t *body, size_t length,
		       size_t *at, struct capture_option *option)
{
	if (length - *at < 4)
		return 0;
	option->code = read_u16(reader, body + *at);
	option->value_bytes = read_u16(reader, body + *at + 2);
	option->value = body + *at + 4;
	*at += 4;
	if (option->code == PCAPNG_OPTION_END)
		return 0;
	if (padded(option->value_bytes) > length - *at)
		return -EBADMSG;
	*at += padded(option->value_bytes);
	return 1;
}

static int interface_read(struct capture_reader *reader, const uint8_t *body, size_t length)
{
	struct capture_interface interface = {.units_per_second = 1000000};
	struct capture_option option;
	size_t at = 8;
	int result;

	if (length < 8 || reader->interface_count == INTERFACES_MAX)
		return -EBADMSG;
	interface.link_type = read_u16(reader, body);
	while ((result = option_next(reader, body, length, &at, &option)) == 1) {
		if (option.code == PCAPNG_OPTION_TSRESOL && option.value_bytes == 1)
			interface.units_per_second = units_from_resolution(option.value[0]);
	}
	if (result != 0 || interface.units_per_second == 0)
		return -EBADMSG;
	reader->interfaces[reader->interface_count++] = interface;
	return 0;
}

/* Options behind one that is damaged are left out: the frame is good without them. */
static void enhanced_packet_options(const struct capture_reader *reader, const uint8_t *body,
				    size_t length, size_t at, struct capture_frame *frame)
{
	struct capture_option option;

	while (at <= length && option_next(reader, body, length, &at, &option) == 1) {
		if (option.code == PCAPNG_OPTION_COMMENT && frame->comment == NULL) {
			frame->comment = option.value;
			frame->comment_bytes = option.value_bytes;
		} else if (option.code == PCAPNG_OPTION_FLAGS && option.value_bytes == 4) {
			const uint32_t way = read_u32(reader, option.value) & PCAPNG_DIRECTION_MASK;

			frame->direction = way == 1   ? CAPTURE_INBOUND
					   : way == 2 ? CAPTURE_OUTBOUND
						      : CAPTURE_UNKNOWN;
		}
	}
}

static int enhanced_packet_read(const struct capture_reader *reader, const uint8_t *body,
				size_t length, struct capture_frame *frame)
{
	const struct capture_interface *interface;
	uint64_t time;

	if (length < 20 || read_u32(reader, body) >= reader->interface_count ||
	    read_u32(reader, body + 12) > length - 20)
		return -EBADMSG;
	interface = &reader->interfaces[read_u32(reader, body)];
	time = (uint64_t)read_u32(reader, body + 4) << 32 | read_u32(reader, body + 8);
	*frame = (struct capture_frame){
		.time_ns = to_ns(time, interface->units_per_second),
		.link_type = interface->link_type,
		.bytes = body + 20,
		.captured_bytes = read_u32(reader, body + 12),
		.original_bytes = read_u32(reader, body + 16),
	};
	enhanced_packet_options(reader, body, length, 20 + padded(frame->captured_bytes), frame);
	return 1;
}

/* A simple packet has no captured length: its bytes fill its block. */
static int simple_packet_read(const struct capture_reader *reader, const uint8_t *body,
			      size_t length, struct capture_frame *frame)
{
	size_t original_bytes;

	if (length < 4 || reader->interface_count == 0)
		return -EBADMSG;
	original_bytes = read_u32(reader, body);
	*frame = (struct capture_frame){
		.link_type = reader->interfaces[0].link_type,
		.bytes = body + 4,
		.captured_bytes = original_bytes < length - 4 ? original_bytes : length - 4,
		.original_bytes = original_bytes,
	};
	return 1;
}

/* A section header defines the byte order of itself, and of all blocks up to the next one. */
static int section_read(struct capture_reader *reader, const uint8_t *block)
{
	reader->is_swapped = false;
	if (read_u32(reader, block + 8) != PCAPNG_BYTE_ORDER_MAGIC)
		reader->is_swapped = true;
	if (read_u32(reader, block + 8) != PCAPNG_BYTE_ORDER_MAGIC)
		return -EBADMSG;
	reader->interface_count = 0;
	return 0;
}

static int pcapng_next(struct capture_reader *reader, struct capture_frame *frame)
{
	while (reader->at < reader->length) {
		const uint8_t *block = reader->bytes + reader->at;
		size_t left = reader->length - reader->at;
		size_t block_bytes, body_bytes;
		int result = 0;

		if (left < PCAPNG_BLOCK_BYTES_MIN)
			return -EBADMSG;
		if (read_u32(reader, block) == PCAPNG_SECTION && section_read(reader, block) != 0)
			return -EBADMSG;
		block_bytes = read_u32(reader, block + 4);
		if (block_bytes < PCAPNG_BLOCK_BYTES_MIN || block_bytes > left ||
		    block_bytes % 4 != 0)
			return -EBADMSG;
		body_bytes = block_bytes - PCAPNG_BLOCK_BYTES_MIN;
		reader->at += block_bytes;
		switch (read_u32(reader, block)) {
		case PCAPNG_INTERFACE:
			result = interface_read(reader, block + 8, body_bytes);
			break;
		case PCAPNG_ENHANCED_PACKET:
			result = enhanced_packet_read(reader, block + 8, body_bytes, frame);
			break;
		case PCAPNG_SIMPLE_PACKET:
			result = simple_packet_read(reader, block + 8, body_bytes, frame);
			break;
		}
		if (result != 0)
			return result;
	}
	return 0;
}

int capture_reader_next(struct capture_reader *reader, struct capture_frame *frame)
{
	return reader->is_pcapng ? pcapng_next(reader, frame) : pcap_next(reader, frame);
}
