/* SPDX-License-Identifier: MIT */
/* The threshold of bulk traffic: above the rate of a ping-pong of small messages. */
#ifndef DAEMON_DEVICE_DEVICE_LIMITS_H
#define DAEMON_DEVICE_DEVICE_LIMITS_H

enum {
	LIMIT_BULK_BYTES = 1 << 18,    /* payload in both directions, within LIMIT_BULK_NS */
	LIMIT_BULK_PACKET_BYTES = 256, /* the cost of a packet besides its payload */
	LIMIT_BULK_NS = 1000000,
};

#endif
