/* SPDX-License-Identifier: MIT */
/* Finds the IP packet in a captured frame: Ethernet (with VLAN tags), Linux cooked, raw, loopback.
 */
#ifndef TOOLS_RNIC_INSPECT_LINK_LAYER_H
#define TOOLS_RNIC_INSPECT_LINK_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the reader knows frames of this LINKTYPE_ number. */
bool link_layer_is_known(uint32_t link_type);

/* Points `ip` at the IP packet within `bytes`; false when the frame carries none. */
bool link_layer_find_ip(uint32_t link_type, const uint8_t *bytes, size_t length, const uint8_t **ip,
			size_t *ip_bytes);

#endif
