/* SPDX-License-Identifier: MIT */
/*
 * The daemon's end of a pipe on which a client reads event records: a completion channel, or the
 * asynchronous events of a session.
 *
 * No event is lost, and memory is bounded whatever the client does. Each object that raises events
 * has one source with a bit for each type that is still to be written. An event that is raised
 * again before its record is written gives one record. Writing never blocks.
 */
#ifndef DAEMON_SHARED_BASE_EVENT_PIPE_H
#define DAEMON_SHARED_BASE_EVENT_PIPE_H

#include "lib/nic/base/list.h"
#include "proto/shm/region.h"

#include <stdbool.h>
#include <stdint.h>

struct event_pipe {
	int write_fd;	     /* -1: not open */
	bool is_full;	     /* the pipe refused the last write: wait until it is writable */
	struct list waiting; /* struct event_source.node, with something to write */
};

struct event_source {
	struct list node; /* of event_pipe.waiting */
	uint32_t pending_types;
	uint32_t slot;
	uint32_t generation;
};

/*
 * Opens the pipe and stores the client's end at `read_fd`. The caller passes that end on and closes
 * it. Negative errno: -EMFILE, -ENFILE.
 */
int event_pipe_open(struct event_pipe *pipe, int *read_fd);

/*
 * Closes the pipe, after its sources were forgotten (asserted). Does nothing when the pipe is not
 * open.
 */
void event_pipe_close(struct event_pipe *pipe);

/* Notes an event of `type` (below 32) of `source`; event_pipe_flush() writes it. */
void event_pipe_raise(struct event_pipe *pipe, struct event_source *source, uint32_t type);

/*
 * Writes noted events until the pipe is full. True: all events are written, or the client closed
 * its end and the events are dropped. False: the rest waits until the pipe is writable.
 */
bool event_pipe_flush(struct event_pipe *pipe);

/* Drops the events of `source`: its object is about to go. */
void event_source_forget(struct event_source *source);

#endif
