/* SPDX-License-Identifier: MIT */
/*
 * The private data that client and server exchange while they connect.
 *
 * The format is the bytes below, never a struct of C. Numbers are big-endian:
 *
 *      0   magic "rdms"          12..19  address of the buffer
 *      4   version, 1            20..23  its remote key
 *      5   sample                24..27  bytes
 *   6..7   length of all, 32     28..31  count of messages
 *   8..11  seed of the pattern
 *
 * A transport may append zeros: the decoder ignores bytes beyond the length.
 */
#ifndef PRIVATE_DATA_H
#define PRIVATE_DATA_H

#include <stddef.h>
#include <stdint.h>

#define PRIVATE_DATA_BYTES   32
#define PRIVATE_DATA_VERSION 1

enum sample {
	SAMPLE_ONE_SIDED = 1, /* WRITE and READ */
	SAMPLE_IMMEDIATE = 2, /* WRITE with immediate, and a receive */
};

/*
 * From a client: the bytes of each message, the number of messages, and the seed of the first one's
 * pattern; it offers no buffer, address and key are 0. From a server: its buffer, all bytes of it,
 * the number of messages that fit at a time, and the seed of its present content.
 */
struct private_data {
	enum sample sample;
	uint32_t seed;
	uint64_t address;
	uint32_t remote_key;
	uint32_t bytes;
	uint32_t messages;
};

/* Writes PRIVATE_DATA_BYTES. */
void private_data_encode(const struct private_data *data, uint8_t *out);

/*
 * Decodes a stranger's bytes. Sets `data` on success only.
 *
 * Returns 0, -EMSGSIZE for too few bytes or a length that does not belong to this version, -EPROTO
 * for bytes of another protocol, -EPROTONOSUPPORT for another version, or -EINVAL for an unknown
 * sample, for no bytes or messages, or for a buffer that would go beyond the end of the address
 * space.
 */
int private_data_decode(const uint8_t *in, size_t length, struct private_data *data);

#endif
