/* SPDX-License-Identifier: MIT */
/*
 * Receive entries that the engine holds of a QP or an SRQ: a short private queue in front of the
 * client's ring. When it runs empty the sink is asked to refill it, so that no RNR NAK is sent, and
 * no UC or UD message dropped, while the client's ring holds an entry that was visible when the
 * packet came.
 *
 * The QPs of an SRQ give entries back that they took and did not use. They come first again. So the
 * queue has room for LIMIT_RECV_PREFETCH entries and one for each such QP.
 */
#ifndef NIC_ENGINE_OBJECTS_RECV_QUEUE_H
#define NIC_ENGINE_OBJECTS_RECV_QUEUE_H

#include "base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;

struct recv_wqe {
	uint64_t wr_id;
	uint32_t sge_count;
	uint32_t length; /* sum of the SGEs, saturated at 2^32 - 1 */
	bool invalid;	 /* WQE fetch found it wrong: it completes with LOC_QP_OP_ERR */
};

struct recv_queue {
	struct recv_wqe *wqes;
	struct rnic_sge *sges; /* slots * sge_stride */
	uint32_t slots;	       /* a power of two */
	uint32_t sge_stride;
	uint32_t pushed;
	uint32_t taken;
	uint32_t retired; /* entries completed: see struct completion */
	void *user;	  /* the owner's: the ring that feeds this */
};

int recv_queue_init(struct recv_queue *queue, uint32_t sge_max); /* -ENOMEM */
void recv_queue_fini(struct recv_queue *queue);
void recv_queue_clear(struct recv_queue *queue);

/* Makes room for what up to `holders` QPs may give back. -ENOMEM, and nothing is changed. */
int recv_queue_reserve(struct recv_queue *queue, uint32_t holders);

/* For the sink's refill: whether one more fits, and adding it. `sges` are copied. */
bool recv_queue_has_space(const struct recv_queue *queue);
void recv_queue_push(struct recv_queue *queue, const struct recv_wqe *wqe,
		     const struct rnic_sge *sges);

/*
 * The oldest entry and its SGEs, without taking it; the sink is asked for a refill when there is
 * none. NULL when the client has posted none. Good until the queue is next changed.
 */
const struct recv_wqe *recv_queue_peek(struct engine *engine, struct recv_queue *queue,
				       const struct rnic_sge **sges);

/*
 * Takes the oldest entry, asking the sink for a refill when there is none. Copies it to `work` and
 * its SGEs to `sges` (room for sge_stride). False when the client has posted none.
 */
bool recv_queue_take(struct engine *engine, struct recv_queue *queue, struct recv_wqe *wqe,
		     struct rnic_sge *sges);

/* Puts an entry that was taken before the oldest; room for it was reserved. `sges` are copied. */
void recv_queue_give_back(struct recv_queue *queue, const struct recv_wqe *wqe,
			  const struct rnic_sge *sges);

#endif
