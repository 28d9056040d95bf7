/* SPDX-License-Identifier: MIT */
#include "rdmacm/rdma_objects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_cma_device *current_device;

/*
 * A child of fork() opens a device of its own. Another thread of the parent may have held the lock.
 */
static void rdmacm_devices_forget(void)
{
	pthread_mutex_init(&device_lock, NULL);
	current_device = NULL;
}

static struct rnic_fork_entry fork_entry = {.in_child = rdmacm_devices_forget};

/*
 * -ELIBBAD: libibverbs is of another build, and its table has other functions than this library
 * calls.
 */
static int check_native(void)
{
	if (rnic_native.bytes == sizeof(rnic_native))
		return 0;
	fprintf(stderr, "librdmacm.so.1 and libibverbs.so.1 are not of one build: "
			"use both from one installation of rnicd\n");
	return -ELIBBAD;
}

/* Opens the first device of the list. Negative errno. */
static int open_verbs(struct ibv_context **opened)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	int error = 0;

	if (devices == NULL)
		return -errno;
	if (devices[0] == NULL) {
		error = -ENODEV;
	} else {
		*opened = ibv_open_device(devices[0]);
		if (*opened == NULL)
			error = -errno;
	}
	ibv_free_device_list(devices);
	return error;
}

static int rdmacm_devices_open_device(struct rnic_cma_device **opened)
{
	struct rnic_cma_device *device = calloc(1, sizeof(*device));
	int error;

	if (device == NULL)
		return -ENOMEM;
	error = open_verbs(&device->verbs);
	if (error != 0)
		goto free_device;
	error = -ibv_query_device(device->verbs, &device->attributes);
	if (error != 0)
		goto close_verbs;
	device->native = rnic_native.context(device->verbs);
	pthread_mutex_init(&device->lock, NULL);
	*opened = device;
	return 0;

close_verbs:
	ibv_close_device(device->verbs);
free_device:
	free(device);
	return error;
}

/* Whether the daemon still answers. */
static bool rdmacm_devices_is_alive(struct rnic_cma_device *device)
{
	struct rnic_port_attributes port;

	return rnic_native.query_port(device->native, &port) == 0;
}

int rnic_cma_device_get(struct rnic_cma_device **device)
{
	int error = check_native();

	if (error != 0)
		return error;
	rnic_native.fork_list_add(&fork_entry);
	pthread_mutex_lock(&device_lock);
	/*
	 * A device that died stays as it is: the program may still hold objects that it made there.
	 */
	if (current_device == NULL || !rdmacm_devices_is_alive(current_device)) {
		error = rdmacm_devices_open_device(device);
		if (error == 0)
			current_device = *device;
	} else {
		*device = current_device;
	}
	pthread_mutex_unlock(&device_lock);
	return error;
}

struct ibv_pd *rnic_cma_device_pd(struct rnic_cma_device *device)
{
	struct ibv_pd *pd;

	pthread_mutex_lock(&device->lock);
	if (device->pd == NULL)
		device->pd = ibv_alloc_pd(device->verbs);
	pd = device->pd;
	pthread_mutex_unlock(&device->lock);
	return pd;
}

struct ibv_xrcd *rnic_cma_device_xrcd(struct rnic_cma_device *device)
{
	struct ibv_xrcd_init_attr attributes = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};
	struct ibv_xrcd *xrcd;

	pthread_mutex_lock(&device->lock);
	if (device->xrcd == NULL)
		device->xrcd = ibv_open_xrcd(device->verbs, &attributes);
	xrcd = device->xrcd;
	pthread_mutex_unlock(&device->lock);
	return xrcd;
}

/*
 * Every caller and every identifier gets the same contexts, because programs compare them
 * (rdma_cma.h).
 */
struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct rnic_cma_device *device;
	struct ibv_context **contexts = calloc(2, sizeof(struct ibv_context *));
	int error;

	if (contexts == NULL)
		return NULL;
	error = rnic_cma_device_get(&device);
	if (error == 0)
		contexts[0] = device->verbs;
	if (num_devices != NULL)
		*num_devices = error == 0 ? 1 : 0;
	return contexts;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
