/* SPDX-License-Identifier: MIT */
/* Reads the golden captures: classic pcap, little-endian, Ethernet. Anything else fails the test.
 */
#ifndef TESTS_UNIT_PROTO_WIRE_PCAP_READER_H
#define TESTS_UNIT_PROTO_WIRE_PCAP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pcap_reader {
	uint8_t *bytes;
	size_t length;
	size_t at;
};

void pcap_reader_open(struct pcap_reader *reader, const char *path);

/* Points `packet` at the next IP packet, without its Ethernet header; false at the end. */
bool pcap_reader_next(struct pcap_reader *reader, const uint8_t **packet, size_t *length);

void pcap_reader_close(struct pcap_reader *reader);

#endif
