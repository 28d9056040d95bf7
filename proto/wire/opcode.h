/* SPDX-License-Identifier: MIT */
/*
 * What each of the 256 BTH opcodes means (IBTA 1.4, table 35; A17 for the congestion packet):
 * service, operation, position in its message, headers that follow and what payload it may carry.
 *
 * All knowledge of opcodes is in this table: code asks the row, and has no switch over numbers.
 * Requests of one packet come from operations.def.
 */
#ifndef PROTO_WIRE_OPCODE_H
#define PROTO_WIRE_OPCODE_H

#include "proto/base/operation.h"

#include <stdbool.h>
#include <stdint.h>

enum rnic_service {
	RNIC_SERVICE_RC = 0,
	RNIC_SERVICE_UC = 1,
	RNIC_SERVICE_RD = 2,
	RNIC_SERVICE_UD = 3,
	RNIC_SERVICE_CNP = 4,
	RNIC_SERVICE_XRC = 5,
	RNIC_SERVICE_MANUFACTURER =
		6, /* between devices like this one; see holes.h of the engine */
};

enum rnic_position {
	RNIC_POSITION_FIRST,
	RNIC_POSITION_MIDDLE,
	RNIC_POSITION_LAST,
	RNIC_POSITION_ONLY,
};

/* Headers after the BTH, in the order in which they lie on the wire. */
enum rnic_header {
	RNIC_HEADER_DETH = 1 << 0,
	RNIC_HEADER_XRCETH = 1 << 1,
	RNIC_HEADER_FETH = 1 << 2,
	RNIC_HEADER_RETH = 1 << 3,
	RNIC_HEADER_ATOMIC = 1 << 4,
	RNIC_HEADER_AETH = 1 << 5,
	RNIC_HEADER_ATOMIC_ACK = 1 << 6,
	RNIC_HEADER_IMMEDIATE = 1 << 7,
	RNIC_HEADER_INVALIDATE = 1 << 8,
	RNIC_HEADER_CONGESTION = 1 << 9, /* the 16 reserved bytes of a CNP */
};

/* The header of a message's last packet that carries the immediate of its work request. */
static inline uint16_t rnic_immediate_header(uint8_t immediate)
{
	return immediate == RNIC_WR_IMMEDIATE_DATA  ? RNIC_HEADER_IMMEDIATE
	       : immediate == RNIC_WR_IMMEDIATE_KEY ? RNIC_HEADER_INVALIDATE
						    : 0;
}

enum rnic_payload_rule {
	RNIC_PAYLOAD_NONE,
	RNIC_PAYLOAD_FULL,  /* exactly one path MTU */
	RNIC_PAYLOAD_LAST,  /* 1 byte to one path MTU */
	RNIC_PAYLOAD_ONLY,  /* 0 bytes to one path MTU */
	RNIC_PAYLOAD_EIGHT, /* exactly the 8 bytes of an ATOMIC WRITE */
};

/* In a row whose operation is NONE, only the name has a meaning. */
struct rnic_opcode {
	const char *name; /* "RC SEND FIRST"; "reserved" when operation is NONE */
	uint8_t service;  /* enum rnic_service */
	uint8_t operation;
	uint8_t position;
	uint8_t payload;      /* enum rnic_payload_rule */
	uint16_t headers;     /* enum rnic_header */
	uint8_t header_bytes; /* BTH and all that `headers` names */
	bool is_request;      /* travels from requester to responder */
};

/* The row of `opcode`; never NULL. */
const struct rnic_opcode *rnic_opcode_row(uint8_t opcode);

/*
 * The opcode for an operation at a position. `headers` picks between variants: an immediate or an
 * invalidate header; other bits do not matter. Returns -1 when there is no such opcode. A caller
 * may assert that there is one if the arguments are those of a validated work entry.
 */
int rnic_opcode_find(enum rnic_service service, enum rnic_operation operation,
		     enum rnic_position position, uint16_t headers);

#endif
