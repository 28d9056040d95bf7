/* SPDX-License-Identifier: MIT */
/*
 * Receive WQEs that the engine holds of a QP or an SRQ: a short private queue in front of the
 * client's ring. When the queue runs empty, the engine asks the sink for a refill. So the engine
 * sends no RNR NAK, and drops no UC or UD message, while the client's ring holds a WQE that was
 * visible when the packet came.
 *
 * The QPs of an SRQ give back WQEs that they took and did not use. Those WQEs come first again. So
 * the queue has room for LIMIT_RECV_PREFETCH WQEs and for one of each such QP.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_RECV_QUEUE_H
#define LIB_NIC_ENGINE_OBJECTS_RECV_QUEUE_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;

struct recv_wqe {
	uint64_t wr_id;
	uint32_t sge_count;
	uint32_t length; /* sum of the SGEs, saturated at 2^32 - 1 */
	bool invalid;	 /* WQE fetch found the WQE malformed: completes with LOC_QP_OP_ERR */
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

/*
 * Free slots of the engine for the sink's refill to fill: WQE i goes to wqes[i], whole, and its
 * SGEs, at most sge_stride, go to recv_room_sges(). Good during the call.
 */
struct recv_room {
	struct recv_wqe *wqes;
	struct rnic_sge *sges; /* count * sge_stride */
	uint32_t count;	       /* at least 1 */
	uint32_t sge_stride;
};

static inline struct rnic_sge *recv_room_sges(const struct recv_room *room, uint32_t index)
{
	return &room->sges[(size_t)index * room->sge_stride];
}

int recv_queue_init(struct recv_queue *queue, uint32_t sge_max); /* -ENOMEM */
void recv_queue_fini(struct recv_queue *queue);
void recv_queue_clear(struct recv_queue *queue);

/* Makes room for the WQEs that up to `holders` QPs may give back. -ENOMEM, and nothing is changed.
 */
int recv_queue_reserve(struct recv_queue *queue, uint32_t holders);

/*
 * The oldest WQE and its SGEs; the WQE stays. Asks the sink for a refill when the queue is empty.
 * NULL when the client has posted no WQE. Good until the next change of the queue.
 */
const struct recv_wqe *recv_queue_peek(struct engine *engine, struct recv_queue *queue,
				       const struct rnic_sge **sges);

/*
 * Takes the oldest WQE, and asks the sink for a refill when the queue is empty. Copies the WQE to
 * `work` and its SGEs to `sges` (room for sge_stride). False when the client has posted no WQE.
 */
bool recv_queue_take(struct engine *engine, struct recv_queue *queue, struct recv_wqe *wqe,
		     struct rnic_sge *sges);

/* Puts back a WQE that was taken, before the oldest; its room was reserved. `sges` are copied. */
void recv_queue_give_back(struct recv_queue *queue, const struct recv_wqe *wqe,
			  const struct rnic_sge *sges);

#endif
