/* SPDX-License-Identifier: MIT */
/*
 * The objects behind the handles of <rnic/rnic_cm.h>.
 *
 * An identifier is in its context's table from the moment that its handle is known until its
 * destruction at the daemon. objects_lock guards the table and the event counts. A thread that
 * holds a channel's `fetching` may take objects_lock, not the other way round.
 */
#ifndef LIB_NATIVE_RNIC_CM_OBJECTS_H
#define LIB_NATIVE_RNIC_CM_OBJECTS_H

#include "base/maxima.h"
#include "ctl/ctl_cm.h"
#include "native/rnic_objects.h"

#include <rnic/rnic_cm.h>

struct rnic_cm_channel {
	struct rnic_context *context;
	struct rnic_handle handle;
	int fd;
	pthread_mutex_t fetching; /* a request's identifier is known before its next event comes */
	unsigned references; /* the owner's, and of threads that wait for events; objects_lock */
	bool is_destroyed;   /* its pipe ends with it, not with the daemon; objects_lock */
};

struct rnic_cm_id {
	struct rnic_context *context;
	struct rnic_cm_channel *channel; /* where it reports */
	struct rnic_handle handle;
	void *user;
	struct rnic_event_count events;
};

/* Makes the identifier that `handle` names. -EIO: no sound daemon gives such a handle. -ENOMEM. */
int rnic_cm_adopt_id(struct rnic_cm_channel *channel, struct rnic_handle handle, void *user,
		     struct rnic_cm_id **id);

/* The channel's memory stays until it was released as often as held. */
void rnic_cm_channel_hold(struct rnic_cm_channel *channel);
void rnic_cm_channel_release(struct rnic_cm_channel *channel);

/* For a held channel whose events were dropped or moved: makes it look empty if it is. */
void rnic_cm_channel_settle(struct rnic_cm_channel *channel);

#endif
