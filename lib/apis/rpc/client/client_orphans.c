/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/client/client_orphans.h"

#include <stdlib.h>
#include <string.h>

bool client_orphans_add(struct client_orphans *orphans, uint64_t call, const struct bulk_in *in,
			uint64_t until_ns)
{
	struct client_orphan *orphan = malloc(sizeof(*orphan));
	struct client_orphan **at = &orphans->oldest;

	if (orphan == NULL)
		return false;
	*orphan = (struct client_orphan){.call = call, .until_ns = until_ns, .in = *in};
	while (*at != NULL)
		at = &(*at)->next;
	*at = orphan;
	orphans->count++;
	return true;
}

static void client_orphans_remove(struct client_orphans *orphans, struct client_orphan **at)
{
	struct client_orphan *orphan = *at;

	*at = orphan->next;
	orphans->count--;
	bulk_in_end(&orphan->in);
	free(orphan);
}

void client_orphans_note_unclaimed(struct client_orphans *orphans, const struct rpc_frame *frame)
{
	struct client_orphan **at = &orphans->oldest;
	static const uint8_t nothing[RPC_CHUNK_HEAD_BYTES];

	if (frame->payload_bytes != RPC_CHUNK_HEAD_BYTES ||
	    memcmp(frame->payload, nothing, sizeof(nothing)) != 0)
		return;
	while (*at != NULL && (*at)->call != frame->call)
		at = &(*at)->next;
	if (*at != NULL)
		client_orphans_remove(orphans, at);
}

bool client_orphans_are_kept(const struct client_orphans *orphans, uint64_t now_ns)
{
	return orphans->count > CLIENT_ORPHANS_MAX ||
	       now_ns >= client_orphans_next_deadline_ns(orphans);
}

uint64_t client_orphans_next_deadline_ns(const struct client_orphans *orphans)
{
	return orphans->oldest == NULL ? RPC_NEVER : orphans->oldest->until_ns;
}

void client_orphans_free(struct client_orphans *orphans)
{
	while (orphans->oldest != NULL)
		client_orphans_remove(orphans, &orphans->oldest);
}
