/* SPDX-License-Identifier: MIT */
/*
 * The content of the path view of a device: the files, links and directories that the kernel shows
 * of an RNIC, with the kernel's own wording (Documentation/ABI/stable/sysfs-class-infiniband).
 * Pure: from facts to paths and texts. device_view.h writes the counters.
 */
#ifndef DAEMON_CONTROL_VIEW_VIEW_CONTENT_H
#define DAEMON_CONTROL_VIEW_VIEW_CONTENT_H

#include "daemon/control/view/pci_shape.h"
#include "proto/ctl/ctl_message.h"

struct view_facts {
	const struct rnic_device_attributes *device;
	const struct rnic_ctl_port_reply *port;
	const struct rnic_ctl_gids_reply *gids;
	const struct rnic_ctl_pkeys_reply *pkeys;
	const struct pci_shape *pci; /* NULL: the shape of a device without a bus */
};

enum view_entry {
	VIEW_DIRECTORY, /* `text` is NULL; comes before its content */
	VIEW_TEXT,
	VIEW_LINK,   /* `text` is the target */
	VIEW_ABSENT, /* a file that exists only with other facts; `text` is NULL */
};

/* `path` is relative to the view's directory. A result other than 0 ends the listing. */
typedef int view_visit(void *context, enum view_entry entry, const char *path, const char *text);

/* Calls `visit` for each entry; returns 0 or the result of `visit` that ended the listing. */
int view_content(const struct view_facts *facts, view_visit *visit, void *context);

/* The directory of the port's counters, `folder` being "counters" or "hw_counters". */
#define VIEW_COUNTER_PATH_BYTES 192
void view_counter_path(const struct view_facts *facts, const char *folder, const char *name,
		       char path[VIEW_COUNTER_PATH_BYTES]);

#endif
