/* SPDX-License-Identifier: MIT */
#include "device/session/session.h"

#include "base/log.h"
#include "base/time_units.h"
#include "common/client_limits.h"
#include "engine/verbs/qp.h"
#include "engine/verbs/srq.h"
#include "cm_ids/cm_identifier.h"
#include "device/queues/doorbell.h"
#include "device/session/session_set.h"
#include "shm/ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define SESSION_PORT 1 /* the device's one port, as its events name it */

/* The connection is one; HELLO makes a doorbell and a pipe, and may bring two ways to memory. */
#define SOCKET_DESCRIPTORS 1
#define HELLO_DESCRIPTORS  4

struct session *session_create(struct session_set *set, int socket_fd, pid_t pid, uid_t uid)
{
	struct session *session = calloc(1, sizeof(*session));
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP};

	if (session == NULL)
		return NULL;
	session->set = set;
	session->socket_fd = socket_fd;
	session->doorbell_fd = -1;
	session->share_fd = -1;
	session->async_pipe.write_fd = -1;
	session->files.unmap = session_unmap;
	session->files.unmap_context = session;
	session->pid = pid;
	session->uid = uid;
	session->socket_watch = (struct watch){WATCH_SOCKET, session};
	session->doorbell_watch = (struct watch){WATCH_DOORBELL, session};
	session->pipe_watch = (struct watch){WATCH_PIPE, session};
	handle_table_init(&session->pds, LIMIT_SESSION_PDS);
	handle_table_init(&session->mrs, LIMIT_SESSION_MRS);
	handle_table_init(&session->mws, LIMIT_SESSION_MWS);
	handle_table_init(&session->channels, LIMIT_SESSION_CHANNELS);
	handle_table_init(&session->cqs, RNIC_SESSION_CQS_MAX);
	handle_table_init(&session->qps, RNIC_SESSION_QPS_MAX);
	handle_table_init(&session->ahs, LIMIT_SESSION_AHS);
	handle_table_init(&session->srqs, RNIC_SESSION_SRQS_MAX);
	handle_table_init(&session->xrcds, LIMIT_SESSION_XRCDS);
	handle_table_init(&session->cm_channels, LIMIT_SESSION_CHANNELS);
	handle_table_init(&session->cm_ids, LIMIT_SESSION_CM_IDS);

	if (quota_open(&session->account, &set->quotas, uid) != 0)
		goto free_session;
	if (quota_charge(&session->account, RESOURCE_DESCRIPTORS, SOCKET_DESCRIPTORS) != 0)
		goto close_account;
	event.data.ptr = &session->socket_watch;
	if (epoll_ctl(set->epoll_fd, EPOLL_CTL_ADD, socket_fd, &event) != 0)
		goto discharge;
	session->client_id = set->next_client_id++;
	session->hello_by_ns = set->now_ns + LIMIT_HELLO_MS * RNIC_NS_PER_MS;
	list_add_tail(&set->pre_hello, &session->pre_hello_node);
	list_add_tail(&set->sessions, &session->node);
	set->session_count++;
	return session;

discharge:
	quota_discharge(&session->account, RESOURCE_DESCRIPTORS, SOCKET_DESCRIPTORS);
close_account:
	quota_close(&session->account);
free_session:
	free(session);
	return NULL;
}

/* The doorbell as an eventfd that is watched and never read; `*passed_fd` is the client's. */
static int session_open_doorbell(struct session *session, int *passed_fd)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLET,
		.data.ptr = &session->doorbell_watch,
	};
	int result;

	session->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (session->doorbell_fd < 0)
		return -errno;
	*passed_fd = fcntl(session->doorbell_fd, F_DUPFD_CLOEXEC, 0);
	if (*passed_fd < 0)
		goto close_doorbell;
	if (epoll_ctl(session->set->epoll_fd, EPOLL_CTL_ADD, session->doorbell_fd, &event) != 0)
		goto close_passed;
	return 0;

close_passed:
	result = -errno;
	close(*passed_fd);
	close(session->doorbell_fd);
	session->doorbell_fd = -1;
	return result;
close_doorbell:
	result = -errno;
	close(session->doorbell_fd);
	session->doorbell_fd = -1;
	return result;
}

static void session_close_doorbell(struct session *session)
{
	if (session->doorbell_fd < 0)
		return;
	/* The client may hold the same file description: closing ours would leave the watch. */
	epoll_ctl(session->set->epoll_fd, EPOLL_CTL_DEL, session->doorbell_fd, NULL);
	close(session->doorbell_fd);
	session->doorbell_fd = -1;
}

int session_open_regions(struct session *session, int fds[4])
{
	int result = quota_charge(&session->account, RESOURCE_DESCRIPTORS, HELLO_DESCRIPTORS);

	if (result != 0)
		return result;
	result = session_open_shared(session, &session->region, RNIC_REGION_SESSION,
				     sizeof(struct rnic_session_region), &fds[0]);
	if (result != 0)
		goto discharge;
	result = session_open_shared(session, &session->status, RNIC_REGION_STATUS,
				     sizeof(struct rnic_status_region), &fds[1]);
	if (result != 0)
		goto close_region;
	result = session_open_doorbell(session, &fds[2]);
	if (result != 0)
		goto close_status;
	result = event_pipe_open(&session->async_pipe, &fds[3]);
	if (result != 0)
		goto close_doorbell;
	session->port_events.slot = SESSION_PORT;
	atomic_store_explicit(&session_status(session)->is_bulk.value, session->set->is_told_bulk,
			      memory_order_relaxed);
	list_add_tail(&session->set->clients, &session->client_node);
	session->set->client_count++;
	doorbell_wake(session);
	return 0;

close_doorbell:
	close(fds[2]);
	session_close_doorbell(session);
close_status:
	close(fds[1]);
	session_close_shared(session, &session->status);
close_region:
	close(fds[0]);
	session_close_shared(session, &session->region);
discharge:
	quota_discharge(&session->account, RESOURCE_DESCRIPTORS, HELLO_DESCRIPTORS);
	return result;
}

static void session_close_regions(struct session *session)
{
	if (session->region.address == NULL)
		return;
	if (session->set->bulk_notify_pending == session->set->client_count--)
		session->set->bulk_notify_pending--;
	list_remove(&session->client_node);
	event_source_forget(&session->port_events);
	event_pipe_close(&session->async_pipe);
	session_close_doorbell(session);
	session_close_shared(session, &session->status);
	session_close_shared(session, &session->region);
	quota_discharge(&session->account, RESOURCE_DESCRIPTORS, HELLO_DESCRIPTORS);
}

void session_free_ah(struct session *session, struct session_ah *ah)
{
	handle_table_remove(&session->ahs, ah->handle);
	ah_fini(&ah->ah);
	quota_discharge(&session->account, RESOURCE_AH, 1);
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

/* Ends the QP; a target only with the last of its handles. */
static void session_release_qp(struct session_qp *qp)
{
	if (qp->target != NULL) {
		list_remove(&qp->target_node);
		qp->xrcd->references--;
		if (!list_is_empty(&qp->target->handles))
			return;
	}
	qp_destroy(qp->qp);
	free(qp->target);
}

void session_free_qp(struct session *session, struct session_qp *qp)
{
	struct rnic_status_region *status = session_status(session);

	session_release_qp(qp);
	atomic_store_explicit(&status->recv_doorbell_wanted[qp->handle.slot], 0,
			      memory_order_relaxed);
	list_remove(&qp->wqe_fetch_node);
	list_remove(&qp->review_node);
	event_source_forget(&qp->async);
	handle_table_remove(&session->qps, qp->handle);
	quota_discharge(&session->account, RESOURCE_QP, 1);
	session_close_shared(session, &qp->region);
	free(qp);
}

void session_free_srq(struct session *session, struct session_srq *srq)
{
	srq_destroy(srq->srq);
	if (srq->xrcd != NULL)
		srq->xrcd->references--;
	event_source_forget(&srq->async);
	handle_table_remove(&session->srqs, srq->handle);
	quota_discharge(&session->account, RESOURCE_SRQ, 1);
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
	quota_discharge(&session->account, RESOURCE_DESCRIPTORS, domain->file_fd >= 0);
	if (--domain->openers == 0) {
		xrcd_fini(&domain->xrcd);
		if (domain->file_fd >= 0)
			quota_defer_close(&session->account, domain->file_fd);
		list_remove(&domain->node);
		free(domain);
	}
	handle_table_remove(&session->xrcds, xrcd->handle);
	quota_discharge(&session->account, RESOURCE_XRCD, 1);
	free(xrcd);
}

void session_free_cq(struct session *session, struct session_cq *cq)
{
	assert(cq->cq.references == 0);
	list_remove(&cq->dirty_node);
	event_source_forget(&cq->event);
	event_source_forget(&cq->async);
	if (cq->channel != NULL)
		cq->channel->references--;
	handle_table_remove(&session->cqs, cq->handle);
	quota_discharge(&session->account, RESOURCE_CQ, 1);
	session_close_shared(session, &cq->region);
	free(cq);
}

void session_free_channel(struct session *session, struct session_channel *channel)
{
	assert(channel->references == 0);
	event_pipe_close(&channel->pipe);
	quota_discharge(&session->account, RESOURCE_DESCRIPTORS, 1);
	handle_table_remove(&session->channels, channel->handle);
	quota_discharge(&session->account, RESOURCE_CHANNEL, 1);
	free(channel);
}

void session_free_mr(struct session *session, struct session_mr *mr)
{
	mr_deregister(session->set->engine, &mr->mr);
	if (mr->mode == RNIC_MEMORY_MAPPED)
		session_close_mapping(session, &mr->memory.mapped);
	session->registered_bytes -= session_mr_bytes(mr);
	handle_table_remove(&session->mrs, mr->handle);
	quota_discharge(&session->account, RESOURCE_MR, 1);
	free(mr);
}

void session_free_mw(struct session *session, struct session_mw *mw)
{
	mw_dealloc(session->set->engine, &mw->mw);
	handle_table_remove(&session->mws, mw->handle);
	quota_discharge(&session->account, RESOURCE_MW, 1);
	free(mw);
}

int session_make_pd(struct session *session, struct pd_share *share, struct session_pd **made)
{
	struct session_pd *pd;
	int result = quota_charge(&session->account, RESOURCE_PD, 1);

	if (result != 0)
		return result;
	pd = calloc(1, sizeof(*pd));
	result = pd == NULL ? -ENOMEM : handle_table_add(&session->pds, pd, &pd->handle);
	if (result != 0) {
		free(pd);
		quota_discharge(&session->account, RESOURCE_PD, 1);
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
	quota_discharge(&session->account, RESOURCE_PD, 1);
	free(pd);
}

void session_cut(struct session *session)
{
	struct session_set *set = session->set;

	list_remove(&session->pre_hello_node);
	list_remove(&session->awake_node);
	list_remove(&session->unwoken_node);
	list_remove(&session->event_pending_node);
	list_remove(&session->resume_node);
	free(session->call);
	session->call = NULL;
	session_close_doorbell(session);
	/* The client is to know at once; the requests that it left behind may hold descriptors. */
	epoll_ctl(set->epoll_fd, EPOLL_CTL_DEL, session->socket_fd, NULL);
	shutdown(session->socket_fd, SHUT_RDWR);
	deferred_close_take(&set->deferred_close, session->socket_fd);
	session->socket_fd = -1;
	quota_discharge(&session->account, RESOURCE_DESCRIPTORS, SOCKET_DESCRIPTORS);
}

void session_destroy(struct session *session)
{
	struct session_set *set = session->set;

	assert(session->registered_bytes == 0);
	if (session->has_process)
		remote_process_fini(&session->process);
	if (session->share_fd >= 0) {
		quota_defer_close(&session->account, session->share_fd);
		quota_discharge(&session->account, RESOURCE_DESCRIPTORS, 1);
	}
	session_close_regions(session);
	quota_close(&session->account);
	list_remove(&session->broken_node);
	list_remove(&session->node);
	set->session_count--;
	set->freed_count++;
	free(session);
}

void session_end(struct session *session)
{
	if (session->is_broken)
		return;
	session->is_broken = true;
	session->set->ended_count++;
	list_add_tail(&session->set->broken, &session->broken_node);
}

void session_break(struct session *session, const char *format, ...)
{
	char reason[RNIC_CTL_TEXT_BYTES];
	va_list arguments;

	if (session->is_broken)
		return;
	session_end(session);
	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	log_from_client("client %u (%s, pid %d) was disconnected: %s", session->client_id,
			session->program[0] != '\0' ? session->program : "unnamed",
			(int)session->pid, reason);
}
