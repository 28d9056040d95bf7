/* SPDX-License-Identifier: MIT */
/*
 * The daemon's end of a pipe on which a client reads event records: a completion channel, or the
 * asynchronous events of a session.
 *
 * No event is lost, and memory is bounded whatever the client does: each object that raises events
 * has one source, which keeps a bit for each type that is still to be written. An event raised
 * again before the client took the first one is the same event. Writing never blocks.
 */
#ifndef DAEMON_COMMON_EVENT_PIPE_H
#define DAEMON_COMMON_EVENT_PIPE_H

#include "base/list.h"
#include "shm/region.h"

#include <stdbool.h>
#include <stdint.h>

struct event_pipe {
	int write_fd;	     /* -1: not open */
	bool is_full;	     /* the last write was refused: wait until it is writable */
	struct list waiting; /* struct event_source with something to write */
};

struct event_source {
	struct list node; /* of event_pipe.waiting */
	uint32_t pending_types;
	uint32_t slot;
	uint32_t generation;
};

/* Opens the pipe; the client's end is stored at `read_fd`, the caller's to pass on and close.
 * Negative errno: -EMFILE, -ENFILE. */
int event_pipe_open(struct event_pipe *pipe, int *read_fd);

/* Closes it; sources must have been forgotten (asserted). Nothing happens when it is not open. */
void event_pipe_close(struct event_pipe *pipe);

/* Notes that `source` has an event of `type` (below 32) to write; written by event_pipe_flush(). */
void event_pipe_raise(struct event_pipe *pipe, struct event_source *source, uint32_t type);

/*
 * Writes what is noted until the pipe is full. Returns true when all is written (or the client
 * closed its end, which drops them), false when the rest waits for the pipe to become writable.
 */
bool event_pipe_flush(struct event_pipe *pipe);

/* The object of `source` is about to go: its events are no longer of interest. */
void event_source_forget(struct event_source *source);

#endif
