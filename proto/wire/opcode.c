/* SPDX-License-Identifier: MIT */
#include "proto/wire/opcode.h"

#include "proto/wire/headers.h"

#define DETH	  RNIC_HEADER_DETH
#define XRCETH	  RNIC_HEADER_XRCETH
#define FETH	  RNIC_HEADER_FETH
#define RETH	  RNIC_HEADER_RETH
#define ATOMIC	  RNIC_HEADER_ATOMIC
#define AETH	  RNIC_HEADER_AETH
#define ATOMACK	  RNIC_HEADER_ATOMIC_ACK
#define IMMDT	  RNIC_HEADER_IMMEDIATE
#define IETH	  RNIC_HEADER_INVALIDATE
#define CNP_ZEROS RNIC_HEADER_CONGESTION

#define BYTES_IF(headers, header, bytes) (((headers) & (header)) != 0 ? (bytes) : 0)
#define HEADER_BYTES(headers)                                                                      \
	(RNIC_BTH_BYTES + BYTES_IF(headers, DETH, RNIC_DETH_BYTES) +                               \
	 BYTES_IF(headers, XRCETH, RNIC_XRCETH_BYTES) + BYTES_IF(headers, FETH, RNIC_FETH_BYTES) + \
	 BYTES_IF(headers, RETH, RNIC_RETH_BYTES) + BYTES_IF(headers, ATOMIC, RNIC_ATOMIC_BYTES) + \
	 BYTES_IF(headers, AETH, RNIC_AETH_BYTES) +                                                \
	 BYTES_IF(headers, ATOMACK, RNIC_ATOMIC_ACK_BYTES) +                                       \
	 BYTES_IF(headers, IMMDT, RNIC_IMMEDIATE_BYTES) +                                          \
	 BYTES_IF(headers, IETH, RNIC_INVALIDATE_BYTES) +                                          \
	 BYTES_IF(headers, CNP_ZEROS, RNIC_CONGESTION_BYTES))

/* clang-format off */
#define ROW(service_, operation_, position_, payload_, headers_, is_request_, text)                \
	{                                                                                          \
		.name = text,                                                                      \
		.service = RNIC_SERVICE_##service_,                                                \
		.operation = RNIC_OPERATION_##operation_,                                          \
		.position = RNIC_POSITION_##position_,                                             \
		.payload = RNIC_PAYLOAD_##payload_,                                                \
		.headers = (headers_),                                                             \
		.header_bytes = HEADER_BYTES(headers_),                                            \
		.is_request = (is_request_),                                                       \
	}

#define REQUEST(service, operation, position, payload, headers, text)                              \
	ROW(service, operation, position, payload, headers, true, #service " " text)
#define RESPONSE(service, operation, position, payload, headers, text)                             \
	ROW(service, operation, position, payload, headers, false, #service " " text)
/* SEND and RDMA WRITE, which RC, UC and XRC share. `extra` precedes all other extended headers. */
#define MESSAGE_ROWS(base, service, extra)                                                         \
	[(base) + 0x00] = REQUEST(service, SEND, FIRST, FULL, extra, "SEND FIRST"),                \
	[(base) + 0x01] = REQUEST(service, SEND, MIDDLE, FULL, extra, "SEND MIDDLE"),              \
	[(base) + 0x02] = REQUEST(service, SEND, LAST, LAST, extra, "SEND LAST"),                  \
	[(base) + 0x03] = REQUEST(service, SEND, LAST, LAST, (extra) | IMMDT, "SEND LAST IMM"),    \
	[(base) + 0x04] = REQUEST(service, SEND, ONLY, ONLY, extra, "SEND ONLY"),                  \
	[(base) + 0x05] = REQUEST(service, SEND, ONLY, ONLY, (extra) | IMMDT, "SEND ONLY IMM"),    \
	[(base) + 0x06] = REQUEST(service, WRITE, FIRST, FULL, (extra) | RETH, "WRITE FIRST"),     \
	[(base) + 0x07] = REQUEST(service, WRITE, MIDDLE, FULL, extra, "WRITE MIDDLE"),            \
	[(base) + 0x08] = REQUEST(service, WRITE, LAST, LAST, extra, "WRITE LAST"),                \
	[(base) + 0x09] = REQUEST(service, WRITE, LAST, LAST, (extra) | IMMDT, "WRITE LAST IMM"),  \
	[(base) + 0x0a] = REQUEST(service, WRITE, ONLY, ONLY, (extra) | RETH, "WRITE ONLY"),       \
	[(base) + 0x0b] = REQUEST(service, WRITE, ONLY, ONLY, (extra) | RETH | IMMDT,              \
				  "WRITE ONLY IMM")

/* What only the reliable services have, but single packets. Responses never carry `extra`. */
#define RELIABLE_ROWS(base, service, extra)                                                        \
	[(base) + 0x0d] =                                                                          \
		RESPONSE(service, READ_RESPONSE, FIRST, FULL, AETH, "READ RESPONSE FIRST"),        \
	[(base) + 0x0e] =                                                                          \
		RESPONSE(service, READ_RESPONSE, MIDDLE, FULL, 0, "READ RESPONSE MIDDLE"),         \
	[(base) + 0x0f] =                                                                          \
		RESPONSE(service, READ_RESPONSE, LAST, LAST, AETH, "READ RESPONSE LAST"),          \
	[(base) + 0x10] =                                                                          \
		RESPONSE(service, READ_RESPONSE, ONLY, ONLY, AETH, "READ RESPONSE ONLY"),          \
	[(base) + 0x11] = RESPONSE(service, ACKNOWLEDGE, ONLY, NONE, AETH, "ACKNOWLEDGE"),         \
	[(base) + 0x12] = RESPONSE(service, ATOMIC_ACKNOWLEDGE, ONLY, NONE, AETH | ATOMACK,        \
				   "ATOMIC ACKNOWLEDGE"),                                          \
	[(base) + 0x16] =                                                                          \
		REQUEST(service, SEND, LAST, LAST, (extra) | IETH, "SEND LAST INVALIDATE"),        \
	[(base) + 0x17] =                                                                          \
		REQUEST(service, SEND, ONLY, ONLY, (extra) | IETH, "SEND ONLY INVALIDATE")

/* A request of one packet: a row of operations.def. */
#define SINGLE_ROW(base, service, extra, operation, opcode, payload, headers, text)                \
	[(base) + (opcode)] = REQUEST(service, operation, ONLY, payload, (extra) | (headers), text)

/* The first row stands for all opcodes that no other row names. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct rnic_opcode opcode_rows[256] = {
	[0 ... 255] = {.name = "reserved"},
	MESSAGE_ROWS(0x00, RC, 0),
	RELIABLE_ROWS(0x00, RC, 0),
#define RNIC_REQUEST_OPCODE(...) SINGLE_ROW(0x00, RC, 0, __VA_ARGS__),
#include "proto/base/operations.def"
	MESSAGE_ROWS(0x20, UC, 0),
	[0x64] = REQUEST(UD, SEND, ONLY, ONLY, DETH, "SEND ONLY"),
	[0x65] = REQUEST(UD, SEND, ONLY, ONLY, DETH | IMMDT, "SEND ONLY IMM"),
	[0x81] = ROW(CNP, CONGESTION, ONLY, NONE, CNP_ZEROS, false, "CNP"),
	[0xc0] = ROW(MANUFACTURER, HOLES, ONLY, ONLY, 0, false, "HOLES"),
	MESSAGE_ROWS(0xa0, XRC, XRCETH),
	RELIABLE_ROWS(0xa0, XRC, XRCETH),
#define RNIC_REQUEST_OPCODE(...) SINGLE_ROW(0xa0, XRC, XRCETH, __VA_ARGS__),
#include "proto/base/operations.def"
};
#pragma GCC diagnostic pop
/* clang-format on */

_Static_assert(HEADER_BYTES(XRCETH | ATOMIC) == RNIC_HEADER_BYTES_MAX, "the longest header chain");
#define RNIC_REQUEST_OPCODE(operation, opcode, payload, headers, text)                             \
	_Static_assert(HEADER_BYTES(XRCETH | (headers)) <= RNIC_HEADER_BYTES_MAX, text);
#include "proto/base/operations.def"

const struct rnic_opcode *rnic_opcode_row(uint8_t opcode)
{
	return &opcode_rows[opcode];
}

/*
 * Where in the 32 opcodes of a service an operation at a position lies, if the service has the
 * operation. The variant with an immediate is the next opcode. A position that the operation does
 * not have leads to another operation's row; rnic_opcode_find() compares.
 */
static const uint8_t opcode_offsets[RNIC_OPERATION_COUNT][RNIC_POSITION_ONLY + 1] = {
	[RNIC_OPERATION_SEND] = {0x00, 0x01, 0x02, 0x04},
	[RNIC_OPERATION_WRITE] = {0x06, 0x07, 0x08, 0x0a},
	[RNIC_OPERATION_READ_RESPONSE] = {0x0d, 0x0e, 0x0f, 0x10},
	[RNIC_OPERATION_ACKNOWLEDGE][RNIC_POSITION_ONLY] = 0x11,
	[RNIC_OPERATION_ATOMIC_ACKNOWLEDGE][RNIC_POSITION_ONLY] = 0x12,
	[RNIC_OPERATION_CONGESTION][RNIC_POSITION_ONLY] = 0x01,
	[RNIC_OPERATION_HOLES][RNIC_POSITION_ONLY] = 0x00,
#define RNIC_REQUEST_OPCODE(operation, opcode, ...)                                                \
	[RNIC_OPERATION_##operation][RNIC_POSITION_ONLY] = (opcode),
#include "proto/base/operations.def"
};

#define SEND_LAST_INVALIDATE_OFFSET 0x16
#define SEND_ONLY_INVALIDATE_OFFSET 0x17

int rnic_opcode_find(enum rnic_service service, enum rnic_operation operation,
		     enum rnic_position position, uint16_t headers)
{
	const uint16_t variants = RNIC_HEADER_IMMEDIATE | RNIC_HEADER_INVALIDATE;
	const struct rnic_opcode *row;
	unsigned int opcode;

	if (operation == RNIC_OPERATION_NONE || service > RNIC_SERVICE_MANUFACTURER)
		return -1;
	opcode = opcode_offsets[operation][position];
	if ((headers & RNIC_HEADER_INVALIDATE) != 0)
		opcode = position == RNIC_POSITION_LAST ? SEND_LAST_INVALIDATE_OFFSET
							: SEND_ONLY_INVALIDATE_OFFSET;
	else if ((headers & RNIC_HEADER_IMMEDIATE) != 0)
		opcode++;
	opcode |= (unsigned int)service << 5;
	row = &opcode_rows[opcode];
	if (row->operation != operation || row->position != position ||
	    (row->headers & variants) != (headers & variants))
		return -1;
	return (int)opcode;
}
