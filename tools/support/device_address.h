/* SPDX-License-Identifier: MIT */
/* The addresses that users name, and whether a daemon's device has them. */
#ifndef TOOLS_SUPPORT_DEVICE_ADDRESS_H
#define TOOLS_SUPPORT_DEVICE_ADDRESS_H

#include "proto/ctl/ctl_message.h"

#include <stdbool.h>

/* Reads an IPv4 or IPv6 address into the GID that a device has for it. -EINVAL: it is neither. */
int device_address_parse(const char *text, struct rnic_gid *gid);

bool device_address_is_of(const struct rnic_show_device *device, const struct rnic_gid *address);

#endif
