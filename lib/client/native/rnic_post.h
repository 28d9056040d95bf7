/* SPDX-License-Identifier: MIT */
/*
 * Posting work in three steps: begin, append once per request, end. Between begin and end the
 * caller holds the queue, and the daemon sees nothing of what is appended until the end.
 */
#ifndef LIB_CLIENT_NATIVE_RNIC_POST_H
#define LIB_CLIENT_NATIVE_RNIC_POST_H

#include "lib/client/native/rnic_objects.h"

/*
 * Takes the send queue. Returns 0, or a negative errno when nothing may be posted; then do not end.
 */
int rnic_send_begin(struct rnic_qp *qp);

/*
 * Writes one request into the queue. `wqe` has wr_id, opcode, flags, immediate and the operands
 * (wqe_operands.h); this call adds the payload to `wqe`. Of inline data `sges` are the addresses.
 * Errors as of rnic_post_send(): all its checks of a request are here, but for those of windows,
 * which rnic_wqe_set_bind() makes.
 */
int rnic_send_append(struct rnic_qp *qp, struct rnic_send_wqe *wqe, const struct rnic_sge *sges,
		     uint32_t sge_count);

/* Publishes what was appended and gives the queue back. */
void rnic_send_end(struct rnic_qp *qp);

/* Gives the queue back as rnic_send_begin() found it; instead of rnic_send_end(). */
void rnic_send_abort(struct rnic_qp *qp);

/* The receive queue of `qp` or of `srq`: one of both is given, the other is NULL. */
static inline struct rnic_work_queue *rnic_recv_queue(struct rnic_qp *qp, struct rnic_srq *srq)
{
	return srq != NULL ? &srq->recv : &qp->recv;
}

/*
 * The same for receives, without a way back. `queue` is rnic_recv_queue() of the same two, and `qp`
 * is NULL for those of an SRQ.
 */
int rnic_recv_begin(struct rnic_qp *qp, struct rnic_srq *srq);
int rnic_recv_append(const struct rnic_qp *qp, struct rnic_work_queue *queue, uint64_t wr_id,
		     const struct rnic_sge *sges, uint32_t sge_count);
void rnic_recv_end(struct rnic_qp *qp, struct rnic_srq *srq);

#endif
