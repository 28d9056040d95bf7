/* SPDX-License-Identifier: MIT */
#include "daemon/shared/link/device_facts.h"

#include "proto/wire/gid.h"

bool device_facts_has_gid(const struct device_facts *facts, uint32_t index)
{
	return index < facts->gids.count && !rnic_gid_is_zero(&facts->gids.entries[index].gid);
}

uint8_t device_facts_hop_limit(const struct device_facts *facts, const struct rnic_gid *dest)
{
	return rnic_gid_is_ipv4(dest) ? facts->hop_limit_ipv4 : facts->hop_limit_ipv6;
}
