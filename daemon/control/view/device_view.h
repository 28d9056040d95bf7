/* SPDX-License-Identifier: MIT */
/*
 * The path view of a device, in the file system: SOCKET.view, readable for those whom the device
 * serves and who may open the socket.
 *
 * Counters are plain files that the daemon writes in place, so a program may also keep one open and
 * read it again. The daemon writes them at most every VIEW_PERIOD_NS while something happens, never
 * while nothing does, and at once when a client has gone, or within VIEW_HASTE_NS where many go in
 * a row: a reader sees a state that is at most that old, and all effects of a program that has
 * ended. Writing on demand is impossible: a plain file reports no reads, programs that check its
 * type refuse a FIFO, and a static program cannot ask as a shim could. The cost is one system call
 * a period for each changed counter, 2.4 us on a disk's file system. sysfs has the same cache, with
 * its period in `lifespan`; so has the view.
 *
 * Whoever may read a file or its directory may also watch it (inotify, and F_NOTIFY as often as
 * there are descriptors), and the kernel tells each watch of each write, in the time of whoever
 * writes. So the daemon stores numbers in a mapping of the file, of which no watch hears. Only a
 * number that changes its length needs a write. What such writes cost is bounded: after
 * VIEW_WRITES_NS in a row, further ones wait, so that the view has one part in VIEW_WRITES_PARTS of
 * the control plane's time. Meanwhile such a counter keeps the number of before.
 *
 * A number that is read in the moment of its writing may have digits of both values.
 */
#ifndef DAEMON_CONTROL_VIEW_DEVICE_VIEW_H
#define DAEMON_CONTROL_VIEW_DEVICE_VIEW_H

#include "daemon/control/view/view_content.h"
#include "daemon/control/view/view_tree.h"

#include <stdbool.h>

#define VIEW_PERIOD_NS	  UINT64_C(250000000)
#define VIEW_HASTE_NS	  UINT64_C(25000000)
#define VIEW_HASTE_BURST  8
#define VIEW_COUNTERS_MAX 128
#define VIEW_WRITES_NS	  UINT64_C(1000000)
#define VIEW_WRITES_PARTS 32

enum view_counter_folder { VIEW_COUNTERS, VIEW_HW_COUNTERS, VIEW_COUNTER_FOLDERS };

struct view_counter {
	const char *name; /* static */
	uint64_t value;
};

struct view_config {
	const char *socket_path;
	mode_t mode;		 /* of the view's directory: who may read the view */
	struct view_facts facts; /* its pointers must stay valid longer than the view */
	/* The counter numbered `index` of a folder; false when there are no more. */
	bool (*counter)(const void *context, enum view_counter_folder folder, uint32_t index,
			struct view_counter *counter);
	const void *context;
};

struct device_view {
	struct view_config config;
	struct view_tree tree;
	uint64_t due_ns; /* the time of the next write of counters; UINT64_MAX: nothing has happened
			  */
	uint64_t paid_ns;	 /* when each write of before has had its turn of VIEW_HASTE_NS */
	uint64_t writes_due_ns;	 /* no write until then: watches made earlier ones long */
	uint64_t writes_cost_ns; /* of the writes since writes_due_ns */
	uint32_t counter_count;
	struct {
		uint64_t written;
		uint32_t length;
		int fd;
		void *mapped; /* the file's bytes; NULL: the file system maps none */
	} counters[VIEW_COUNTERS_MAX];
};

/* Writes the view. Negative errno with a sentence in `reason`; no file is left then. */
int device_view_open(struct device_view *view, const struct view_config *config,
		     char reason[VIEW_TREE_REASON_BYTES]);

/* Removes the view. */
void device_view_close(struct device_view *view);

/*
 * Writes the files that changed facts affect, before programs learn of the change. Negative errno:
 * the view is out of date then.
 */
int device_view_follow(struct device_view *view);

/* Notes an event that may have changed counters: they become due within the period. */
static inline void device_view_note(struct device_view *view, uint64_t now_ns)
{
	if (view->due_ns == UINT64_MAX)
		view->due_ns = now_ns + VIEW_PERIOD_NS;
}

/*
 * Notes an event after which a program is likely to look at once. The counters become due at once;
 * after VIEW_HASTE_BURST such events in a row, only every VIEW_HASTE_NS: a user whose programs end
 * without pause must not keep the control plane at reading counters.
 */
static inline void device_view_hasten(struct device_view *view, uint64_t now_ns)
{
	const uint64_t waits_ns = VIEW_HASTE_BURST * VIEW_HASTE_NS;
	const uint64_t turn_ns = view->paid_ns > waits_ns ? view->paid_ns - waits_ns : 0;
	const uint64_t soon_ns = now_ns > turn_ns ? now_ns : turn_ns;

	if (view->due_ns > soon_ns)
		view->due_ns = soon_ns;
}

/* Writes all due counters whose value has changed. */
void device_view_refresh(struct device_view *view, uint64_t now_ns);

#endif
