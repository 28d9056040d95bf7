/* SPDX-License-Identifier: MIT */
#include "daemon/shared/link/device_facts.h"

#include "proto/wire/gid.h"

bool device_facts_has_gid(const struct device_facts *facts, uint32_t index)
{
	return index < facts->gids.count && !rnic_gid_is_zero(&facts->gids.entries[index].gid);
}
