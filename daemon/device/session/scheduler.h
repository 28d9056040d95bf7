/* SPDX-License-Identifier: MIT */
/*
 * The scheduler of a device: one first-in, first-out queue for each kind of work. A turn costs as
 * much as there is work, however many clients there are. A session, queue pair or completion queue
 * that waits has one node for each kind.
 *
 * A batch bounds a turn: it holds the nodes that waited when the batch began. A node that is added
 * meanwhile waits for the next batch.
 */
#ifndef DAEMON_DEVICE_SESSION_SCHEDULER_H
#define DAEMON_DEVICE_SESSION_SCHEDULER_H

#include "lib/nic/base/list.h"

#include <stdbool.h>

enum wait_kind {
	WAIT_DOORBELL_LOOK, /* struct session: the client may ring without waking the daemon */
	WAIT_SEND_FETCH,    /* struct session_qp: the ring may hold send WQEs */
	WAIT_REVIEW,	  /* struct session_qp: may be in ERR, or the peer waits for receive WQEs */
	WAIT_CQ_NOTICE,	  /* struct session_cq: has CQEs to publish, or to raise an event for */
	WAIT_POLLER_WAKE, /* struct session: has new CQEs that a sleeping poller does not know of */
	WAIT_EVENT_WRITE, /* struct session: has asynchronous events to write into the pipe */
	WAIT_KIND_COUNT,
};

struct scheduler {
	struct list queues[WAIT_KIND_COUNT];
};

struct wait_batch {
	struct list nodes;
};

void scheduler_init(struct scheduler *scheduler);

/* Returns whether no node waits. */
bool scheduler_is_empty(const struct scheduler *scheduler);

/* Puts `node` at the end of the queue. Returns false when the node waits already. */
static inline bool scheduler_add(struct scheduler *scheduler, enum wait_kind kind,
				 struct list *node)
{
	if (list_is_linked(node))
		return false;
	list_add_tail(&scheduler->queues[kind], node);
	return true;
}

/* Takes the node out of its queue or batch, if the node waits. */
static inline void scheduler_remove(struct list *node)
{
	list_remove(node);
}

static inline bool scheduler_has(const struct scheduler *scheduler, enum wait_kind kind)
{
	return !list_is_empty(&scheduler->queues[kind]);
}

/* Moves all waiting nodes of `kind` into the batch. */
void scheduler_begin(struct scheduler *scheduler, enum wait_kind kind, struct wait_batch *batch);

/* Removes and returns the oldest node of the batch; NULL: the batch is empty. */
static inline struct list *scheduler_next(struct wait_batch *batch)
{
	struct list *node = batch->nodes.next;

	if (list_is_empty(&batch->nodes))
		return NULL;
	list_remove(node);
	return node;
}

/* Puts the rest of the batch at the front of the queue. */
void scheduler_end(struct scheduler *scheduler, enum wait_kind kind, struct wait_batch *batch);

/* Visits all waiting nodes without change. */
#define scheduler_for_each(node, scheduler, kind) list_for_each (node, &(scheduler)->queues[kind])

#endif
