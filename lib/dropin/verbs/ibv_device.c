/* SPDX-License-Identifier: MIT */
/* The list of devices, and opening and closing one. */
#include "lib/client/native/device_list.h"
#include "lib/client/native/disable.h"
#include "lib/dropin/verbs/ibv_opened.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void rnic_verbs_device_release(struct rnic_verbs_device *device)
{
	unsigned before = atomic_fetch_sub(&device->references, 1);

	assert(before > 0);
	if (before == 1)
		free(device);
}

static struct ibv_device *verbs_device_create(const struct rnic_listed_device *listed)
{
	struct rnic_verbs_device *device = calloc(1, sizeof(*device));
	const char *name = listed->attributes.name;

	if (device == NULL)
		return NULL;
	atomic_init(&device->references, 1);
	device->index = listed->index;
	device->node_guid = listed->attributes.node_guid;
	memcpy(device->socket_path, listed->socket_path, sizeof(device->socket_path));
	device->device.node_type = IBV_NODE_CA;
	device->device.transport_type = IBV_TRANSPORT_IB;
	snprintf(device->device.name, sizeof(device->device.name), "%s", name);
	snprintf(device->device.dev_name, sizeof(device->device.dev_name), "uverbs%u",
		 listed->index);
	snprintf(device->device.dev_path, sizeof(device->device.dev_path),
		 "/sys/class/infiniband_verbs/uverbs%u", listed->index);
	snprintf(device->device.ibdev_path, sizeof(device->device.ibdev_path),
		 "/sys/class/infiniband/%s", name);
	return &device->device;
}

/* Fills `list`, which has room for all and an end. NULL with errno: no memory. */
static struct ibv_device **fill_device_list(struct ibv_device **list,
					    const struct rnic_device_list *found)
{
	for (uint32_t i = 0; i < found->count; i++) {
		list[i] = verbs_device_create(&found->devices[i]);
		if (list[i] == NULL) {
			ibv_free_device_list(list);
			return rnic_verbs_null(ENOMEM);
		}
	}
	return list;
}

/* Without a daemon there is no device, which is no error. */
struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct rnic_device_list found = {0};
	struct ibv_device **list;
	const int errno_before = errno;

	if (num_devices != NULL)
		*num_devices = 0;
	if (!rnic_is_disabled() && rnic_device_list_read(&found) == -ENOMEM)
		return rnic_verbs_null(ENOMEM);
	list = calloc(found.count + 1, sizeof(struct ibv_device *));
	if (list != NULL)
		list = fill_device_list(list, &found);
	free(found.devices);
	if (list == NULL)
		return rnic_verbs_null(ENOMEM);
	if (num_devices != NULL)
		*num_devices = (int)found.count;
	errno = errno_before;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	for (struct ibv_device **device = list; *device != NULL; device++)
		rnic_verbs_device_release(rnic_verbs_device(*device));
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(rnic_verbs_device(device)->node_guid);
}

/* The number in the name of the device's uverbs, as the path view has it. */
int ibv_get_device_index(struct ibv_device *device)
{
	return (int)rnic_verbs_device(device)->index;
}

static void fill_extended(struct verbs_context *verbs)
{
	verbs->sz = sizeof(*verbs);
	verbs->query_device_ex = rnic_verbs_query_device_ex;
	verbs->query_port = rnic_verbs_query_port;
	verbs->query_rt_values = rnic_verbs_query_rt_values;
	verbs->create_cq_ex = rnic_verbs_create_cq_ex;
	verbs->modify_cq = rnic_verbs_modify_cq;
	verbs->create_qp_ex = rnic_verbs_create_qp_ex;
	verbs->create_srq_ex = rnic_verbs_create_srq_ex;
	verbs->get_srq_num = rnic_verbs_get_srq_num;
	verbs->open_xrcd = rnic_verbs_open_xrcd;
	verbs->close_xrcd = rnic_verbs_close_xrcd;
	verbs->open_qp = rnic_verbs_open_qp;
	verbs->alloc_td = rnic_verbs_alloc_td;
	verbs->dealloc_td = rnic_verbs_dealloc_td;
	verbs->alloc_parent_domain = rnic_verbs_alloc_parent_domain;
	verbs->advise_mr = rnic_verbs_advise_mr;
	verbs->alloc_dm = rnic_verbs_alloc_dm;
	verbs->alloc_null_mr = rnic_verbs_alloc_null_mr;
	verbs->free_dm = rnic_verbs_free_dm;
	verbs->reg_dm_mr = rnic_verbs_reg_dm_mr;
}

struct ibv_context *rnic_verbs_context_create(struct rnic_verbs_opened *opened, int cmd_fd)
{
	struct rnic_verbs_context *context = calloc(1, sizeof(*context));
	struct ibv_context *ibv;

	if (context == NULL)
		return rnic_verbs_null(ENOMEM);
	context->opened = opened;
	context->native = rnic_verbs_opened_native(opened);
	context->device = rnic_verbs_opened_device(opened);
	atomic_fetch_add(&context->device->references, 1);
	fill_extended(&context->verbs);
	ibv = &context->verbs.context;
	rnic_verbs_fill_data_path(&ibv->ops);
	rnic_verbs_fill_windows(&ibv->ops);
	ibv->device = &context->device->device;
	ibv->cmd_fd = cmd_fd;
	ibv->async_fd = rnic_async_fd(context->native);
	ibv->num_comp_vectors =
		(int)rnic_get_device_attributes(context->native)->completion_vectors;
	ibv->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&ibv->mutex, NULL);
	return ibv;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct rnic_verbs_opened *opened;
	struct ibv_context *context;
	int cmd_fd;
	int error = rnic_verbs_opened_create(rnic_verbs_device(device), &opened, &cmd_fd);

	if (error != 0)
		return rnic_verbs_null(-error);
	context = rnic_verbs_context_create(opened, cmd_fd);
	if (context == NULL) {
		close(cmd_fd);
		rnic_verbs_opened_release(opened);
		return rnic_verbs_null(ENOMEM);
	}
	return context;
}

int ibv_close_device(struct ibv_context *ibv)
{
	struct rnic_verbs_context *context = rnic_verbs_context(ibv);

	rnic_verbs_opened_release(context->opened);
	rnic_verbs_device_release(context->device);
	close(ibv->cmd_fd);
	pthread_mutex_destroy(&ibv->mutex);
	free(context);
	return 0;
}
