/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/neighbours.h"

#include "proto/wire/gid.h"

#include <stddef.h>

void neighbours_init(struct neighbours *neighbours, neighbours_ask *ask, uint32_t netdev_index)
{
	*neighbours = (struct neighbours){.ask = ask, .netdev_index = netdev_index};
}

static int neighbours_find(const struct neighbours *neighbours, const struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < neighbours->count; i++)
		if (rnic_gid_equal(&neighbours->silent[i].gid, gid))
			return (int)i;
	return -1;
}

void neighbours_add(struct neighbours *neighbours, const struct rnic_gid *gid, uint64_t now_ns)
{
	if (neighbours->count == NEIGHBOURS_MAX || neighbours_find(neighbours, gid) >= 0)
		return;
	neighbours->silent[neighbours->count].gid = *gid;
	neighbours->silent[neighbours->count].try_at_ns = now_ns + NEIGHBOURS_TRY_NS;
	neighbours->count++;
}

void neighbours_look(struct neighbours *neighbours, uint64_t now_ns)
{
	const struct neighbours before = *neighbours;
	struct rnic_gid silent[NEIGHBOURS_MAX];
	int count;
	int known;

	if (neighbours->ask == NULL || now_ns < neighbours->look_at_ns)
		return;
	neighbours->look_at_ns = now_ns + NEIGHBOURS_LOOK_NS;
	count = neighbours->ask(neighbours->netdev_index, silent, NEIGHBOURS_MAX);
	if (count < 0)
		return;
	neighbours->count = 0;
	for (int i = 0; i < count; i++)
		neighbours_add(neighbours, &silent[i], now_ns);
	for (uint32_t i = 0; i < neighbours->count; i++) {
		known = neighbours_find(&before, &neighbours->silent[i].gid);
		if (known >= 0)
			neighbours->silent[i].try_at_ns = before.silent[known].try_at_ns;
	}
}

bool neighbours_has(const struct neighbours *neighbours, const struct rnic_gid *gid)
{
	return neighbours_find(neighbours, gid) >= 0;
}

bool neighbours_try_hold(struct neighbours *neighbours, const struct rnic_gid *gid, uint64_t now_ns)
{
	int i = neighbours_find(neighbours, gid);

	if (i < 0)
		return false;
	if (now_ns < neighbours->silent[i].try_at_ns)
		return true;
	neighbours->silent[i].try_at_ns = now_ns + NEIGHBOURS_TRY_NS;
	return false;
}
