/* SPDX-License-Identifier: MIT */
/*
 * Completion queue elements (CQEs), and the region of a completion queue. Only the daemon writes
 * the region; the client's consumer index lies in the session region (struct rnic_cq_control).
 */
#ifndef PROTO_SHM_CQE_H
#define PROTO_SHM_CQE_H

#include "proto/base/maxima.h"
#include "proto/base/verbs_types.h"
#include "proto/shm/region.h"

enum rnic_completion_flag {
	RNIC_COMPLETION_RECV = 1 << 0, /* of a receive, else of a send entry */
	RNIC_COMPLETION_SRQ = 1 << 1,  /* the receive came from the QP's SRQ */
	RNIC_COMPLETION_SOLICITED = 1 << 2,
	RNIC_COMPLETION_XRC = 1 << 3, /* with SRQ: the QP may be another process's */
};

#define RNIC_CQE_24_BITS UINT32_C(0xffffff)

/* Half a cache line. psABI, the binary interface of x86-64 and arm64, fixes the place of each bit.
 */
struct rnic_cqe {
	uint64_t wr_id;
	union {
		uint32_t byte_count;   /* of a success */
		uint32_t vendor_error; /* the verdict's number (lib/nic/engine/verdict.h) */
	};
	uint32_t immediate; /* host order, or the rkey that was invalidated */
	uint32_t qpn : 24;
	uint32_t status : 8;	       /* enum rnic_wc_status */
	uint32_t source_qpn : 24;      /* of a datagram; XRC: the number of the SRQ */
	uint32_t source_gid_index : 8; /* of a receive: that of the GID to answer from, else 0 */
	/*
	 * How many entries of the work queue were ever retired, this one included, modulo 2^24:
	 * these entries are free again once the client has polled this completion.
	 */
	uint32_t retired : 24;
	uint32_t wc_flags : 8;	    /* enum rnic_wc_flag */
	uint32_t qp_slot : 16;	    /* of the QP in its session; of XRC that of the SRQ */
	uint32_t opcode : 8;	    /* enum rnic_wc_opcode; not meaningful unless SUCCESS */
	uint32_t flags : 4;	    /* enum rnic_completion_flag */
	uint32_t service_level : 4; /* of a datagram: enum rnic_wc_service_level, else 0 */
};

/*
 * The head of a region of kind RNIC_REGION_CQ; entries follow at RNIC_CQ_ENTRIES_OFFSET. With
 * RNIC_CQ_TIMESTAMPS a time for each entry follows on pages of its own: a uint64_t, in nanoseconds
 * of the monotonic clock.
 *
 * A queue that the client polls as fast as it fills needs few of its slots. So the daemon may write
 * the next entry to slot 0 when the queue is empty: the daemon stores the index of that entry in
 * `slot_zero`. The pages behind the first one then cost no memory and stay out of the caches.
 *
 * RESIZE_CQ makes a new region. Its index goes on counting, and every entry that the client has not
 * taken yet lies there, with its time. After its answer the daemon does not write to the old region
 * any more. The client polls nothing between request and reply.
 */
struct rnic_cq_region {
	struct rnic_region_header header;
	/* The daemon writes both: slot_zero only while the queue is empty, and before producer. */
	_Atomic uint32_t producer;
	_Atomic uint32_t slot_zero; /* index of an entry that has slot 0: rnic_ring_slot() */
	uint8_t reserved[RNIC_CACHE_LINE_BYTES - 8];
};

#define RNIC_CQ_ENTRIES_OFFSET 128

/* Slots of a CQ that must hold `entries`, at most RNIC_CQ_ENTRIES_MAX: a power of two. */
uint32_t rnic_cq_slots(uint32_t entries);

/* Bytes of the region of a CQ with `slots` slots; `flags` are of enum rnic_cq_flag. */
uint64_t rnic_cq_region_bytes(uint32_t slots, uint32_t flags);

/* The entries of such a region, and their times; NULL: without RNIC_CQ_TIMESTAMPS. */
struct rnic_cqe *rnic_cq_entries_of(void *region);
uint64_t *rnic_cq_times_of(void *region, uint32_t slots, uint32_t flags);

#endif
