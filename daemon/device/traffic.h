/* SPDX-License-Identifier: MIT */
/*
 * Whether much data goes through the device. Clients that wait behind bulk traffic had better give
 * their processor away, and those that exchange small messages had better not: so it is told by the
 * bytes that moved within the last millisecond, whichever way and packets counting as some, and not
 * by how busy the loop is.
 */
#ifndef DAEMON_DEVICE_TRAFFIC_H
#define DAEMON_DEVICE_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

/* Zero at first. */
struct traffic {
	uint64_t since_ns; /* when the count under way began */
	uint64_t since_bytes;
	bool is_bulk;
};

/*
 * Notes that at `now_ns` the device has moved `moved_bytes` of payload altogether, which only grow.
 * Returns whether that is bulk: at once when there were enough within a millisecond, and no longer
 * when one has passed with less.
 */
bool traffic_note(struct traffic *traffic, uint64_t moved_bytes, uint64_t now_ns);

#endif
