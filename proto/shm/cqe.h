/* SPDX-License-Identifier: MIT */
/*
 * Completion queue elements (CQEs), and the region of a completion queue. Only the daemon writes
 * the region; the client's consumer index lies in the session region (struct rnic_cq_control).
 */
#ifndef PROTO_SHM_CQE_H
#define PROTO_SHM_CQE_H

#include "base/maxima.h"
#include "base/verbs_types.h"
#include "shm/region.h"

enum rnic_completion_flag {
	RNIC_COMPLETION_RECV = 1 << 0, /* of a receive, else of a send entry */
	RNIC_COMPLETION_SRQ = 1 << 1,  /* the receive came from the QP's SRQ */
	RNIC_COMPLETION_SOLICITED = 1 << 2,
	RNIC_COMPLETION_XRC = 1 << 3, /* with SRQ: the QP may be another process's */
};

struct rnic_cqe {
	uint64_t wr_id;
	uint64_t timestamp_ns; /* the daemon's monotonic clock when the work completed */
	uint32_t byte_count;
	uint32_t qpn;
	uint32_t immediate; /* host order, or the rkey that was invalidated */
	uint32_t source_qpn;
	uint32_t vendor_error; /* the verdict's number (lib/nic/engine/verdict.h), for diagnosis */
	uint8_t status;	       /* enum rnic_wc_status */
	uint8_t opcode;	       /* enum rnic_wc_opcode; not meaningful unless SUCCESS */
	uint8_t wc_flags;      /* enum rnic_wc_flag */
	uint8_t flags;	       /* enum rnic_completion_flag */
	uint32_t qp_slot;      /* of the QP in its session; of XRC that of the SRQ */
	/*
	 * How many entries of the work queue were ever retired, this one included: these entries
	 * are free again once the client has polled this completion.
	 */
	uint32_t retired;
	uint32_t source_gid_index; /* of a receive: that of the GID to answer from, else 0 */
	uint8_t service_level;	   /* of a datagram: enum rnic_wc_service_level, else 0 */
	uint8_t reserved[3];
	uint32_t srqn; /* XRC: the number of the SRQ, else 0 */
	uint32_t reserved_too;
};

/*
 * The head of a region of kind RNIC_REGION_CQ; entries follow at RNIC_CQ_ENTRIES_OFFSET.
 *
 * RESIZE_CQ makes a new region. Its index goes on counting, and every entry that the client has not
 * taken yet lies at index & (new slots - 1). After its answer the daemon does not write to the old
 * region any more. The client polls nothing between request and reply.
 */
struct rnic_cq_region {
	struct rnic_region_header header;
	struct rnic_shared_index producer; /* daemon writes */
};

#define RNIC_CQ_ENTRIES_OFFSET 128

/* Slots of a CQ that must hold `entries`, at most RNIC_CQ_ENTRIES_MAX: a power of two. */
uint32_t rnic_cq_slots(uint32_t entries);

/* Bytes of the region of a CQ with `slots` slots. */
uint64_t rnic_cq_region_bytes(uint32_t slots);

#endif
