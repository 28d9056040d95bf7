/* SPDX-License-Identifier: MIT */
/*
 * All counters of a device, under the names that listings and the path view show: the counters of
 * all device processes and of lane 0, then the counters of the connection manager, then the
 * counters of --fault.
 */
#ifndef DAEMON_CONTROL_SERVER_CONTROL_COUNTERS_H
#define DAEMON_CONTROL_SERVER_CONTROL_COUNTERS_H

#include "daemon/control/view/device_view.h"
#include "proto/ctl/ctl_message.h"

struct client_set;

/* Stores the counter numbered `index`, for SHOW. Returns false when there are no more. */
bool control_counters_show(const struct client_set *set, uint32_t index,
			   struct rnic_show_counter *counter);

/*
 * Stores a counter for the path view; `context` is the struct client_set. VIEW_HW_COUNTERS are the
 * counters above without the counters of --fault, and then the aliases of counter_aliases.h.
 * VIEW_COUNTERS are the counters of a port (IBTA 1.4, 16.1.3.5), without the ones that the device
 * does not count.
 */
bool control_counters_view(const void *context, enum view_counter_folder folder, uint32_t index,
			   struct view_counter *counter);

#endif
