/* SPDX-License-Identifier: MIT */
/*
 * Operations: what a work request demands of its queue pair, its SGEs and its message, and what a
 * request packet demands of the responder. Both tables are made of operations.def.
 *
 * The look-ups take numbers that a client or the wire chose: an unknown number has a row of its
 * own, which no service carries out.
 */
#ifndef PROTO_BASE_OPERATION_H
#define PROTO_BASE_OPERATION_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

/* The bytes that an atomic operation, or an ATOMIC WRITE, accesses; its address is a multiple. */
#define RNIC_ATOMIC_WORD_BYTES 8

/* The purpose of a packet. One value for all positions of a message, and for all services. */
enum rnic_operation {
	RNIC_OPERATION_NONE, /* the opcode is not defined */
#define RNIC_REQUEST(operation, ...) RNIC_OPERATION_##operation,
#include "proto/base/operations.def"
	RNIC_OPERATION_READ_RESPONSE,
	RNIC_OPERATION_ACKNOWLEDGE,
	RNIC_OPERATION_ATOMIC_ACKNOWLEDGE,
	RNIC_OPERATION_CONGESTION,
	RNIC_OPERATION_HOLES,
	RNIC_OPERATION_COUNT,
};

/* What answers a request that succeeds. */
enum rnic_answer {
	RNIC_ANSWER_NONE,	 /* it is no request */
	RNIC_ANSWER_ACKNOWLEDGE, /* which may stand for several requests */
	/* The others answer one request each, and take responder resources. */
	RNIC_ANSWER_READ_RESPONSE,	/* with the data that the request asks for */
	RNIC_ANSWER_EMPTY_RESPONSE,	/* READ RESPONSE ONLY without data */
	RNIC_ANSWER_ATOMIC_ACKNOWLEDGE, /* with the value before */
};

/* A request packet, as the responder sees it. */
struct rnic_request_operation {
	uint32_t access; /* rights that QP and region must grant; a FLUSH adds those of its type */
	uint8_t answer;	 /* enum rnic_answer */
};

extern const struct rnic_request_operation rnic_request_operations[RNIC_OPERATION_COUNT];

enum rnic_wr_payload {
	RNIC_WR_PAYLOAD_NONE, /* there are no SGEs */
	RNIC_WR_PAYLOAD_OUT,  /* the device reads the SGEs; or the data is inline */
	RNIC_WR_PAYLOAD_IN,   /* the device writes what the answer carries to the SGEs */
};

/* All but the first two lie in place of the WQE's SGE; all but the first name memory. */
enum rnic_wr_operands {
	RNIC_WR_OPERANDS_NONE,
	RNIC_WR_OPERANDS_REMOTE, /* remote_address, rkey */
	RNIC_WR_OPERANDS_SWAP,	 /* and atomic: compare, swap_or_add */
	RNIC_WR_OPERANDS_ADD,	 /* and atomic: swap_or_add */
	RNIC_WR_OPERANDS_FLUSH,	 /* and flush */
	RNIC_WR_OPERANDS_BIND,	 /* bind: window, region and range */
};

/* The operands that lie in place of the WQE's SGE: the same arms in a WQE and in the engine. */
struct rnic_atomic_operands {
	uint64_t compare;
	uint64_t swap_or_add;
};

struct rnic_bind_operands {
	uint64_t length;
	uint32_t access; /* enum rnic_access */
	uint32_t reserved;
};

struct rnic_flush_operands {
	uint32_t length;
	uint32_t type; /* enum rnic_flush_type */
	uint32_t reserved[2];
};

_Static_assert(sizeof(struct rnic_atomic_operands) == sizeof(struct rnic_sge) &&
		       sizeof(struct rnic_bind_operands) == sizeof(struct rnic_sge) &&
		       sizeof(struct rnic_flush_operands) == sizeof(struct rnic_sge),
	       "any arm is copied as all are");

enum rnic_wr_immediate {
	RNIC_WR_IMMEDIATE_NONE,
	RNIC_WR_IMMEDIATE_DATA, /* the peer's completion carries it */
	RNIC_WR_IMMEDIATE_KEY,	/* to invalidate */
};

/* A work request of a send queue. */
struct rnic_wr_operation {
	uint16_t services;	/* bit 1 << enum rnic_qp_type each; 0: there is no such opcode */
	uint8_t payload;	/* enum rnic_wr_payload */
	uint8_t operands;	/* enum rnic_wr_operands */
	uint8_t immediate;	/* enum rnic_wr_immediate */
	uint8_t request;	/* enum rnic_operation; NONE when nothing is sent */
	uint8_t completion;	/* enum rnic_wc_opcode */
	bool is_local;		/* nothing is sent: the requester's device executes it */
	bool has_response;	/* done when its own answer is there, not when acknowledged */
	bool has_result;	/* the answer carries data for the SGEs */
	bool may_solicit;	/* completes a receive WQE at the peer */
	uint32_t sge_access;	/* rights that the SGEs must grant */
	uint32_t sge_bytes_min; /* of all SGEs together, or inline */
	uint32_t sge_bytes_max; /* likewise */
};

/* One row for each opcode, and the row for all that is none. */
extern const struct rnic_wr_operation rnic_wr_operations[RNIC_WR_OPCODE_COUNT + 1];

static inline const struct rnic_wr_operation *rnic_wr_operation(uint8_t wr_opcode)
{
	return &rnic_wr_operations[wr_opcode < RNIC_WR_OPCODE_COUNT ? wr_opcode
								    : RNIC_WR_OPCODE_COUNT];
}

/* Whether a queue pair of the type carries the operation out. */
static inline bool rnic_wr_is_of_type(const struct rnic_wr_operation *operation, uint32_t qp_type)
{
	return qp_type < 16 && (operation->services >> qp_type & 1) != 0;
}

/* Whether the operands lie in place of the WQE's SGE, so that an SGE lies in the spill area. */
static inline bool rnic_wr_takes_place_of_sge(const struct rnic_wr_operation *operation)
{
	return operation->operands > RNIC_WR_OPERANDS_REMOTE;
}

/*
 * The one rule for lengths: whether SGEs of `sge_bytes`, or so much inline data, are right for the
 * operation. The message has that length.
 */
static inline bool rnic_wr_is_length_right(const struct rnic_wr_operation *operation,
					   uint64_t sge_bytes)
{
	return sge_bytes >= operation->sge_bytes_min && sge_bytes <= operation->sge_bytes_max;
}

/* The one sum of SGEs: 2^32 of them, 4 GiB each, do not overflow it. */
static inline uint64_t rnic_sges_bytes(const struct rnic_sge *sges, uint32_t count)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += sges[i].length;
	return bytes;
}

/* The same in 32 bits, where UINT32_MAX stands for all that is longer than a message may be. */
static inline uint32_t rnic_sges_bytes_saturated(const struct rnic_sge *sges, uint32_t count)
{
	uint64_t bytes = rnic_sges_bytes(sges, count);

	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

#endif
