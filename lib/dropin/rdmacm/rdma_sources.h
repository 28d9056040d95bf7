/* SPDX-License-Identifier: MIT */
/*
 * The sources of a channel: what each of the process's devices tells it. A channel has those of
 * the devices that were there when it was made, in the order of the list of devices.
 *
 * Of one device, the source is open as long as the channel. Of several, it opens when the first
 * identifier comes to its device: a daemon that does not answer then keeps only those waiting who
 * want its device. A source that is not open tells of the loss of its device alone.
 */
#ifndef LIB_DROPIN_RDMACM_RDMA_SOURCES_H
#define LIB_DROPIN_RDMACM_RDMA_SOURCES_H

#include "lib/dropin/rdmacm/rdma_objects.h"

struct rnic_cma_source {
	struct rnic_cma_device *device;
	pthread_mutex_t opening;
	_Atomic(struct rnic_cm_channel *) native; /* NULL: not open */
	atomic_bool is_drained;			  /* lost, and all identifiers were told */
	bool is_lost;				  /* under the channel's lock */
};

/* Makes the channel's sources and its descriptor. -ENODEV: there is no device. Other errors. */
int rnic_cma_sources_open(struct rnic_cma_channel *channel);

/* Frees the sources. No thread waits there, and no identifier reports there. */
void rnic_cma_sources_close(struct rnic_cma_channel *channel);

/* Opens the source, if it is not open. Errors of rnic_cm_create_channel(), or of epoll_ctl(). */
int rnic_cma_source_open(const struct rnic_cma_channel *channel, struct rnic_cma_source *source);

/* NULL: the device came after the channel. */
struct rnic_cma_source *rnic_cma_source_of(struct rnic_cma_channel *channel,
					   const struct rnic_cma_device *device);

/*
 * Takes the next event, of *source; waits unless the program has made the descriptor non-blocking.
 * An error of rnic_cma_is_loss(): *source is lost. -EAGAIN, -EINTR.
 */
int rnic_cma_sources_take(struct rnic_cma_channel *channel, struct rnic_cm_event *event,
			  struct rnic_cma_source **source);

/* Nothing more comes from a lost source. False: nor from any other one. */
bool rnic_cma_source_leave(struct rnic_cma_channel *channel, struct rnic_cma_source *source);

#endif
