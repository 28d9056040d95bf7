/* SPDX-License-Identifier: MIT */
#include "tools/support/device_address.h"

#include "proto/wire/gid.h"

#include <arpa/inet.h>
#include <errno.h>

int device_address_parse(const char *text, struct rnic_gid *gid)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1)
		*gid = rnic_gid_from_ipv4(bytes);
	else if (inet_pton(AF_INET6, text, bytes) == 1)
		*gid = rnic_gid_from_ipv6(bytes);
	else
		return -EINVAL;
	return 0;
}

bool device_address_is_of(const struct rnic_show_device *device, const struct rnic_gid *address)
{
	const struct rnic_ctl_gids_reply *gids = &device->gids;

	for (uint32_t i = 0; i < gids->count && i < RNIC_GIDS_MAX; i++) {
		if (rnic_gid_equal(&gids->entries[i].gid, address))
			return true;
	}
	return false;
}
