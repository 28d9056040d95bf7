/* SPDX-License-Identifier: MIT */
#include "daemon/device/objects/session_objects.h"

#include "daemon/device/memory/watched_memory.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/engine/verbs/qp.h"
#include "lib/nic/engine/verbs/srq.h"
#include "proto/base/lane.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void session_free_ah(struct session *session, struct session_ah *ah)
{
	handle_table_remove(&session->ahs, ah->handle);
	ah_fini(&ah->ah);
	quota_discharge(session->account, RESOURCE_AH, 1);
	free(ah);
}

void session_join_target(struct session_qp *qp, struct session_xrcd *xrcd,
			 struct shared_target *target)
{
	qp->xrcd = xrcd;
	qp->target = target;
	qp->async.slot = qp->handle.slot;
	qp->async.generation = qp->handle.generation;
	list_add_tail(&target->handles, &qp->target_node);
	xrcd->references++;
}

void session_note_owner(const struct session *session, uint32_t qpn, uint32_t client_id)
{
	_Atomic uint32_t *owners = session->set->qp_owners;

	if (owners != NULL)
		atomic_store_explicit(&owners[qpn % RNIC_LANE_QPNS], client_id,
				      memory_order_release);
}

/* Ends the QP. A target ends only with the last of its handles. */
static void session_release_qp(struct session_qp *qp)
{
	if (qp->target != NULL) {
		list_remove(&qp->target_node);
		qp->xrcd->references--;
		if (!list_is_empty(&qp->target->handles))
			return;
	}
	session_note_owner(qp->session, qp->qp->qpn, 0);
	qp_destroy(qp->qp);
	free(qp->target);
}

void session_free_qp(struct session *session, struct session_qp *qp)
{
	struct rnic_status_region *status = session_status(session);

	session_release_qp(qp);
	atomic_store_explicit(&status->recv_doorbell_wanted[qp->handle.slot], 0,
			      memory_order_relaxed);
	scheduler_remove(&qp->fetch_node);
	scheduler_remove(&qp->review_node);
	event_source_forget(&qp->async);
	handle_table_remove(&session->qps, qp->handle);
	quota_discharge(session->account, RESOURCE_QP, 1);
	if (qp->queue_region != NULL)
		qp->queue_region->references--;
	free(qp);
}

void session_free_queue_region(struct session *session, struct session_queue_region *queue_region)
{
	assert(queue_region->references == 0);
	handle_table_remove(&session->queue_regions, queue_region->handle);
	session_close_shared(session, &queue_region->region);
	free(queue_region);
}

void session_free_srq(struct session *session, struct session_srq *srq)
{
	srq_destroy(srq->srq);
	if (srq->xrcd != NULL)
		srq->xrcd->references--;
	event_source_forget(&srq->async);
	handle_table_remove(&session->srqs, srq->handle);
	quota_discharge(session->account, RESOURCE_SRQ, 1);
	session_close_shared(session, &srq->region);
	free(srq);
}

struct shared_domain *session_find_domain(const struct session_set *set,
					  const struct inode_id *file)
{
	const struct list *node;

	list_for_each (node, &set->domains) {
		struct shared_domain *domain = list_entry(node, struct shared_domain, node);

		if (domain->file_fd >= 0 && !domain->xrcd.is_closed &&
		    inode_id_equal(&domain->file, file))
			return domain;
	}
	return NULL;
}

void session_leave_domain(struct session_xrcd *xrcd)
{
	struct shared_domain *domain = xrcd->domain;

	if (xrcd->has_left)
		return;
	xrcd->has_left = true;
	if (--domain->members == 0)
		domain->xrcd.is_closed = true;
}

void session_free_xrcd(struct session *session, struct session_xrcd *xrcd)
{
	struct shared_domain *domain = xrcd->domain;

	assert(xrcd->references == 0);
	session_leave_domain(xrcd);
	quota_discharge(session->account, RESOURCE_DESCRIPTORS, domain->file_fd >= 0);
	if (--domain->openers == 0) {
		xrcd_fini(&domain->xrcd);
		if (domain->file_fd >= 0)
			quota_defer_close(session->account, domain->file_fd);
		list_remove(&domain->node);
		free(domain);
	}
	handle_table_remove(&session->xrcds, xrcd->handle);
	quota_discharge(session->account, RESOURCE_XRCD, 1);
	free(xrcd);
}

void session_free_cq(struct session *session, struct session_cq *cq)
{
	assert(cq->cq.references == 0);
	scheduler_remove(&cq->notice_node);
	event_source_forget(&cq->event);
	event_source_forget(&cq->async);
	if (cq->channel != NULL)
		cq->channel->references--;
	handle_table_remove(&session->cqs, cq->handle);
	quota_discharge(session->account, RESOURCE_CQ, 1);
	session_close_shared(session, &cq->region);
	free(cq);
}

void session_free_channel(struct session *session, struct session_channel *channel)
{
	assert(channel->references == 0);
	event_pipe_close(&channel->pipe);
	quota_discharge(session->account, RESOURCE_DESCRIPTORS, 1);
	handle_table_remove(&session->channels, channel->handle);
	quota_discharge(session->account, RESOURCE_CHANNEL, 1);
	free(channel);
}

void session_close_memory(struct session *session, struct session_mr *mr)
{
	if (mr->mode == RNIC_MEMORY_MAPPED)
		session_close_mapping(session, &mr->memory.mapped);
	else if (session_mr_is_remote(mr))
		watched_region_close(&mr->memory.remote);
}

void session_free_mr(struct session *session, struct session_mr *mr)
{
	mr_deregister(session->set->engine, &mr->mr);
	session_close_memory(session, mr);
	session->registered_bytes -= session_mr_bytes(mr);
	handle_table_remove(&session->mrs, mr->handle);
	quota_discharge(session->account, RESOURCE_MR, 1);
	free(mr);
}

void session_free_mw(struct session *session, struct session_mw *mw)
{
	mw_dealloc(session->set->engine, &mw->mw);
	handle_table_remove(&session->mws, mw->handle);
	quota_discharge(session->account, RESOURCE_MW, 1);
	free(mw);
}

int session_make_pd(struct session *session, struct pd_share *share, struct session_pd **made)
{
	struct session_pd *pd;
	int result = quota_charge(session->account, RESOURCE_PD, 1);

	if (result != 0)
		return result;
	pd = calloc(1, sizeof(*pd));
	result = pd == NULL ? -ENOMEM : handle_table_add(&session->pds, pd, &pd->handle);
	if (result != 0) {
		free(pd);
		quota_discharge(session->account, RESOURCE_PD, 1);
		return result;
	}
	pd->pd.share = share;
	if (share != NULL)
		share->holders++;
	*made = pd;
	return 0;
}

void session_free_pd(struct session *session, struct session_pd *pd)
{
	assert(pd->pd.references == 0);
	if (pd->pd.share != NULL && --pd->pd.share->holders == 0)
		free(pd->pd.share);
	handle_table_remove(&session->pds, pd->handle);
	quota_discharge(session->account, RESOURCE_PD, 1);
	free(pd);
}
