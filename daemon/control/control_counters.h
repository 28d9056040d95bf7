/* SPDX-License-Identifier: MIT */
/*
 * All that a device counts, under the names by which listings and the path view show it: the
 * counters of the device half, then those of the connection manager, then those of --fault.
 */
#ifndef DAEMON_CONTROL_CONTROL_COUNTERS_H
#define DAEMON_CONTROL_CONTROL_COUNTERS_H

#include "ctl/ctl_message.h"
#include "view/device_view.h"

struct client_set;

/* The counter numbered `index`, for SHOW; false when there are no more. */
bool control_counters_show(const struct client_set *set, uint32_t index,
			   struct rnic_show_counter *counter);

/*
 * The same for the path view, whose context is the struct client_set: VIEW_HW_COUNTERS are those
 * above without those of --fault, VIEW_COUNTERS those of a port (IBTA 1.4, 16.1.3.5), of which
 * those are left out that nobody counts here.
 */
bool control_counters_view(const void *context, enum view_counter_folder folder, uint32_t index,
			   struct view_counter *counter);

#endif
