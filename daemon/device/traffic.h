/* SPDX-License-Identifier: MIT */
/*
 * Decides whether traffic is bulk. Clients that wait behind bulk traffic should yield their
 * processor; clients that exchange small messages should not. So the measure is the bytes moved
 * within the last millisecond, in both directions and with a cost for each packet, and not how busy
 * the loop is.
 */
#ifndef DAEMON_DEVICE_TRAFFIC_H
#define DAEMON_DEVICE_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

/* The caller starts it as zero. */
struct traffic {
	uint64_t since_ns; /* start of the current count */
	uint64_t since_bytes;
	bool is_bulk;
};

/*
 * Notes that by `now_ns` the device has moved `moved_bytes` of payload in total; the total only
 * grows. Returns whether that is bulk: traffic becomes bulk as soon as there were enough bytes
 * within a millisecond, and stops being bulk when a millisecond has passed with fewer.
 */
bool traffic_note(struct traffic *traffic, uint64_t moved_bytes, uint64_t now_ns);

#endif
