/* SPDX-License-Identifier: MIT */
/*
 * The process's devices. The list holds those that are open. A search asks all daemons, and one of
 * them may be slow or stopped. A thread whose devices are in the list does not wait for a search.
 */
#include "lib/dropin/rdmacm/rdma_objects.h"
#include "lib/wait/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * After a search, the next one for a device that may be back waits so many times as long as that
 * one took: a daemon that hangs costs a program that has other devices a tenth of its time at most.
 */
#define SEARCH_REST 9

static pthread_mutex_t search_lock = PTHREAD_MUTEX_INITIALIZER;	      /* throughout a search */
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;	      /* guards what follows */
static struct rnic_cma_device *current_devices[RNIC_CMA_DEVICES_MAX]; /* by index */
static uint32_t current_count;
static uint32_t most_count;    /* that there were at a time: fewer may come back */
static uint64_t searches;      /* that were begun */
static uint64_t rest_until_ns; /* no search for a device that may be back before then */

/*
 * A child of fork() opens devices of its own. Another thread of the parent may have held the locks.
 */
static void rdmacm_devices_forget(void)
{
	pthread_mutex_init(&search_lock, NULL);
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

/*
 * Under device_lock. A device that died stays as it is: the program may still hold objects that it
 * made there.
 */
static void leave_out_dead(void)
{
	uint32_t alive = 0;

	for (uint32_t i = 0; i < current_count; i++)
		if (rnic_native.context_check(current_devices[i]->native) == 0)
			current_devices[alive++] = current_devices[i];
	current_count = alive;
}

/*
 * Whether both are one device. Two daemons may have one GUID, and a device that came back is where
 * another one was.
 */
static bool rdmacm_devices_is_same(struct ibv_device *one, struct ibv_device *other)
{
	return ibv_get_device_index(one) == ibv_get_device_index(other) &&
	       ibv_get_device_guid(one) == ibv_get_device_guid(other);
}

static bool rdmacm_devices_has(struct ibv_device *listed)
{
	bool has = false;

	pthread_mutex_lock(&device_lock);
	for (uint32_t i = 0; i < current_count; i++)
		has = has || rdmacm_devices_is_same(current_devices[i]->verbs->device, listed);
	has = has || current_count == RNIC_CMA_DEVICES_MAX;
	pthread_mutex_unlock(&device_lock);
	return has;
}

static void rdmacm_devices_insert(struct rnic_cma_device *opened)
{
	const int index = ibv_get_device_index(opened->verbs->device);
	uint32_t place = 0;

	pthread_mutex_lock(&device_lock);
	while (place < current_count &&
	       ibv_get_device_index(current_devices[place]->verbs->device) < index)
		place++;
	memmove(&current_devices[place + 1], &current_devices[place],
		(current_count - place) * sizeof(current_devices[0]));
	current_devices[place] = opened;
	current_count++;
	if (current_count > most_count)
		most_count = current_count;
	pthread_mutex_unlock(&device_lock);
}

/* Under search_lock, and so alone. */
static int open_new(struct ibv_device *listed)
{
	struct rnic_cma_device *opened = NULL;
	int error;

	if (rdmacm_devices_has(listed))
		return 0;
	error = rdmacm_devices_open_device(listed, &opened);
	if (error == 0)
		rdmacm_devices_insert(opened);
	return error;
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
	return error;
}

/* Under search_lock. */
static int search_and_rest(void)
{
	const uint64_t begun_ns = clock_now_ns();
	const int error = look_for_new();
	const uint64_t ended_ns = clock_now_ns();

	pthread_mutex_lock(&device_lock);
	rest_until_ns = ended_ns + SEARCH_REST * (ended_ns - begun_ns);
	pthread_mutex_unlock(&device_lock);
	return error;
}

/* Searches, unless another thread has begun a search after `begun` of them and ended it. */
static int search_devices(uint64_t begun)
{
	bool must_search;
	int error = 0;

	pthread_mutex_lock(&search_lock);
	pthread_mutex_lock(&device_lock);
	must_search = searches == begun;
	searches += must_search;
	pthread_mutex_unlock(&device_lock);
	if (must_search)
		error = search_and_rest();
	pthread_mutex_unlock(&search_lock);
	return error;
}

/* Returns whether to search for more: there are none, or one that was lost may be back. */
static bool copy_devices(struct rnic_cma_device *devices[RNIC_CMA_DEVICES_MAX], uint32_t *count,
			 uint64_t *begun)
{
	bool may_be_more;

	pthread_mutex_lock(&device_lock);
	leave_out_dead();
	memcpy(devices, current_devices, current_count * sizeof(current_devices[0]));
	*count = current_count;
	*begun = searches;
	may_be_more = current_count == 0 ||
		      (current_count < most_count && clock_now_ns() >= rest_until_ns);
	pthread_mutex_unlock(&device_lock);
	return may_be_more;
}

static int find_devices(bool must_search, struct rnic_cma_device *devices[RNIC_CMA_DEVICES_MAX],
			uint32_t *count)
{
	uint64_t begun;
	int error = check_native();

	if (error != 0)
		return error;
	rnic_native.fork_list_add(&fork_entry);
	if (copy_devices(devices, count, &begun) || must_search) {
		error = search_devices(begun);
		copy_devices(devices, count, &begun);
	}
	if (*count > 0)
		return 0;
	return error != 0 ? error : -ENODEV;
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
