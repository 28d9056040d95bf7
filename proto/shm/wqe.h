/* SPDX-License-Identifier: MIT */
/*
 * Work queue elements (WQEs): a client writes them into the queues of a QP or an SRQ.
 *
 * A queue is a ring of WQEs of fixed size and a spill area with one stride per slot. The usual WQE
 * holds all that belongs to it: one SGE, or a few bytes of inline data. More SGEs and longer data
 * lie in the slot's part of the spill area, so that a client without them touches no page of that
 * area. The daemon copies a WQE once, then validates the copy.
 */
#ifndef PROTO_SHM_WQE_H
#define PROTO_SHM_WQE_H

#include "proto/base/maxima.h"
#include "proto/base/operation.h"
#include "proto/base/verbs_types.h"
#include "proto/shm/region.h"

#include <stdbool.h>

#define RNIC_INLINE_BYTES_MAX	    1024
#define RNIC_QUEUE_REGION_BYTES_MAX (UINT64_C(1) << 30)
#define RNIC_QUEUE_PAGE_BYTES	    4096

struct rnic_send_wqe {
	uint64_t wr_id;
	uint8_t opcode; /* enum rnic_wr_opcode */
	uint8_t flags;	/* enum rnic_send_flag */
	union {
		uint16_t sge_count;    /* without RNIC_SEND_INLINE */
		uint16_t inline_bytes; /* with RNIC_SEND_INLINE */
	};
	uint32_t immediate; /* host order; or the rkey to invalidate; bind: the MR's lkey */
	union {
		struct {
			uint64_t remote_address; /* bind: the window's address */
			/* Bind: the new rkey of the window, whose upper 24 bits name the window. */
			uint32_t rkey;
			uint32_t srqn; /* XRC; else ignored */
		};
		struct {
			uint32_t ah_slot;
			uint32_t ah_generation;
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		} datagram;
	};
	union {
		struct rnic_sge sge; /* with one SGE, unless the operation has another arm */
		uint8_t inline_data[sizeof(struct rnic_sge)]; /* with so many bytes at most */
		struct rnic_atomic_operands atomic;	      /* whose SGE lies in the spill area */
		struct rnic_bind_operands bind;
		struct rnic_flush_operands flush;
	};
};

/* Whether inline data of this length lies in the WQE; longer data lies in the spill area. */
static inline bool rnic_inline_is_inside(uint64_t bytes)
{
	return bytes <= sizeof(((struct rnic_send_wqe *)0)->inline_data);
}

struct rnic_recv_wqe {
	uint64_t wr_id;
	struct rnic_sge sge;
};

/*
 * A receive WQE has one SGE, unless the length of that SGE is this value or more. Then the length
 * is this value plus the number of SGEs, and the SGEs lie in the spill area. No real length is so
 * large: the library cuts the length of a single SGE down to RNIC_MESSAGE_BYTES_MAX.
 */
#define RNIC_RECV_SGES_BESIDE UINT32_C(0xffff0000)

/*
 * The head of a region of kind RNIC_REGION_SRQ. The region of a QP has no head: its indices lie in
 * the session region (struct rnic_qp_control).
 *
 * The entries of an SRQ complete in any order, or never when a QP that took one is destroyed. So
 * completions cannot give the slots back: the daemon copies entries in order and says how many it
 * has copied.
 */
struct rnic_srq_region {
	struct rnic_region_header header;
	struct rnic_shared_index srq_consumer;	/* daemon writes, never reads */
	struct rnic_shared_index recv_producer; /* client writes */
};

/*
 * Where one queue lies: its entries from the start of all entries, its spill area from the start of
 * all spill areas.
 */
struct rnic_queue_plan {
	uint32_t slots; /* a power of two, at least the depth asked for; 0 when there is no queue */
	uint32_t spill_stride_bytes;
	uint64_t entries_offset;
	uint64_t spill_offset;
};

/*
 * The queues of a QP, which lie in two places of a queue region: the entries of both queues in the
 * one, their spill areas in the other. The client chooses the places, at multiples of
 * RNIC_CACHE_LINE_BYTES.
 */
struct rnic_queues_plan {
	struct rnic_queue_plan send;
	struct rnic_queue_plan recv;
	uint64_t entries_bytes; /* 0: the QP has no queues */
	uint64_t spill_bytes;
};

/* The region of an SRQ: the entries and their spill area. */
struct rnic_srq_plan {
	struct rnic_queue_plan recv;
	uint64_t region_bytes;
};

/*
 * Stores in `granted` what a queue pair gets when the client asks for `wanted`. Each queue pair
 * gets at least one SGE and some inline data: programs that ask for none use them all the same,
 * because adapters grant them. A queue pair with an SRQ has no receive queue (IBTA 1.4, 11.2.4.1),
 * nor has an XRC initiator. An XRC target has no queues. The device checks `wanted` against its
 * maxima; this function does not.
 */
void rnic_queues_grant(const struct rnic_qp_capacities *wanted, uint32_t type, bool has_srq,
		       struct rnic_qp_capacities *granted);

/*
 * Computes the layout for granted capacities; both sides call this function and get the same
 * layout. -EINVAL: a capacity is beyond the maxima above. Refuse the request.
 */
int rnic_queues_plan(const struct rnic_qp_capacities *granted, struct rnic_queues_plan *plan);

/* The same for the region of an SRQ. Its ring lies behind the head. */
int rnic_srq_plan(const struct rnic_srq_attributes *granted, struct rnic_srq_plan *plan);

#endif
