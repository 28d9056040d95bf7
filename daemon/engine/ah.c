/* SPDX-License-Identifier: MIT */
#include "engine/ah.h"

#include "engine/engine.h"
#include "wire/gid.h"

#include <errno.h>

bool ah_path_is_usable(const struct engine *engine, const struct rnic_path *path,
		       bool may_be_multicast)
{
	return path->is_global == 1 && path->port == 1 &&
	       path->source_gid_index < RNIC_ENGINE_GIDS &&
	       !rnic_gid_is_zero(&engine->gids[path->source_gid_index]) &&
	       !rnic_gid_is_zero(&path->dest_gid) &&
	       (may_be_multicast || !rnic_gid_is_multicast(&path->dest_gid));
}

int ah_init(struct engine *engine, struct ah *ah, struct pd *pd, const struct rnic_path *path)
{
	if (!ah_path_is_usable(engine, path, true))
		return -EINVAL;
	*ah = (struct ah){.pd = pd, .path = *path};
	pd->references++;
	return 0;
}

void ah_fini(struct ah *ah)
{
	ah->pd->references--;
}
