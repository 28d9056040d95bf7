/* SPDX-License-Identifier: MIT */
/*
 * The facts about the device and its network. The control plane owns and changes the facts; the
 * device half reads them.
 */
#ifndef DAEMON_COMMON_DEVICE_FACTS_H
#define DAEMON_COMMON_DEVICE_FACTS_H

#include "ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>

struct device_facts {
	struct rnic_device_attributes device;
	struct rnic_ctl_port_reply port;
	struct rnic_ctl_gids_reply gids;
	struct rnic_ctl_pkeys_reply pkeys;
	char udp_port[RNIC_CTL_NAME_BYTES];
	char poll[RNIC_CTL_NAME_BYTES];
	char segmentation[RNIC_CTL_NAME_BYTES];
	char ecn[RNIC_CTL_NAME_BYTES];
};

/* Whether the GID table has a usable address at `index`. */
bool device_facts_has_gid(const struct device_facts *facts, uint32_t index);

#endif
