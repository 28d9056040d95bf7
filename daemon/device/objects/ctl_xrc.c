/* SPDX-License-Identifier: MIT */
/*
 * XRC domains, and handles for target QPs that another session made. A domain without a file
 * belongs to one session. All sessions that show the same file share the domain that the file
 * names: by the file a program says which programs are its peers.
 */
#include "daemon/device/objects/object_requests.h"

#include "daemon/device/objects/session_objects.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/engine/verbs/qp.h"

#include <errno.h>
#include <stdlib.h>

/* Makes a domain. The domain keeps the file's descriptor, if there is a file. */
static struct shared_domain *domain_create(struct ctl_call *call, const struct inode_id *file)
{
	struct shared_domain *domain = calloc(1, sizeof(*domain));

	if (domain == NULL)
		return NULL;
	xrcd_init(&domain->xrcd);
	domain->file_fd = -1;
	if (file != NULL) {
		domain->file = *file;
		domain->file_fd = call->fds[0];
		call->fds[0] = -1;
	}
	list_add_tail(&call->session->set->domains, &domain->node);
	return domain;
}

/* Finds or makes the domain that the request asks for. */
static int domain_get(struct ctl_call *call, uint32_t flags, struct shared_domain **domain)
{
	struct shared_domain *found;
	struct inode_id file;

	if ((flags & RNIC_XRCD_FILE) == 0) {
		*domain = domain_create(call, NULL);
		return *domain != NULL ? 0 : -ENOMEM;
	}
	if (inode_id_of(call->fds[0], &file) != 0)
		return ctl_refuse(call, -EINVAL, "the file is not open, or cannot be looked at");
	found = session_find_domain(call->session->set, &file);
	if (found != NULL && (flags & RNIC_XRCD_EXCLUSIVE) != 0)
		return ctl_refuse(call, -EINVAL, "the file names a domain already");
	if (found == NULL && (flags & RNIC_XRCD_CREATE) == 0)
		return ctl_refuse(call, -EAGAIN, "the file names no domain, and CREATE is missing");
	*domain = found != NULL ? found : domain_create(call, &file);
	return *domain != NULL ? 0 : -ENOMEM;
}

int ctl_open_xrcd(struct ctl_call *call)
{
	const struct rnic_ctl_open_xrcd *request = (const void *)call->request.payload;
	struct rnic_ctl_xrcd_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	/* Charge a descriptor to each opener: any opener may be the last one, which keeps the
	 * descriptor. */
	const bool has_file = (request->flags & RNIC_XRCD_FILE) != 0;
	struct session_xrcd *xrcd;
	int result;

	if ((request->flags & ~(uint32_t)RNIC_XRCD_ALL_FLAGS) != 0 || request->reserved != 0)
		return ctl_refuse(call, -EINVAL, "unknown flags %#x of an XRC domain",
				  request->flags);
	if (has_file && session->set->is_program)
		return ctl_refuse(call, -EOPNOTSUPP,
				  "a file names an XRC domain to other processes, which the device "
				  "inside a program (--direct) does not serve");
	result = quota_charge(session->account, RESOURCE_XRCD, 1);
	if (result != 0)
		return ctl_refuse(call, result, "no more XRC domains are to be had");
	xrcd = calloc(1, sizeof(*xrcd));
	if (xrcd == NULL) {
		result = -ENOMEM;
		goto discharge;
	}
	result = handle_table_add(&session->xrcds, xrcd, &xrcd->handle);
	if (result != 0)
		goto free_xrcd;
	result = quota_charge(session->account, RESOURCE_DESCRIPTORS, has_file);
	if (result != 0) {
		ctl_refuse(call, result, "no more file descriptors are to be had");
		goto remove_handle;
	}
	result = domain_get(call, request->flags, &xrcd->domain);
	if (result != 0)
		goto discharge_descriptor;
	xrcd->domain->openers++;
	xrcd->domain->members++;
	reply->xrcd = xrcd->handle;
	return 0;

discharge_descriptor:
	quota_discharge(session->account, RESOURCE_DESCRIPTORS, has_file);
remove_handle:
	handle_table_remove(&session->xrcds, xrcd->handle);
free_xrcd:
	free(xrcd);
discharge:
	quota_discharge(session->account, RESOURCE_XRCD, 1);
	return result;
}

int ctl_close_xrcd(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct session_xrcd *xrcd = handle_table_get(&call->session->xrcds, request->handle);

	if (xrcd == NULL)
		return ctl_refuse(call, -EINVAL, "no such XRC domain");
	if (xrcd->references != 0)
		return ctl_refuse(call, -EBUSY, "%u queues of this client are in the XRC domain",
				  xrcd->references);
	session_free_xrcd(call->session, xrcd);
	return 0;
}

/* Returns the target QP named by `qpn`, if the QP is in the domain. */
static struct qp *target_find(struct session *session, const struct session_xrcd *xrcd,
			      uint32_t qpn)
{
	struct qp *qp = key_table_find(&session->set->engine->qps, qpn);

	return qp != NULL && qp->xrcd == &xrcd->domain->xrcd ? qp : NULL;
}

int ctl_open_qp(struct ctl_call *call)
{
	const struct rnic_ctl_open_qp *request = (const void *)call->request.payload;
	struct rnic_ctl_open_qp_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	struct session_xrcd *xrcd = handle_table_get(&session->xrcds, request->xrcd);
	struct session_qp *qp;
	struct qp *target;
	int result;

	if (xrcd == NULL)
		return ctl_refuse(call, -EINVAL, "no such XRC domain");
	target = target_find(session, xrcd, request->qpn);
	if (target == NULL)
		return ctl_refuse(call, -EINVAL, "the XRC domain has no target queue pair %#x",
				  request->qpn);
	result = quota_charge(session->account, RESOURCE_QP, 1);
	if (result != 0)
		return ctl_refuse(call, result, "no more queue pairs are to be had");
	qp = calloc(1, sizeof(*qp));
	if (qp == NULL) {
		result = -ENOMEM;
		goto discharge;
	}
	result = handle_table_add(&session->qps, qp, &qp->handle);
	if (result != 0)
		goto free_qp;
	qp->session = session;
	qp->qp = target;
	session_join_target(qp, xrcd, target->user);
	reply->qp = qp->handle;
	reply->state = target->state;
	return 0;

free_qp:
	free(qp);
discharge:
	quota_discharge(session->account, RESOURCE_QP, 1);
	return result;
}
