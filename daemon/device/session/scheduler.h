/* SPDX-License-Identifier: MIT */
/*
 * What has something to do, and for whom: one queue for each kind of work, first come, first
 * served. A turn costs as much as there is to do, not as there are clients. Each kind has a node of
 * its own in the session, queue pair or completion queue that waits.
 *
 * A batch bounds a turn: it holds what waited when the batch began, and what comes to wait
 * meanwhile is for the next one.
 */
#ifndef DAEMON_DEVICE_SESSION_SCHEDULER_H
#define DAEMON_DEVICE_SESSION_SCHEDULER_H

#include "base/list.h"

#include <stdbool.h>

enum wait_kind {
	WAIT_DOORBELL_LOOK, /* struct session: the client may ring without waking the daemon */
	WAIT_SEND_FETCH,    /* struct session_qp: the ring may hold send entries */
	WAIT_REVIEW,	    /* struct session_qp: it may have gone to ERR, or the peer waits */
	WAIT_CQ_NOTICE,	    /* struct session_cq: it was written to, and may be armed */
	WAIT_POLLER_WAKE,   /* struct session: completions that a sleeping poller does not know */
	WAIT_EVENT_WRITE,   /* struct session: asynchronous events to write into the pipe */
	WAIT_KIND_COUNT,
};

struct scheduler {
	struct list queues[WAIT_KIND_COUNT];
};

struct wait_batch {
	struct list nodes;
};

void scheduler_init(struct scheduler *scheduler);

/* Whether nothing waits at all. */
bool scheduler_is_empty(const struct scheduler *scheduler);

/* Puts `node` at the end of the queue; false: the node waits already. */
static inline bool scheduler_add(struct scheduler *scheduler, enum wait_kind kind,
				 struct list *node)
{
	if (list_is_linked(node))
		return false;
	list_add_tail(&scheduler->queues[kind], node);
	return true;
}

/* The node waits no longer, if it did; also when it is in a batch. */
static inline void scheduler_remove(struct list *node)
{
	list_remove(node);
}

static inline bool scheduler_has(const struct scheduler *scheduler, enum wait_kind kind)
{
	return !list_is_empty(&scheduler->queues[kind]);
}

/* Takes all that waits. */
void scheduler_begin(struct scheduler *scheduler, enum wait_kind kind, struct wait_batch *batch);

/* The oldest node of the batch, which waits no longer; NULL: there is none. */
static inline struct list *scheduler_next(struct wait_batch *batch)
{
	struct list *node = batch->nodes.next;

	if (list_is_empty(&batch->nodes))
		return NULL;
	list_remove(node);
	return node;
}

/* What is left of the batch comes first next time. */
void scheduler_end(struct scheduler *scheduler, enum wait_kind kind, struct wait_batch *batch);

/* Looks at all that waits, without change. */
#define scheduler_for_each(node, scheduler, kind) list_for_each (node, &(scheduler)->queues[kind])

#endif
