/* SPDX-License-Identifier: MIT */
/*
 * A packet as a script writes it: the opcode's name and the fields that are given. Inbound it is
 * turned into bytes with their ICRC; outbound it is compared with a packet that was decoded from
 * bytes.
 *
 * A field that an inbound packet does not give has its default. Of an outbound packet a field is
 * compared when it is given, and also when its absence says something (`len`, flags, a NAK).
 */
#ifndef TESTS_SCRIPT_SCRIPT_PACKET_H
#define TESTS_SCRIPT_SCRIPT_PACKET_H

#include "proto/wire/packet.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct script;
struct script_line;

/* Ordered as they are written. */
enum script_field {
	FIELD_PSN,
	FIELD_LEN,
	FIELD_VA,
	FIELD_RKEY,
	FIELD_DMALEN,
	FIELD_COMPARE,
	FIELD_SWAP,
	FIELD_ADD,
	FIELD_SYNDROME,
	FIELD_MSN,
	FIELD_ORIGINAL,
	FIELD_IMM,
	FIELD_INV,
	FIELD_FLUSH,
	FIELD_ACK_REQ,
	FIELD_SOLICITED,
	FIELD_MIGREQ,
	FIELD_PKEY,
	FIELD_DEST_QP,
	FIELD_SRQN,
	FIELD_QKEY,
	FIELD_ECN,
	FIELD_BECN,
	FIELD_COUNT,
};

/* A key: that of a region or window, or a number. */
struct script_key {
	bool is_region;
	bool has_tag; /* of a window: its low 8 bits are `tag` */
	uint8_t tag;
	uint32_t value; /* the region's index, or the number */
};

enum pattern_kind {
	PATTERN_NONE,	  /* not compared; inbound: zeros */
	PATTERN_CONSTANT, /* 0x11: every byte is that */
	PATTERN_COUNTING, /* 0x11..: every byte is one more than the one before */
	PATTERN_WORD,	  /* word 7: a 64-bit number in host order */
};

struct script_pattern {
	enum pattern_kind kind;
	uint64_t value;
};

struct script_packet {
	uint8_t opcode;
	uint32_t given; /* 1 << enum script_field */
	uint64_t values[FIELD_COUNT];
	struct script_key rkey;
	struct script_key inv;
	struct script_pattern data;
	bool has_credits;   /* the credit code of FIELD_SYNDROME is to be compared */
	bool is_damaged;    /* inbound: its ICRC is wrong */
	bool is_from_other; /* inbound: from an address that is not the peer's */
};

/* Key of a region, and the number of the queue pair that the script plays. */
struct script_resolver {
	const struct script *script;
	const uint32_t *region_keys;
	uint32_t script_qpn;
	uint32_t engine_qpn;
	uint32_t engine_srqn; /* 0: no SRQ */
	uint32_t engine_qkey; /* of UD */
};

/* Reads a packet up to the end of the line. */
bool script_packet_parse(struct script_line *line, const struct script *script, bool is_inbound,
			 struct script_packet *out);

/* The name of a region or window, that of a window with a tag ("w.7"), or a number. */
bool script_key_parse(struct script_line *line, const struct script *script,
		      struct script_key *out);

/*
 * The number that the key stands for; `region_keys` are the keys of regions and windows, by index.
 */
uint32_t script_key_resolve(const struct script_key *key, const uint32_t *region_keys);

/* "0x11", "0x11..", "word 7". */
bool script_pattern_parse(struct script_line *line, struct script_pattern *out);

void script_pattern_fill(const struct script_pattern *pattern, uint8_t *bytes, uint32_t length);

/*
 * The packet's bytes from BTH to ICRC into `bytes` (RNIC_PACKET_BYTES_MAX); returns their length.
 */
uint32_t script_packet_encode(const struct script_packet *packet,
			      const struct script_resolver *resolver,
			      const struct rnic_addresses *addresses, uint8_t *bytes);

/* Whether `got` equals the expected packet; else the first difference in `why`. */
bool script_packet_matches(const struct script_packet *expected,
			   const struct script_resolver *resolver, const struct rnic_packet *got,
			   char *why, size_t why_bytes);

/* Prints a packet in the script's own words. */
void script_packet_print(FILE *out, const struct script_resolver *resolver,
			 const struct rnic_packet *packet);

#endif
