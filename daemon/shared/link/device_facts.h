/* SPDX-License-Identifier: MIT */
/*
 * The facts about the device and its network. Each half of the daemon has its own: the control
 * plane learns them, and the device gets them as messages.
 */
#ifndef DAEMON_SHARED_LINK_DEVICE_FACTS_H
#define DAEMON_SHARED_LINK_DEVICE_FACTS_H

#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>

struct device_facts {
	struct rnic_device_attributes device;
	struct rnic_ctl_port_reply port;
	struct rnic_ctl_gids_reply gids;
	struct rnic_ctl_pkeys_reply pkeys;
	uint8_t hop_limit_ipv4; /* that the kernel gives to packets to one host; 0: unknown */
	uint8_t hop_limit_ipv6;
	bool is_cut; /* rnicctl link down */
};

/* Whether the GID table has a usable address at `index`. */
bool device_facts_has_gid(const struct device_facts *facts, uint32_t index);

/* The hop limit of packets to the host `dest`; 0: unknown. */
uint8_t device_facts_hop_limit(const struct device_facts *facts, const struct rnic_gid *dest);

#endif
