/* SPDX-License-Identifier: MIT */
/*
 * Importing: a second context of a session, and objects of the first one in it. An imported object
 * is another name for the same thing; un-importing forgets the name.
 */
#include "verbs/ibv_session.h"
#include "verbs/ibv_translate.h"

#include <errno.h>
#include <stdlib.h>

/*
 * On success cmd_fd belongs to the context. Another process gets EOPNOTSUPP: its connection to the
 * daemon is another one, and the daemon lends no client what belongs to the next.
 */
struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct rnic_verbs_session *session;
	struct rnic_port_attributes port;
	struct ibv_context *context;
	int error = rnic_verbs_session_find(cmd_fd, &session);

	if (error != 0)
		return rnic_verbs_null(-error);
	/* After a fork() the session is still listed, but dead. */
	error = rnic_query_port(rnic_verbs_session_native(session), &port);
	if (error != 0) {
		rnic_verbs_session_release(session);
		return rnic_verbs_null(-error);
	}
	context = rnic_verbs_context_create(session, cmd_fd);
	if (context == NULL)
		rnic_verbs_session_release(session);
	return context;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct rnic_verbs_export *export =
		rnic_verbs_export_find(context, RNIC_VERBS_EXPORT_PD, handle);
	struct rnic_verbs_pd *pd;

	if (export == NULL)
		return rnic_verbs_null(EINVAL);
	pd = calloc(1, sizeof(*pd));
	if (pd == NULL)
		return rnic_verbs_null(ENOMEM);
	pd->native = RNIC_CONTAINER_OF(export, struct rnic_verbs_pd, export)->native;
	pd->pd.context = context;
	pd->pd.handle = handle;
	return &pd->pd;
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
	free(rnic_verbs_pd(pd));
}

/* The importer learns keys and length; the address is the exporter's own affair, so it is NULL. */
struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct rnic_verbs_export *export =
		rnic_verbs_export_find(pd->context, RNIC_VERBS_EXPORT_MR, handle);
	const struct rnic_verbs_mr *source;
	struct rnic_verbs_mr *mr;

	if (export == NULL)
		return rnic_verbs_null(EINVAL);
	source = RNIC_CONTAINER_OF(export, struct rnic_verbs_mr, export);
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return rnic_verbs_null(ENOMEM);
	*mr = (struct rnic_verbs_mr){.mr = source->mr, .native = source->native};
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.addr = NULL;
	return &mr->mr;
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
	free(rnic_verbs_mr(mr));
}
