/* SPDX-License-Identifier: MIT */
/* The engine's copy of a send WQE: validated, and with what the requester keeps about the WQE. */
#ifndef LIB_NIC_ENGINE_OBJECTS_SEND_WQE_H
#define LIB_NIC_ENGINE_OBJECTS_SEND_WQE_H

#include "proto/base/operation.h"
#include "proto/wire/psn.h"

#include <stdint.h>

struct ah;

/* What WQE fetch hands over, and what the requester keeps. One cache line. */
struct send_wqe {
	uint64_t wr_id;
	uint64_t remote_address;
	union {
		struct rnic_atomic_operands atomic;
		/* The others are remote_address, rkey (the new one) and immediate (the region's
		 * lkey). */
		struct rnic_bind_operands bind;
		struct rnic_flush_operands flush;
		struct {
			const struct ah *ah; /* good until it is pushed; NULL: there is none */
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		} datagram;
		/* With RNIC_SEND_INLINE, once the WQE is pushed: in the place of `ah`, which was
		 * copied. */
		const uint8_t *inline_bytes;
	};
	uint32_t rkey;
	uint32_t immediate; /* host order, or the rkey to invalidate */
	uint32_t length;    /* bytes inline, or of the SGEs; of the message once it is started */
	uint8_t opcode;	    /* enum rnic_wr_opcode */
	uint8_t flags;	    /* enum rnic_send_flag; SIGNALED is set when the QP signals all */
	uint8_t sge_count;
	uint8_t reserved;
	/* The engine's from here on, good once the entry is started. */
	struct rnic_psn psn;   /* of its first packet */
	uint32_t packets;      /* PSNs it takes, READ responses included */
	uint32_t srqn;	       /* XRC: the peer's SRQ; WQE fetch's too */
	uint32_t read_packets; /* READ: of the answer to a request; others: UINT32_MAX */
};

/* The operation of `wqe`; an operation of no service when the opcode is unknown. Never NULL. */
static inline const struct rnic_wr_operation *wqe_operation(const struct send_wqe *wqe)
{
	return rnic_wr_operation(wqe->opcode);
}

/* How many packets `psn` lies behind the first of `work`, which is started: 0 .. 2^24 - 1. */
static inline uint32_t wqe_packet_index(const struct send_wqe *wqe, struct rnic_psn psn)
{
	return (psn.value - wqe->psn.value) & RNIC_PSN_MASK;
}

#endif
