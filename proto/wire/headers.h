/* SPDX-License-Identifier: MIT */
/*
 * The headers of IBTA 1.4, chapter 9.2 to 9.3 (FETH: its annex A19; the zeros of a congestion
 * packet: A17.9), one by one, between bytes and host integers.
 *
 * Every encoder writes exactly the header's *_BYTES and returns the byte after the header; every
 * decoder reads exactly as many. The caller has made sure that the bytes are there:
 * rnic_packet_decode() does so once for the whole chain. Encoders write reserved bits as zero,
 * decoders ignore them.
 */
#ifndef PROTO_WIRE_HEADERS_H
#define PROTO_WIRE_HEADERS_H

#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

#define RNIC_BTH_BYTES	      12
#define RNIC_DETH_BYTES	      8
#define RNIC_XRCETH_BYTES     4
#define RNIC_FETH_BYTES	      4
#define RNIC_RETH_BYTES	      16
#define RNIC_ATOMIC_BYTES     28
#define RNIC_AETH_BYTES	      4
#define RNIC_ATOMIC_ACK_BYTES 8
#define RNIC_IMMEDIATE_BYTES  4
#define RNIC_INVALIDATE_BYTES 4
#define RNIC_CONGESTION_BYTES 16
#define RNIC_HEADER_BYTES_MAX 44 /* BTH, XRCETH, AtomicETH: the longest chain */

/* Base transport header. */
struct rnic_bth {
	uint8_t opcode;
	bool solicited;
	bool migrated;
	uint8_t pad_bytes; /* 0 .. 3 */
	uint8_t version;   /* 4 bits; 0 is the only one there is */
	uint16_t pkey;
	bool fecn;
	bool becn;
	uint32_t dest_qpn; /* 24 bits */
	bool ack_request;
	struct rnic_psn psn;
};

/* Q_Keys with this bit are controlled (IBTA 1.4, 3.5.3): a program names none in a work request. */
#define RNIC_CONTROLLED_QKEY_BIT UINT32_C(0x80000000)

/* Datagram extended transport header. */
struct rnic_deth {
	uint32_t qkey;
	uint32_t source_qpn; /* 24 bits */
};

/* RDMA extended transport header. */
struct rnic_reth {
	uint64_t address;
	uint32_t rkey;
	uint32_t length; /* bytes of the whole message, 0 .. 2^31 */
};

struct rnic_atomic_header {
	uint64_t address;
	uint32_t rkey;
	uint64_t swap_or_add;
	uint64_t compare;
};

/* ACK extended transport header. */
struct rnic_aeth {
	uint8_t syndrome; /* see syndrome.h */
	uint32_t msn;	  /* 24 bits */
};

uint8_t *rnic_bth_encode(const struct rnic_bth *bth, uint8_t *out);
const uint8_t *rnic_bth_decode(struct rnic_bth *out, const uint8_t *bytes);

/* The destination QPN alone, of a BTH at `bytes`. */
static inline uint32_t rnic_bth_dest_qpn(const uint8_t *bytes)
{
	return (uint32_t)bytes[5] << 16 | (uint32_t)bytes[6] << 8 | bytes[7];
}

uint8_t *rnic_deth_encode(const struct rnic_deth *deth, uint8_t *out);
const uint8_t *rnic_deth_decode(struct rnic_deth *out, const uint8_t *bytes);

/* XRCETH: the shared receive queue's number, 24 bits. */
uint8_t *rnic_xrceth_encode(uint32_t srqn, uint8_t *out);
const uint8_t *rnic_xrceth_decode(uint32_t *srqn, const uint8_t *bytes);

/* FETH: placement type in bits 3:0, selectivity in 5:4. */
uint8_t *rnic_feth_encode(uint32_t flush_type, uint8_t *out);
const uint8_t *rnic_feth_decode(uint32_t *flush_type, const uint8_t *bytes);

uint8_t *rnic_reth_encode(const struct rnic_reth *reth, uint8_t *out);
const uint8_t *rnic_reth_decode(struct rnic_reth *out, const uint8_t *bytes);

uint8_t *rnic_atomic_header_encode(const struct rnic_atomic_header *atomic, uint8_t *out);
const uint8_t *rnic_atomic_header_decode(struct rnic_atomic_header *out, const uint8_t *bytes);

uint8_t *rnic_aeth_encode(const struct rnic_aeth *aeth, uint8_t *out);
const uint8_t *rnic_aeth_decode(struct rnic_aeth *out, const uint8_t *bytes);

/* AtomicAckETH: the value in memory before the operation. */
uint8_t *rnic_atomic_ack_encode(uint64_t original, uint8_t *out);
const uint8_t *rnic_atomic_ack_decode(uint64_t *original, const uint8_t *bytes);

/* ImmDt, and IETH whose word is the key to invalidate. */
uint8_t *rnic_immediate_encode(uint32_t immediate, uint8_t *out);
const uint8_t *rnic_immediate_decode(uint32_t *immediate, const uint8_t *bytes);
uint8_t *rnic_invalidate_encode(uint32_t rkey, uint8_t *out);
const uint8_t *rnic_invalidate_decode(uint32_t *rkey, const uint8_t *bytes);

/* The reserved bytes of a congestion notification carry nothing. */
uint8_t *rnic_congestion_encode(uint8_t *out);

#endif
