/* SPDX-License-Identifier: MIT */
/*
 * The path view of a device, in the file system: SOCKET.view, for who opens the socket to read.
 *
 * Counters are plain files that are written in place, so a program may also keep one open and read
 * it again. They are written at most every VIEW_PERIOD_NS while something happens, never while
 * nothing does, and at once when a client has gone: a reader sees what was at most that long ago,
 * and all of what a program did that has ended. Writing on demand was not an option: a plain file
 * tells nobody that it is read, a FIFO is none to programs that look at its type, and what a shim
 * could ask for a static program could not. What it costs is one system call a period for each
 * counter that changed, 2.4 us on a disk's file system. sysfs has the same cache, and says its
 * period in `lifespan`; so does this.
 *
 * A number that is read at the moment in which it is written may have digits of both values.
 */
#ifndef DAEMON_VIEW_DEVICE_VIEW_H
#define DAEMON_VIEW_DEVICE_VIEW_H

#include "view/view_content.h"
#include "view/view_tree.h"

#include <stdbool.h>

#define VIEW_PERIOD_NS	  UINT64_C(250000000)
#define VIEW_COUNTERS_MAX 128

enum view_counter_folder { VIEW_COUNTERS, VIEW_HW_COUNTERS, VIEW_COUNTER_FOLDERS };

struct view_counter {
	const char *name; /* static */
	uint64_t value;
};

struct view_config {
	const char *socket_path;
	struct view_facts facts; /* what it points to outlives the view */
	/* The counter numbered `index` of a folder; false when there are no more. */
	bool (*counter)(const void *context, enum view_counter_folder folder, uint32_t index,
			struct view_counter *counter);
	const void *context;
};

struct device_view {
	struct view_config config;
	struct view_tree tree;
	uint64_t due_ns; /* when counters are to be written; UINT64_MAX: nothing has happened */
	uint32_t counter_count;
	struct {
		uint64_t written;
		uint32_t length;
		int fd;
	} counters[VIEW_COUNTERS_MAX];
};

/* Writes it all. Negative errno with a sentence in `reason`; nothing is left then. */
int device_view_open(struct device_view *view, const struct view_config *config,
		     char reason[VIEW_TREE_REASON_BYTES]);

/* Removes it all. */
void device_view_close(struct device_view *view);

/*
 * Writes anew what the facts have changed of it, so that programs that are told of the change find
 * it done. Negative errno: the view is out of date then.
 */
int device_view_follow(struct device_view *view);

/* Something happened that may have changed counters: they become due within the period. */
static inline void device_view_note(struct device_view *view, uint64_t now_ns)
{
	if (view->due_ns == UINT64_MAX)
		view->due_ns = now_ns + VIEW_PERIOD_NS;
}

/* The same, for somebody who is likely to look now. */
static inline void device_view_hasten(struct device_view *view, uint64_t now_ns)
{
	view->due_ns = now_ns;
}

/* Counters that are due are written: all whose value has changed. */
void device_view_refresh(struct device_view *view, uint64_t now_ns);

#endif
