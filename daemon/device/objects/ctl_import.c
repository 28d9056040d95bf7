/* SPDX-License-Identifier: MIT */
/*
 * One client lends protection domains to others. A client identifies itself by a private file
 * (SHARE). Another client that got a descriptor of the file from the first may show it (IMPORT).
 * From then on the importer may have the same protection domains, and may ask for the keys of
 * regions in them.
 *
 * An importer owns its share of a domain and nothing of the exporter. The importer knows the
 * exporter by number: either may end at any time, and neither delays the end of the other.
 */
#include "daemon/device/objects/object_requests.h"
#include "daemon/shared/quota/client_limits.h"

#include "daemon/device/objects/session_objects.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"

#include <errno.h>
#include <stdlib.h>

_Static_assert(LIMIT_SESSION_MRS <= 1 << RNIC_NAME_SLOT_BITS, "every region has a name");
_Static_assert(LIMIT_SESSION_PDS <= 1 << RNIC_NAME_SLOT_BITS, "every domain has a name");

/* Returns the session of the client that shared the file; NULL: none. */
static struct session *find_sharing(const struct session_set *set, const struct inode_id *file)
{
	const struct list *node;

	list_for_each (node, &set->sessions) {
		struct session *session = list_entry(node, struct session, node);

		if (!session->is_broken && session->share_fd >= 0 &&
		    inode_id_equal(&session->share_file, file))
			return session;
	}
	return NULL;
}

/* Returns the session from which `importer` imports; NULL: it has ended, or there never was one. */
static struct session *find_exporter(const struct session *importer)
{
	const struct list *node;

	list_for_each (node, &importer->set->sessions) {
		struct session *session = list_entry(node, struct session, node);

		if (!session->is_broken && session->client_id == importer->exporter_id)
			return session;
	}
	return NULL;
}

/* Keeps the file open, so that the file system gives its inode number to no other file. */
int ctl_share(struct ctl_call *call)
{
	struct session *session = call->session;
	struct inode_id file;

	if (session->share_fd >= 0)
		return ctl_refuse(call, -EBUSY, "this client has shared a file already");
	if (inode_id_of(call->fds[0], &file) != 0)
		return ctl_refuse(call, -EINVAL, "the file is not open, or cannot be looked at");
	if (find_sharing(session->set, &file) != NULL)
		return ctl_refuse(call, -EEXIST, "another client has shared this file");
	if (quota_charge(session->account, RESOURCE_DESCRIPTORS, 1) != 0)
		return ctl_refuse(call, -ENOSPC, "no more file descriptors are to be had");
	session->share_fd = call->fds[0];
	session->share_file = file;
	call->fds[0] = -1;
	return 0;
}

int ctl_import(struct ctl_call *call)
{
	struct session *session = call->session, *exporter;
	struct inode_id file;

	if (session->set->is_program)
		return ctl_refuse(call, -EOPNOTSUPP,
				  "what another process has cannot be imported where the device is "
				  "inside a program (--direct)");
	if (session->exporter_id != 0)
		return ctl_refuse(call, -EBUSY, "this client imports from another already");
	if (inode_id_of(call->fds[0], &file) != 0)
		return ctl_refuse(call, -EINVAL, "the file is not open, or cannot be looked at");
	exporter = find_sharing(session->set, &file);
	if (exporter == NULL || exporter == session)
		return ctl_refuse(call, -ENOENT, "no other client has shared this file");
	session->exporter_id = exporter->client_id;
	return 0;
}

static int refuse_without_exporter(struct ctl_call *call)
{
	return ctl_refuse(call, -ENODEV, "there is no client to import from, or no more");
}

/* Returns the share of `pd`, and makes it when `pd` is the first member. NULL: out of memory. */
static struct pd_share *share_of(struct pd *pd)
{
	if (pd->share == NULL) {
		pd->share = calloc(1, sizeof(*pd->share));
		if (pd->share != NULL)
			pd->share->holders = 1;
	}
	return pd->share;
}

int ctl_import_pd(struct ctl_call *call)
{
	const struct rnic_ctl_import_pd *request = (const void *)call->request.payload;
	struct rnic_ctl_pd_reply *reply = (void *)call->reply.payload;
	const struct session *exporter = find_exporter(call->session);
	struct session_pd *source, *pd;
	struct pd_share *share;
	int result;

	if (exporter == NULL)
		return refuse_without_exporter(call);
	source = handle_table_at(&exporter->pds, rnic_name_slot(request->name));
	if (source == NULL || rnic_handle_name(source->handle) != request->name)
		return ctl_refuse(call, -EINVAL, "the exporter has no such protection domain");
	share = share_of(&source->pd);
	if (share == NULL)
		return -ENOMEM;
	result = session_make_pd(call->session, share, &pd);
	if (result == -ENOSPC)
		return ctl_refuse(call, result, "no more protection domains are to be had");
	if (result == 0)
		reply->pd = pd->handle;
	return result;
}

int ctl_import_mr(struct ctl_call *call)
{
	const struct rnic_ctl_import_mr *request = (const void *)call->request.payload;
	struct rnic_ctl_import_mr_reply *reply = (void *)call->reply.payload;
	const struct session *exporter = find_exporter(call->session);
	const struct session_pd *pd = handle_table_get(&call->session->pds, request->pd);
	const struct session_mr *mr;

	if (exporter == NULL)
		return refuse_without_exporter(call);
	if (pd == NULL)
		return ctl_refuse(call, -EINVAL, "no such protection domain");
	mr = handle_table_at(&exporter->mrs, rnic_name_slot(request->name));
	if (mr == NULL || rnic_handle_name(mr->handle) != request->name ||
	    !pd_is_same(mr->mr.pd, &pd->pd))
		return ctl_refuse(call, -EINVAL, "the domain has no such region of the exporter");
	reply->length = mr->mr.length;
	reply->lkey = mr->mr.key;
	reply->rkey = mr->mr.key;
	return 0;
}
