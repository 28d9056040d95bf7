/* SPDX-License-Identifier: MIT */
/* Reads back the files of pcapng.c by the specification, and fails the test at any difference. */
#ifndef TESTS_UNIT_LIB_NIC_PORT_PCAPNG_READER_H
#define TESTS_UNIT_LIB_NIC_PORT_PCAPNG_READER_H

#include <stdbool.h>
#include <stdint.h>

#define READER_BYTES_MAX   (1 << 22)
#define READER_PACKETS_MAX 2048

struct reader_packet {
	uint64_t time_ns;
	bool is_outbound;
	char comment[64]; /* empty: none */
	const uint8_t *bytes;
	uint32_t length;
};

struct reader {
	char interface[64];
	uint32_t packet_count;
	struct reader_packet packets[READER_PACKETS_MAX];
	uint8_t file[READER_BYTES_MAX];
};

/* Reads the whole file. */
void reader_read(struct reader *reader, int fd);

#endif
