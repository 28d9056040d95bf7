/* SPDX-License-Identifier: MIT */
/* What traffic is called bulk: above what a ping-pong of small messages reaches. */
#ifndef DAEMON_DEVICE_DEVICE_LIMITS_H
#define DAEMON_DEVICE_DEVICE_LIMITS_H

enum {
	LIMIT_BULK_BYTES = 1 << 18,    /* payload, both ways, within LIMIT_BULK_NS */
	LIMIT_BULK_PACKET_BYTES = 256, /* what a packet counts beside its payload */
	LIMIT_BULK_NS = 1000000,
};

#endif
