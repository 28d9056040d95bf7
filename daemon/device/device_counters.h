/* SPDX-License-Identifier: MIT */
/*
 * All that a device counts, under the names by which listings and the path view show it. The
 * numbers belong to engine, ports and loop; this only knows where they are.
 */
#ifndef DAEMON_DEVICE_COUNTERS_H
#define DAEMON_DEVICE_COUNTERS_H

#include "ctl/ctl_message.h"
#include "view/device_view.h"

/* The counter numbered `index` of the struct device `context`, for SHOW; false when there are no
 * more. Those of --fault come last. */
bool device_counters_show(void *context, uint32_t index, struct rnic_show_counter *counter);

/*
 * The same for the path view: VIEW_HW_COUNTERS are those above without those of --fault,
 * VIEW_COUNTERS those of a port (IBTA 1.4, 16.1.3.5), of which those are left out that nobody
 * counts here.
 */
bool device_counters_view(const void *context, enum view_counter_folder folder, uint32_t index,
			  struct view_counter *counter);

#endif
