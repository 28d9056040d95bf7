/* SPDX-License-Identifier: MIT */
#include "rdmacm/rdma_objects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_cma_device *current_devices[RNIC_CMA_DEVICES_MAX]; /* by index */
static uint32_t current_count;
static uint32_t most_count; /* that there were at a time: fewer may come back */

/*
 * A child of fork() opens devices of its own. Another thread of the parent may have held the lock.
 */
static void rdmacm_devices_forget(void)
{
	pthread_mutex_init(&device_lock, NULL);
	current_count = 0;
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

static int rdmacm_devices_open_device(struct ibv_device *listed, struct rnic_cma_device **opened)
{
	struct rnic_cma_device *device = calloc(1, sizeof(*device));
	int error;

	if (device == NULL)
		return -ENOMEM;
	device->verbs = ibv_open_device(listed);
	if (device->verbs == NULL) {
		error = -errno;
		goto free_device;
	}
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

/* A device that died stays as it is: the program may still hold objects that it made there. */
static void leave_out_dead(void)
{
	uint32_t alive = 0;

	for (uint32_t i = 0; i < current_count; i++)
		if (rdmacm_devices_is_alive(current_devices[i]))
			current_devices[alive++] = current_devices[i];
	current_count = alive;
}

static bool rdmacm_devices_has(struct ibv_device *listed)
{
	for (uint32_t i = 0; i < current_count; i++)
		if (ibv_get_device_guid(current_devices[i]->verbs->device) ==
		    ibv_get_device_guid(listed))
			return true;
	return false;
}

static uint32_t rdmacm_devices_place(struct ibv_device *listed)
{
	uint32_t place = 0;

	while (place < current_count &&
	       ibv_get_device_index(current_devices[place]->verbs->device) <
		       ibv_get_device_index(listed))
		place++;
	return place;
}

static int open_new(struct ibv_device *listed)
{
	const uint32_t place = rdmacm_devices_place(listed);
	struct rnic_cma_device *opened = NULL;
	int error;

	if (rdmacm_devices_has(listed) || current_count == RNIC_CMA_DEVICES_MAX)
		return 0;
	error = rdmacm_devices_open_device(listed, &opened);
	if (error != 0)
		return error;
	memmove(&current_devices[place + 1], &current_devices[place],
		(current_count - place) * sizeof(current_devices[0]));
	current_devices[place] = opened;
	current_count++;
	return 0;
}

/* A device that cannot be opened leaves the others. Its error counts when it is the only one. */
static int look_for_new(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	int error = -ENODEV;

	if (devices == NULL)
		return -errno;
	for (struct ibv_device **device = devices; *device != NULL; device++)
		error = open_new(*device);
	ibv_free_device_list(devices);
	if (current_count > most_count)
		most_count = current_count;
	return current_count > 0 ? 0 : error;
}

static int find_devices(bool must_look, struct rnic_cma_device *devices[RNIC_CMA_DEVICES_MAX],
			uint32_t *count)
{
	int error = check_native();

	if (error != 0)
		return error;
	rnic_native.fork_list_add(&fork_entry);
	pthread_mutex_lock(&device_lock);
	leave_out_dead();
	if (must_look || current_count == 0 || current_count < most_count)
		error = look_for_new();
	if (error == 0) {
		memcpy(devices, current_devices, current_count * sizeof(current_devices[0]));
		*count = current_count;
	}
	pthread_mutex_unlock(&device_lock);
	return error;
}

int rnic_cma_devices_get(struct rnic_cma_device *devices[RNIC_CMA_DEVICES_MAX], uint32_t *count)
{
	return find_devices(false, devices, count);
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
	struct ibv_context **contexts = calloc(RNIC_CMA_DEVICES_MAX + 1, sizeof(*contexts));
	struct rnic_cma_device *devices[RNIC_CMA_DEVICES_MAX];
	uint32_t count = 0;

	if (contexts == NULL)
		return NULL;
	if (find_devices(true, devices, &count) == 0)
		for (uint32_t i = 0; i < count; i++)
			contexts[i] = devices[i]->verbs;
	if (num_devices != NULL)
		*num_devices = (int)count;
	return contexts;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
