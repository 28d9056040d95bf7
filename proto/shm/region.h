/* SPDX-License-Identifier: MIT */
/*
 * What shared regions begin with, and the two regions that each session has.
 *
 * All regions are memfds that the daemon creates, sizes and seals (SHRINK, GROW, SEAL). A region
 * that only the daemon writes carries F_SEAL_FUTURE_WRITE as well, so that a client can map it only
 * for reading. Every shared word has exactly one writer, which its comment names. There are two
 * exceptions. A wake flag: the sleeper sets the flag and the producer takes it by exchange
 * (ring.h). And the indices of a queue pair: the daemon sets them to 0 before the client knows the
 * queue pair. The daemon trusts nothing in a region that a client writes: geometry and cursors lie
 * in private memory.
 */
#ifndef PROTO_SHM_REGION_H
#define PROTO_SHM_REGION_H

#include "proto/base/maxima.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RNIC_REGION_MAGIC     UINT32_C(0x63696e72) /* "rnic" in a hex dump */
#define RNIC_SHM_VERSION      6
#define RNIC_CACHE_LINE_BYTES 64
#define RNIC_DOORBELL_SLOTS   4096 /* a power of two */

enum rnic_region_kind {
	RNIC_REGION_SESSION = 1, /* client writes */
	RNIC_REGION_STATUS = 2,	 /* daemon writes */
	RNIC_REGION_QUEUES = 3,	 /* client writes: send and receive queues of QPs */
	RNIC_REGION_CQ = 4,	 /* daemon writes */
	RNIC_REGION_SRQ = 5,	 /* client writes all but one word */
};

/* A region of queues has queues from the first byte on, in places that the client chooses. */
static inline bool rnic_region_has_header(enum rnic_region_kind kind)
{
	return kind != RNIC_REGION_QUEUES;
}

/* The daemon writes the header once. It shows a wrong descriptor, and helps with a core dump. */
struct rnic_region_header {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	uint64_t bytes;
	uint8_t reserved[48];
};

/* An index that only grows, and wraps at 2^32; alone on its cache line. */
struct rnic_shared_index {
	_Atomic uint32_t value;
	uint8_t reserved[RNIC_CACHE_LINE_BYTES - 4];
};

/* The client's words of one completion queue. */
struct rnic_cq_control {
	_Atomic uint32_t consumer; /* client writes: entries polled so far */
	_Atomic uint32_t armed;	   /* client stores enum rnic_cq_arm, daemon takes it by exchange */
	uint8_t reserved[RNIC_CACHE_LINE_BYTES - 8];
};

/*
 * The producer indices of one queue pair. Both sides begin at 0: the daemon sets both words to 0
 * when it makes the queue pair, for an earlier one in the slot left them anywhere. From then on
 * only the client writes them, and they never go back. A QP that goes to RESET forgets all posted
 * entries: the daemon takes both words as its own consumer and retired counts, and the client,
 * which posts nothing between request and reply, does the same.
 */
struct rnic_qp_control {
	_Atomic uint32_t send_producer; /* client writes, but for the 0 at the beginning */
	_Atomic uint32_t recv_producer; /* likewise */
};

/*
 * Neighbouring slots have their words on different lines, for threads that post to queue pairs of
 * their own. Two queue pairs share a line only in a session with more than RNIC_QP_LINES of them.
 */
#define RNIC_QP_LINES 2048

struct rnic_qp_line {
	struct rnic_qp_control qps[RNIC_SESSION_QPS_MAX / RNIC_QP_LINES];
};

/* Why the client's library refused a request that the program posted. */
enum rnic_post_refusal {
	RNIC_POST_ACCEPTED,
	RNIC_POST_REFUSED_STATE,     /* EINVAL */
	RNIC_POST_REFUSED_FULL,	     /* ENOMEM */
	RNIC_POST_REFUSED_SGES,	     /* EINVAL: too many, or none where some are needed */
	RNIC_POST_REFUSED_LENGTH,    /* EINVAL */
	RNIC_POST_REFUSED_OPERATION, /* EOPNOTSUPP, or EINVAL: not of queue pairs of that type */
	RNIC_POST_REFUSAL_COUNT,
};

/*
 * The last refusal of each side of a queue pair: RNIC_POST_REFUSAL_WORD(). The client writes the
 * words, and the daemon tells people; nothing else depends on them. A word of another generation is
 * one of an earlier queue pair in the slot.
 */
struct rnic_qp_refusals {
	_Atomic uint64_t send;
	_Atomic uint64_t recv;
};

#define RNIC_POST_REFUSAL_WORD(generation, producer, state, reason)                                \
	((uint64_t)(generation) << 32 | (uint64_t)((producer)&UINT16_MAX) << 16 |                  \
	 (uint64_t)(state) << 8 | (uint64_t)(reason))
#define RNIC_POST_REFUSAL_GENERATION(word) ((uint32_t)((word) >> 32))
#define RNIC_POST_REFUSAL_PRODUCER(word)   ((uint16_t)((word) >> 16))
#define RNIC_POST_REFUSAL_STATE(word)	   ((uint8_t)((word) >> 8))
#define RNIC_POST_REFUSAL_REASON(word)	   ((uint8_t)(word))

enum rnic_cq_arm { RNIC_CQ_UNARMED, RNIC_CQ_ARMED_SOLICITED, RNIC_CQ_ARMED_ANY };

/*
 * A doorbell names a queue whose producer index has moved. The ring of doorbells is a hint: the
 * producer indices are the truth. A client that finds the ring full increments `doorbells_lost`
 * instead, and the daemon then looks at all queues of the session.
 */
enum rnic_doorbell_kind {
	RNIC_DOORBELL_SEND = 0,
	RNIC_DOORBELL_RECV = 1,
};

#define RNIC_DOORBELL(kind, slot) ((uint32_t)(kind) << 30 | (uint32_t)(slot))
#define RNIC_DOORBELL_KIND(value) ((value) >> 30)
#define RNIC_DOORBELL_SLOT(value) ((value)&UINT32_C(0x3fffffff))

struct rnic_session_region {
	struct rnic_region_header header;
	struct rnic_shared_index doorbell_producer; /* client writes */
	struct rnic_shared_index doorbells_lost;    /* client writes: times the ring was full */
	struct rnic_shared_index need_wakeup;	    /* wake flag: daemon sets, client takes */
	struct rnic_shared_index poll_waits;   /* wake flag, a futex: client sets, daemon takes */
	struct rnic_shared_index has_refusals; /* client writes: 1 once `refusals` has a word */
	_Atomic uint32_t doorbells[RNIC_DOORBELL_SLOTS];	/* client writes: RNIC_DOORBELL() */
	struct rnic_cq_control cqs[RNIC_SESSION_CQS_MAX];	/* by slot of the CQ */
	struct rnic_qp_line qp_lines[RNIC_QP_LINES];		/* rnic_qp_control_of() */
	struct rnic_qp_refusals refusals[RNIC_SESSION_QPS_MAX]; /* by slot of the QP */
};

/* The words of the queue pair in `slot`, which is below RNIC_SESSION_QPS_MAX. */
static inline struct rnic_qp_control *rnic_qp_control_of(struct rnic_session_region *region,
							 uint32_t slot)
{
	return &region->qp_lines[slot % RNIC_QP_LINES].qps[slot / RNIC_QP_LINES];
}

struct rnic_status_region {
	struct rnic_region_header header;
	struct rnic_shared_index doorbell_consumer; /* daemon writes */
	uint8_t reserved[RNIC_CACHE_LINE_BYTES];
	/*
	 * Daemon writes, indexed by the slot of a QP: 1 when the client must ring
	 * RNIC_DOORBELL_RECV after posting receives, because the daemon flushes them. The client
	 * looks at the byte after it published its producer index. Nothing waits for the entries of
	 * an SRQ, which has no doorbell.
	 */
	_Atomic uint8_t recv_doorbell_wanted[RNIC_SESSION_QPS_MAX];
};

/* A record in the pipe of a completion channel, or of the asynchronous events. */
struct rnic_event_record {
	uint32_t type; /* enum rnic_async_event_type; 0 on a completion channel */
	uint32_t slot; /* of the CQ, QP, SRQ or port */
	uint32_t generation;
	uint32_t reserved;
};

#endif
