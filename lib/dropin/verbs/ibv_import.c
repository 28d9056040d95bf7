/* SPDX-License-Identifier: MIT */
/*
 * Importing: a second context, and objects of the first one in it.
 *
 * Within a process the second context shares the opened device, so that an imported object is
 * another name for the same thing. Another process opens the device itself. The daemon lends to
 * the session of that process the exporter's protection domains and tells it the keys of the
 * exporter's regions. Either way un-importing forgets the name.
 */
#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_opened.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <errno.h>
#include <stdlib.h>

/*
 * An opened device that this process has and that is alive. After a fork() the list still holds
 * those of the parent, but they are dead: the child is another process.
 */
static int find_alive(int cmd_fd, struct rnic_verbs_opened **opened)
{
	struct rnic_port_attributes port;
	int error = rnic_verbs_opened_find(cmd_fd, opened);

	if (error != 0)
		return error;
	error = rnic_query_port(rnic_verbs_opened_native(*opened), &port);
	if (error != 0)
		rnic_verbs_opened_release(*opened);
	return error;
}

static struct ibv_context *import_within(struct rnic_verbs_opened *opened, int cmd_fd)
{
	struct ibv_context *context = rnic_verbs_context_create(opened, cmd_fd);

	if (context == NULL)
		rnic_verbs_opened_release(opened);
	return context;
}

/* Only the daemon of the exporter knows the file behind cmd_fd. */
static struct ibv_context *import_from_another(int cmd_fd)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct rnic_verbs_opened *opened;
	struct ibv_context *context = NULL;
	int error = -EOPNOTSUPP;

	if (devices == NULL)
		return NULL;
	for (struct ibv_device **device = devices; *device != NULL && error != 0; device++)
		error = rnic_verbs_opened_import(rnic_verbs_device(*device), cmd_fd, &opened);
	if (error == 0)
		context = import_within(opened, cmd_fd);
	else
		errno = -error;
	ibv_free_device_list(devices);
	return context;
}

/*
 * On success cmd_fd belongs to the context. A descriptor that names no opened device gets
 * EOPNOTSUPP.
 */
struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct rnic_verbs_opened *opened;
	int error = find_alive(cmd_fd, &opened);

	if (error == 0)
		return import_within(opened, cmd_fd);
	if (error == -EOPNOTSUPP || error == -ENODEV)
		return import_from_another(cmd_fd);
	return rnic_verbs_null(-error);
}

/* The domain of `handle`, in *native; 0 or a negative errno. */
static int pd_of_handle(struct ibv_context *context, uint32_t handle, struct rnic_pd **native)
{
	struct rnic_verbs_export *export;

	if (rnic_verbs_is_importer(context))
		return rnic_import_pd(rnic_verbs_native(context), handle, native);
	export = rnic_verbs_export_find(context, RNIC_VERBS_EXPORT_PD, handle);
	if (export == NULL)
		return -EINVAL;
	*native = RNIC_CONTAINER_OF(export, struct rnic_verbs_pd, export)->native;
	return 0;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct rnic_verbs_pd *pd = calloc(1, sizeof(*pd));
	int error;

	if (pd == NULL)
		return rnic_verbs_null(ENOMEM);
	error = pd_of_handle(context, handle, &pd->native);
	if (error != 0) {
		free(pd);
		return rnic_verbs_null(-error);
	}
	pd->pd.context = context;
	pd->pd.handle = handle;
	pd->made = rnic_verbs_made(context, handle);
	return &pd->pd;
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
	if (rnic_verbs_is_importer(rnic_verbs_pd(pd)->made.context))
		rnic_unimport_pd(rnic_verbs_pd(pd)->native);
	free(rnic_verbs_pd(pd));
}

/* The facts that the importer learns of the region of `handle`; 0 or a negative errno. */
static int mr_of_handle(struct ibv_pd *pd, uint32_t handle, struct rnic_verbs_mr *mr)
{
	const struct rnic_verbs_mr *source;
	struct rnic_verbs_export *export;
	uint64_t length;
	int error;

	if (rnic_verbs_is_importer(pd->context)) {
		error = rnic_import_mr(rnic_verbs_pd(pd)->native, handle, &mr->native, &length);
		if (error != 0)
			return error;
		mr->mr.length = length;
		mr->mr.handle = handle;
		mr->mr.lkey = rnic_mr_lkey(mr->native);
		mr->mr.rkey = rnic_mr_rkey(mr->native);
		return 0;
	}
	export = rnic_verbs_export_find(pd->context, RNIC_VERBS_EXPORT_MR, handle);
	if (export == NULL)
		return -EINVAL;
	source = RNIC_CONTAINER_OF(export, struct rnic_verbs_mr, export);
	*mr = (struct rnic_verbs_mr){.mr = source->mr, .native = source->native};
	return 0;
}

/*
 * The importer learns keys and length. The address is NULL: it means something in the exporter
 * only.
 */
struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct rnic_verbs_mr *mr = calloc(1, sizeof(*mr));
	int error;

	if (mr == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_verbs_check_pd(pd);
	if (error == 0)
		error = mr_of_handle(pd, handle, mr);
	if (error != 0) {
		free(mr);
		return rnic_verbs_null(-error);
	}
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.addr = NULL;
	mr->made = rnic_verbs_made(pd->context, mr->mr.handle);
	return &mr->mr;
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
	if (rnic_verbs_is_importer(rnic_verbs_mr(mr)->made.context))
		rnic_unimport_mr(rnic_verbs_mr(mr)->native);
	free(rnic_verbs_mr(mr));
}
