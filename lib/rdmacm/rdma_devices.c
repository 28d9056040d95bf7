/* SPDX-License-Identifier: MIT */
#include "rdmacm/rdma_interface.h"

#include <errno.h>
#include <stdlib.h>

/* Opens every device; the contexts belong to the list and are closed with it. */
struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_device **devices;
	struct ibv_context **contexts;
	int device_count;
	int opened = 0;

	devices = ibv_get_device_list(&device_count);
	if (devices == NULL)
		return NULL;
	contexts = calloc((size_t)device_count + 1, sizeof(struct ibv_context *));
	if (contexts == NULL) {
		ibv_free_device_list(devices);
		errno = ENOMEM;
		return NULL;
	}
	for (int i = 0; i < device_count; i++) {
		contexts[opened] = ibv_open_device(devices[i]);
		if (contexts[opened] != NULL)
			opened++;
	}
	ibv_free_device_list(devices);
	if (num_devices != NULL)
		*num_devices = opened;
	return contexts;
}

void rdma_free_devices(struct ibv_context **list)
{
	for (struct ibv_context **context = list; *context != NULL; context++)
		ibv_close_device(*context);
	free(list);
}
