/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a capture file, as rnic-inspect reads it: frames and comments lie within the file,
 * and each frame gets a judgement. The seeds are files of both formats with an acknowledgement.
 */
#include "proto/base/bits.h"
#include "tests/fuzz/fuzz_seeds.h"
#include "tools/rnic-inspect/judgement.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a file that is gone when its descriptor is. */
static int make_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert(fd >= 0);
	if (write(fd, data, size) != (ssize_t)size)
		assert(false);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int fd = make_file(data, size);
	struct capture_reader *reader;
	struct capture_frame frame;
	char path[32];
	int error;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	error = capture_reader_open(&reader, path);
	close(fd);
	if (error != 0)
		return 0;
	while (capture_reader_next(reader, &frame) == 1) {
		assert(frame.captured_bytes + frame.comment_bytes <= size);
		assert(judge(&frame).verdict < VERDICT_COUNT);
	}
	capture_reader_close(reader);
	return 0;
}

/* --- seeds ----------------------------------------------------------------------------------- */

/* An acknowledgement from 10.0.0.1 to 10.0.0.2, from Ethernet on; its ICRC is wrong. */
/* clang-format off */
static const uint8_t frame_bytes[] = {
	2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00,                        /* Ethernet */
	0x45, 2, 0, 48, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, /* IPv4 */
	0xc0, 0, 0x12, 0xb7, 0, 28, 0, 0,                                      /* UDP */
	0x11, 0x40, 0xff, 0xff, 0, 0x80, 0, 1, 0, 0, 0, 7,                     /* BTH */
	0x1f, 0, 0, 1, 1, 2, 3, 4,                                             /* AETH, ICRC */
};
/* clang-format on */

static size_t put_words(uint8_t *out, const uint32_t *words, size_t count)
{
	memcpy(out, words, count * sizeof(words[0]));
	return count * sizeof(words[0]);
}

static size_t put_frame(uint8_t *out)
{
	memcpy(out, frame_bytes, sizeof(frame_bytes));
	return sizeof(frame_bytes);
}

static size_t seed_pcap(uint32_t link_type, uint8_t *out)
{
	const uint32_t header[] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, link_type};
	const uint32_t packet[] = {1, 2, sizeof(frame_bytes), sizeof(frame_bytes)};
	size_t at = put_words(out, header, RNIC_COUNT_OF(header));

	at += put_words(out + at, packet, RNIC_COUNT_OF(packet));
	return at + put_frame(out + at);
}

/* A section, an interface with a resolution of 1 ns, and a packet, padded to words. */
static size_t seed_pcapng(uint32_t link_type, uint8_t *out)
{
	const uint32_t padded = (sizeof(frame_bytes) + 3) / 4 * 4;
	const uint32_t blocks[] = {
		0x0a0d0d0a,
		28,
		0x1a2b3c4d,
		1,
		UINT32_MAX,
		UINT32_MAX,
		28, /* section */
		1,
		28,
		link_type,
		65535,
		9 | 1 << 16,
		9,
		28, /* interface */
		6,
		32 + padded,
		0,
		0,
		5,
		sizeof(frame_bytes),
		sizeof(frame_bytes), /* packet */
	};
	const uint32_t end = 32 + padded;
	size_t at = put_words(out, blocks, RNIC_COUNT_OF(blocks));

	memset(out + at, 0, padded);
	put_frame(out + at);
	return at + padded + put_words(out + at + padded, &end, 1);
}

size_t fuzz_seed(uint32_t number, uint8_t out[FUZZ_SEED_BYTES_MAX])
{
	static const uint32_t link_types[] = {1, 101, 113, 276, 197, 247};
	const uint32_t link_type = link_types[number / 2 % RNIC_COUNT_OF(link_types)];

	return number % 2 == 0 ? seed_pcap(link_type, out) : seed_pcapng(link_type, out);
}
