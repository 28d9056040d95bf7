/* SPDX-License-Identifier: MIT */
/*
 * The private send queue of a QP: validated copies of the client's work entries from intake to
 * completion. Three cursors over one array, which only grow (entry i lies in slot i & mask):
 *
 *     retired <= next <= posted        posted - retired <= slots
 *
 * [retired, next): started, on the wire or done and waiting for an older one; [next, posted): waiting.
 * Entries leave in order, each with exactly one completion (or silently, when unsignaled and good).
 */
#ifndef DAEMON_ENGINE_SEND_QUEUE_H
#define DAEMON_ENGINE_SEND_QUEUE_H

#include "base/verbs_types.h"
#include "wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

enum work_state {
	WORK_WAITING,
	WORK_STARTED, /* at least one packet was built */
	WORK_SENT,    /* all packets were built at least once */
	WORK_DONE,    /* acknowledged, or its response is complete */
};

/* What intake hands over, and what the requester keeps. One cache line. */
struct work {
	uint64_t wr_id;
	uint64_t remote_address;
	uint64_t compare;     /* atomics; datagrams: the AH's slot */
	uint64_t swap_or_add; /* atomics; datagrams: remote QPN and Q_Key */
	uint32_t rkey;
	uint32_t immediate; /* host order, or the rkey to invalidate */
	uint32_t length;    /* bytes of the message: sum of the SGEs, or inline bytes */
	uint8_t opcode;	    /* enum rnic_wr_opcode */
	uint8_t flags;	    /* enum rnic_send_flag; SIGNALED is set when the QP signals all */
	uint8_t sge_count;
	uint8_t state;	      /* enum work_state; the engine's from here on */
	struct rnic_psn psn;  /* of its first packet */
	uint32_t packets;     /* PSNs it takes, READ responses included */
	uint32_t response_bytes; /* READ: bytes of the response that are in place */
	uint32_t reserved;
};

struct send_queue {
	struct work *works;
	struct rnic_sge *sges;	/* slots * sge_stride */
	uint8_t *inline_bytes;	/* slots * inline_stride */
	uint32_t slots;		/* a power of two, or 0 */
	uint32_t sge_stride;
	uint32_t inline_stride;
	uint32_t posted;
	uint32_t next;
	uint32_t retired;
};

/* Room for `depth` entries. Memory is touched only as entries use it. -ENOMEM. */
int send_queue_init(struct send_queue *queue, uint32_t depth, uint32_t sge_max, uint32_t inline_max);
void send_queue_fini(struct send_queue *queue);

/* Forgets all entries without completing them: the QP goes to RESET. */
void send_queue_clear(struct send_queue *queue);

static inline uint32_t send_queue_space(const struct send_queue *queue)
{
	return queue->slots - (queue->posted - queue->retired);
}

static inline struct work *send_queue_at(const struct send_queue *queue, uint32_t index)
{
	return &queue->works[index & (queue->slots - 1)];
}

static inline struct rnic_sge *send_queue_sges(const struct send_queue *queue, uint32_t index)
{
	return &queue->sges[(uint64_t)(index & (queue->slots - 1)) * queue->sge_stride];
}

static inline uint8_t *send_queue_inline(const struct send_queue *queue, uint32_t index)
{
	return &queue->inline_bytes[(uint64_t)(index & (queue->slots - 1)) * queue->inline_stride];
}

#endif
