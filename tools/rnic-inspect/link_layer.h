/* SPDX-License-Identifier: MIT */
/*
 * Finds the IP packet in a captured frame: Ethernet (with VLAN tags), Linux cooked, raw, loopback.
 * Native InfiniBand and RoCE version 1 have none, and have a name of their own.
 */
#ifndef TOOLS_RNIC_INSPECT_LINK_LAYER_H
#define TOOLS_RNIC_INSPECT_LINK_LAYER_H

#include "tools/rnic-inspect/capture_reader.h"

#include <stdint.h>

enum link_content {
	LINK_UNKNOWN,	 /* frames of a LINKTYPE_ number that the reader does not know */
	LINK_OTHER,	 /* no IP packet */
	LINK_INFINIBAND, /* an InfiniBand packet that is not in UDP */
	LINK_IP,
};

/* Points `ip` at the IP packet within the frame when the result is LINK_IP. */
enum link_content link_layer_find_ip(const struct capture_frame *frame, const uint8_t **ip,
				     size_t *ip_bytes);

#endif
