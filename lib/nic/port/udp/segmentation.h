/* SPDX-License-Identifier: MIT */
/*
 * Decides whether to send GSO batches (segment.h) or packets one by one.
 *
 * A GSO batch crosses a veth or loopback device uncut, and a program that captures there sees one
 * datagram of 60 KB that no dissector reads. So in mode auto the port reads /proc/net/packet now
 * and then, and sends no GSO batches while anybody in this network namespace captures. A DHCP
 * client that keeps a raw socket for all protocols looks the same as a capture; mode on is for such
 * a host.
 *
 * The route to one destination may not support GSO batches (IPsec; on some kernels a device without
 * checksum offload). The port then sends none there for a while, and elsewhere as before.
 */
#ifndef LIB_NIC_PORT_UDP_SEGMENTATION_H
#define LIB_NIC_PORT_UDP_SEGMENTATION_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The most destinations without GSO batches. One more replaces the oldest, whose destination is
 * tried again.
 */
#define SEGMENTATION_DETOURS_MAX 16

enum segmentation_mode { SEGMENTATION_AUTO, SEGMENTATION_ON, SEGMENTATION_OFF };

struct segmentation_detour {
	struct rnic_gid dest;
	uint64_t until_ns;
};

struct segmentation {
	bool is_on;
	int packet_sockets_fd; /* /proc/net/packet in mode auto; -1 when there is none */
	uint64_t look_again_ns;
	struct segmentation_detour detours[SEGMENTATION_DETOURS_MAX];
	uint32_t detour_count; /* all destinations so far */
};

/* Looks for captures at once. A system without /proc/net/packet has none. */
void segmentation_open(struct segmentation *segmentation, enum segmentation_mode mode,
		       uint64_t now_ns);
void segmentation_close(struct segmentation *segmentation);

/* Looks again when the last look was 200 ms ago. */
bool segmentation_is_on(struct segmentation *segmentation, uint64_t now_ns);

/*
 * The kernel took a packet to `dest` that it had refused in a GSO batch: sends no GSO batches there
 * for 10 s.
 */
void segmentation_avoid(struct segmentation *segmentation, const struct rnic_gid *dest,
			uint64_t now_ns);

/* Whether the route to `dest` rules out GSO batches now. */
bool segmentation_is_avoided(const struct segmentation *segmentation, const struct rnic_gid *dest,
			     uint64_t now_ns);

/* Whether a socket in `text`, the content of /proc/net/packet, takes packets of all protocols. */
bool segmentation_is_captured(const char *text);

#endif
