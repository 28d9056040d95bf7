/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/ah.h"

#include "lib/nic/engine/engine_addresses.h"
#include "lib/nic/engine/engine_state.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <stdio.h>

/* The address that `path` comes from; NULL: there is none with that index. */
static const struct rnic_gid *source_of(const struct engine *engine, const struct rnic_path *path)
{
	if (path->source_gid_index >= RNIC_GIDS_MAX ||
	    rnic_gid_is_zero(&engine->gids[path->source_gid_index]))
		return NULL;
	return &engine->gids[path->source_gid_index];
}

bool ah_path_is_usable(const struct engine *engine, const struct rnic_path *path,
		       bool may_be_multicast)
{
	const struct rnic_gid *source = source_of(engine, path);

	return path->is_global == 1 && path->port == 1 && source != NULL &&
	       !rnic_gid_is_zero(&path->dest_gid) &&
	       rnic_gid_is_ipv4(source) == rnic_gid_is_ipv4(&path->dest_gid) &&
	       (may_be_multicast || !rnic_gid_is_multicast(&path->dest_gid));
}

void ah_path_refusal(const struct engine *engine, const struct rnic_path *path, char *text,
		     uint32_t text_bytes)
{
	const struct rnic_gid *source = source_of(engine, path);
	const bool to_ipv4 = rnic_gid_is_ipv4(&path->dest_gid);

	if (path->is_global != 1 || rnic_gid_is_zero(&path->dest_gid))
		snprintf(text, text_bytes,
			 "the address vector has no GID of the peer; RoCE needs is_global and "
			 "grh.dgid: give both programs a GID index (-g, -x)");
	else if (source == NULL)
		snprintf(text, text_bytes, "there is no GID with index %u", path->source_gid_index);
	else if (path->port != 1)
		snprintf(text, text_bytes, "the address vector names port %u; there is port 1",
			 path->port);
	else if (rnic_gid_is_ipv4(source) != to_ipv4)
		snprintf(text, text_bytes,
			 "the peer's GID is an IPv%c address, and that with index %u here is not: "
			 "give each program the index (-g, -x) of an address that reaches the "
			 "other",
			 to_ipv4 ? '4' : '6', path->source_gid_index);
	else
		snprintf(text, text_bytes, "the peer's GID is a multicast group");
}

int ah_init(struct engine *engine, struct ah *ah, struct pd *pd, const struct rnic_path *path)
{
	if (!ah_path_is_usable(engine, path, true))
		return -EINVAL;
	*ah = (struct ah){.pd = pd, .path = *path};
	ah->path.hop_limit = engine_hop_limit(engine, path);
	pd->references++;
	return 0;
}

void ah_fini(struct ah *ah)
{
	ah->pd->references--;
}
