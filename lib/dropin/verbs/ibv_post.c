/* SPDX-License-Identifier: MIT */
/* The functions that the inline verbs of the data path reach through the context. */
#include "lib/client/native/rnic_post.h"
#include "lib/dropin/verbs/ibv_objects.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <errno.h>

#define POLL_BATCH 16

static int verbs_post_send(struct ibv_qp *ibv, struct ibv_send_wr *list, struct ibv_send_wr **bad)
{
	struct rnic_qp *qp = rnic_verbs_qp(ibv)->native;
	struct ibv_send_wr *wr = list;
	struct rnic_send_wqe wqe;
	int error = rnic_send_begin(qp);

	if (error == 0) {
		for (; wr != NULL; wr = wr->next) {
			error = rnic_verbs_send_wqe(wr, qp->type, &wqe);
			if (error == 0)
				error = rnic_send_append(qp, &wqe, rnic_verbs_sges(wr->sg_list),
							 (uint32_t)wr->num_sge);
			if (error != 0)
				break;
			if (wr->opcode == IBV_WR_BIND_MW)
				wr->bind_mw.mw->rkey = wqe.rkey;
		}
		rnic_send_end(qp);
	}
	if (error != 0)
		*bad = wr;
	return rnic_verbs_errno(error);
}

static int post_receives(struct rnic_qp *qp, struct rnic_srq *srq, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad)
{
	int error = rnic_recv_begin(qp, srq);

	if (error == 0) {
		struct rnic_work_queue *queue = rnic_recv_queue(qp, srq);

		for (; wr != NULL; wr = wr->next) {
			error = rnic_recv_append(qp, queue, wr->wr_id, rnic_verbs_sges(wr->sg_list),
						 (uint32_t)wr->num_sge);
			if (error != 0)
				break;
		}
		rnic_recv_end(qp, srq);
	}
	if (error != 0)
		*bad = wr;
	return rnic_verbs_errno(error);
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *list, struct ibv_recv_wr **bad)
{
	return post_receives(rnic_verbs_qp(qp)->native, NULL, list, bad);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *list, struct ibv_recv_wr **bad)
{
	return post_receives(NULL, rnic_verbs_srq(srq)->native, list, bad);
}

/* Returns what was taken even when the device dies on the way; the next poll says so. */
static int poll_cq(struct ibv_cq *ibv, int max_count, struct ibv_wc *completions)
{
	struct rnic_cq *cq = rnic_verbs_cq(ibv)->native;
	struct rnic_completion batch[POLL_BATCH];
	int taken = 0;

	while (taken < max_count) {
		int wanted = max_count - taken < POLL_BATCH ? max_count - taken : POLL_BATCH;
		int got = rnic_poll_cq(cq, (uint32_t)wanted, batch);

		if (got < 0)
			return taken > 0 ? taken : got;
		for (int i = 0; i < got; i++)
			rnic_verbs_wc(&batch[i], &completions[taken++]);
		if (got < wanted)
			break;
	}
	return taken;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return rnic_verbs_errno(rnic_req_notify_cq(rnic_verbs_cq(cq)->native, solicited_only != 0));
}

void rnic_verbs_fill_data_path(struct ibv_context_ops *ops)
{
	ops->post_send = verbs_post_send;
	ops->post_recv = post_recv;
	ops->post_srq_recv = post_srq_recv;
	ops->poll_cq = poll_cq;
	ops->req_notify_cq = req_notify_cq;
}
