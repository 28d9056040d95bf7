/* SPDX-License-Identifier: MIT */
/*
 * The objects behind the handles of <rnic/rnic_cm.h>.
 *
 * An identifier is in its context's table from the moment that its handle is known until its
 * destruction at the daemon. objects_lock guards the table, the event counts and where an
 * identifier reports. A thread that holds a channel's `taking` may take objects_lock, not the other
 * way round.
 */
#ifndef LIB_CLIENT_NATIVE_CM_RNIC_CM_OBJECTS_H
#define LIB_CLIENT_NATIVE_CM_RNIC_CM_OBJECTS_H

#include "lib/client/native/rnic_objects.h"
#include "proto/base/maxima.h"
#include "proto/ctl/ctl_cm.h"

#include <rnic/rnic_cm.h>

#include <sys/types.h>

struct rnic_cm_channel {
	struct rnic_context *context;
	struct rnic_handle handle;
	int fd;
	pthread_mutex_t taking; /* a request's identifier is known before its next event comes */
	uint32_t taken;		/* events taken, modulo 2^32; under `taking` */
	bool must_ask;		/* the daemon sends more events when it is asked; under `taking` */
	bool may_have_void;	/* void events may be behind one that is not; under `taking` */
	bool took_back;		/* the channel was readable for void events alone; likewise */
	bool has_waited;	/* a thread slept here: the program does not poll; likewise */
	unsigned references;	/* the owner's, and of threads that wait for events; objects_lock */
	bool is_destroyed;	/* its socket ends with it, not with the daemon; objects_lock */
	pid_t taker;		/* the thread that last asked for an event; 0: none; objects_lock */
	uint64_t waives_until_ns; /* until then rnic_cm_let_take() does nothing; objects_lock */
};

struct rnic_cm_id {
	struct rnic_context *context;
	struct rnic_cm_channel *channel; /* where it reports */
	struct rnic_handle handle;
	void *user;
	bool ends_by_call; /* see rnic_cm_end_by_call() */
	bool has_ended;	   /* at the daemon; its memory stays for the events that came before */
	struct rnic_event_count events;
	/* Under objects_lock. */
	uint32_t moves;			      /* to another channel */
	struct rnic_qp_attributes attributes; /* of the last event that told some */
	uint32_t attributes_mask;	      /* 0: ask the daemon */
	bool has_new_options; /* since the request for a connection: events tell old attributes */
};

/* Makes the identifier that `handle` names. -EIO: no sound daemon gives such a handle. -ENOMEM. */
int rnic_cm_adopt_id(struct rnic_cm_channel *channel, struct rnic_handle handle, void *user,
		     struct rnic_cm_id **id);

/* Under objects_lock. NULL when there is no such identifier, or no longer. */
struct rnic_cm_id *rnic_cm_find_id(const struct rnic_context *context, struct rnic_handle handle);

/* Takes the identifier from the table: events about the identifier are void from here on. */
void rnic_cm_leave_table(struct rnic_cm_id *id);

/* The channel's memory stays until it was released as often as held. */
void rnic_cm_channel_hold(struct rnic_cm_channel *channel);
void rnic_cm_channel_release(struct rnic_cm_channel *channel);

/*
 * Between both calls an identifier leaves the channel, and no thread takes an event, so that
 * channel->taken is the count for the daemon. The second call drops the events that have become
 * void: the channel must look empty if it is. The thread is not cancelled between both;
 * `cancellation` keeps its state. Not for a context that is lost, as after fork(): the lock may be
 * held for ever, and the events are the parent's.
 */
void rnic_cm_channel_stop(struct rnic_cm_channel *channel, int *cancellation);
void rnic_cm_channel_go_on(struct rnic_cm_channel *channel, int cancellation);

/*
 * Under `taking`. Finds the identifier of the channel's first event; NULL: the event is void.
 * -EAGAIN: no event.
 */
int rnic_cm_channel_find_first(struct rnic_cm_channel *channel, struct rnic_cm_id **reporting);

/* Destroys an identifier at the daemon, under `taking` of its channel. */
int rnic_cm_destroy_handle(struct rnic_cm_channel *channel, struct rnic_handle handle);

#endif
