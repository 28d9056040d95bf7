/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/engine_addresses.h"

#include "lib/nic/engine/engine_state.h"
#include "proto/wire/gid.h"

uint32_t engine_gid_index(const struct engine *engine, const struct rnic_gid *dest)
{
	const bool is_group = rnic_gid_is_multicast(dest);

	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++) {
		const struct rnic_gid *gid = &engine->gids[i];

		if (is_group ? !rnic_gid_is_zero(gid) &&
				       rnic_gid_is_ipv4(gid) == rnic_gid_is_ipv4(dest)
			     : rnic_gid_equal(gid, dest))
			return i;
	}
	return 0;
}

uint8_t engine_hop_limit(const struct engine *engine, const struct rnic_path *path)
{
	const uint8_t limit =
		rnic_gid_is_ipv4(&path->dest_gid) ? engine->hop_limit_ipv4 : engine->hop_limit_ipv6;

	return limit == 0 || rnic_gid_is_multicast(&path->dest_gid) ? path->hop_limit : limit;
}

struct rnic_addresses engine_addresses(const struct engine *engine, const struct rnic_path *path)
{
	return (struct rnic_addresses){
		.source = engine->gids[path->source_gid_index],
		.dest = path->dest_gid,
		.source_port = RNIC_UDP_PORT,
		.traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit,
	};
}
