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

/* Writes one request into the queue; `next` is not looked at. Errors as of rnic_post_send(). */
int rnic_send_append(struct rnic_qp *qp, const struct rnic_send_wr *wr);

/* The key that a BIND_MW with the rkey `tag` gives to the window: its low 8 bits are those of
 * `tag`. */
uint32_t rnic_mw_key(const struct rnic_mw *mw, uint32_t tag);

/* Publishes what was appended and gives the queue back. */
void rnic_send_end(struct rnic_qp *qp);

/* Gives the queue back as rnic_send_begin() found it; instead of rnic_send_end(). */
void rnic_send_abort(struct rnic_qp *qp);

/* The receive queue of `qp` or of `srq`: one of both is given, the other is NULL. */
static inline struct rnic_work_queue *rnic_recv_queue(struct rnic_qp *qp, struct rnic_srq *srq)
{
	return srq != NULL ? &srq->recv : &qp->recv;
}

/* The same for receives, without a way back. `queue` is rnic_recv_queue(). */
int rnic_recv_begin(struct rnic_qp *qp, struct rnic_srq *srq);
int rnic_recv_append(struct rnic_work_queue *queue, const struct rnic_recv_wr *wr);
void rnic_recv_end(struct rnic_qp *qp, struct rnic_srq *srq);

#endif
