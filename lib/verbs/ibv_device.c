/* SPDX-License-Identifier: MIT */
/* The list of devices, and opening and closing one. */
#include "verbs/ibv_objects.h"
#include "verbs/ibv_translate.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void device_release(struct rnic_verbs_device *device)
{
	unsigned before = atomic_fetch_sub(&device->references, 1);

	assert(before > 0);
	if (before == 1)
		free(device);
}

/* Asks the daemon for its device. NULL with errno 0 when there is no daemon, which is no error. */
static struct rnic_verbs_device *find_device(void)
{
	struct rnic_verbs_device *device = calloc(1, sizeof(*device));
	int error;

	if (device == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_query_device_at(NULL, &device->attributes);
	if (error != 0) {
		free(device);
		return rnic_verbs_null(error == -ENOMEM ? ENOMEM : 0);
	}
	atomic_init(&device->references, 1);
	device->device.node_type = IBV_NODE_CA;
	device->device.transport_type = IBV_TRANSPORT_IB;
	snprintf(device->device.name, sizeof(device->device.name), "%s", device->attributes.name);
	snprintf(device->device.dev_name, sizeof(device->device.dev_name), "uverbs0");
	snprintf(device->device.dev_path, sizeof(device->device.dev_path),
		 "/sys/class/infiniband_verbs/uverbs0");
	snprintf(device->device.ibdev_path, sizeof(device->device.ibdev_path),
		 "/sys/class/infiniband/%s", device->attributes.name);
	return device;
}

static bool is_disabled(void)
{
	const char *value = getenv("RNIC_DISABLE");

	return value != NULL && value[0] != 0 && (value[0] != '0' || value[1] != 0);
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = calloc(2, sizeof(struct ibv_device *));
	struct rnic_verbs_device *device = NULL;
	const int errno_before = errno;

	if (num_devices != NULL)
		*num_devices = 0;
	if (list == NULL)
		return rnic_verbs_null(ENOMEM);
	if (!is_disabled()) {
		device = find_device();
		if (device == NULL && errno != 0) {
			free(list);
			return NULL;
		}
	}
	errno = errno_before;
	if (device != NULL) {
		list[0] = &device->device;
		if (num_devices != NULL)
			*num_devices = 1;
	}
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	for (struct ibv_device **device = list; *device != NULL; device++)
		device_release(rnic_verbs_device(*device));
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(rnic_verbs_device(device)->attributes.node_guid);
}

/* An index is the kernel's name for a device, and the kernel does not know this one. */
int ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return -1;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct rnic_verbs_context *context = calloc(1, sizeof(*context));
	struct ibv_context *ibv;
	int error;

	if (context == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_open(NULL, &context->native);
	if (error != 0) {
		free(context);
		return rnic_verbs_null(-error);
	}
	context->device = rnic_verbs_device(device);
	atomic_fetch_add(&context->device->references, 1);
	context->verbs.sz = sizeof(context->verbs);
	context->verbs.query_device_ex = rnic_verbs_query_device_ex;
	context->verbs.query_port = rnic_verbs_query_port;
	context->verbs.create_cq_ex = rnic_verbs_create_cq_ex;
	context->verbs.create_qp_ex = rnic_verbs_create_qp_ex;
	rnic_verbs_fill_unsupported(&context->verbs);
	ibv = &context->verbs.context;
	rnic_verbs_fill_data_path(&ibv->ops);
	ibv->device = device;
	ibv->cmd_fd = -1;
	ibv->async_fd = rnic_async_fd(context->native);
	ibv->num_comp_vectors =
		(int)rnic_get_device_attributes(context->native)->completion_vectors;
	ibv->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&ibv->mutex, NULL);
	return ibv;
}

int ibv_close_device(struct ibv_context *ibv)
{
	struct rnic_verbs_context *context = rnic_verbs_context(ibv);

	rnic_close(context->native);
	device_release(context->device);
	pthread_mutex_destroy(&ibv->mutex);
	free(context);
	return 0;
}
