/* SPDX-License-Identifier: MIT */
/*
 * The private send queue of a QP: validated copies of the client's WQEs from WQE fetch to
 * completion. Three cursors over one array, which only grow (WQE i lies in slot i & mask):
 *
 *     retired <= next <= posted        posted - retired <= slots
 *
 * [retired, next): started, on the wire; [next, posted): waiting. An acknowledgement stands for all
 * packets before it, so that the oldest WQE is always the next to complete. WQEs leave in order,
 * each with exactly one completion (or none, when unsignaled and successful).
 */
#ifndef NIC_ENGINE_OBJECTS_SEND_QUEUE_H
#define NIC_ENGINE_OBJECTS_SEND_QUEUE_H

#include "base/operation.h"
#include "base/verbs_types.h"
#include "wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

struct ah;

/* What WQE fetch hands over, and what the requester keeps. One cache line. */
struct send_wqe {
	uint64_t wr_id;
	uint64_t remote_address;
	union {
		struct { /* atomics */
			uint64_t compare;
			uint64_t swap_or_add;
		};
		struct { /* BIND_MW: remote_address, rkey (the new one) and immediate (the
			    region's lkey) are the others */
			uint64_t length;
			uint32_t access; /* enum rnic_access */
		} bind;
		struct {
			uint32_t length;
			uint32_t type; /* enum rnic_flush_type */
		} flush;
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
	struct rnic_psn psn; /* of its first packet */
	uint32_t packets;    /* PSNs it takes, READ responses included */
	uint32_t srqn;	     /* XRC: the peer's SRQ; WQE fetch's too */
	uint32_t reserved_word;
};

struct send_queue {
	struct send_wqe *wqes;
	struct rnic_sge *sges;	 /* slots * sge_stride */
	struct rnic_path *paths; /* slots, of datagrams; NULL: none */
	uint32_t slots;		 /* a power of two, or 0 */
	uint32_t sge_stride;
	uint32_t inline_max;
	uint32_t posted;
	uint32_t next;
	uint32_t retired;
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

/* Makes room for `depth` WQEs. WQEs touch the memory as they come. -ENOMEM. */
int send_queue_init(struct send_queue *queue, uint32_t depth, uint32_t sge_max,
		    uint32_t inline_max);
void send_queue_fini(struct send_queue *queue);

/* Makes room for the path of each entry's address handle: UD. -ENOMEM; fini frees it. */
int send_queue_init_paths(struct send_queue *queue);

/* Forgets all WQEs without completions: the QP goes to RESET. */
void send_queue_clear(struct send_queue *queue);

/*
 * Adds a WQE; the caller has checked send_queue_space(). With RNIC_SEND_INLINE `inline_bytes` is
 * used and must stay in place until the WQE is retired; without the flag `sges` are used and
 * copied. A WQE with more SGEs than the queue was made for becomes a WQE of no operation, which
 * fails in its turn.
 */
void send_queue_push(struct send_queue *queue, const struct send_wqe *wqe,
		     const struct rnic_sge *sges, const uint8_t *inline_bytes);

static inline uint32_t send_queue_space(const struct send_queue *queue)
{
	return queue->slots - (queue->posted - queue->retired);
}

static inline struct send_wqe *send_queue_at(const struct send_queue *queue, uint32_t index)
{
	return &queue->wqes[index & (queue->slots - 1)];
}

static inline struct rnic_sge *send_queue_sges(const struct send_queue *queue, uint32_t index)
{
	return &queue->sges[(uint64_t)(index & (queue->slots - 1)) * queue->sge_stride];
}

static inline struct rnic_path *send_queue_path(const struct send_queue *queue, uint32_t index)
{
	return &queue->paths[index & (queue->slots - 1)];
}

#endif
