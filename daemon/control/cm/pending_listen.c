/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm/pending_listen.h"

#include "daemon/control/cm/cm.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <stdlib.h>

int pending_listens_init(struct pending_listens *requests)
{
	list_init(&requests->waiting);
	list_init(&requests->unused);
	requests->all = calloc(LIMIT_CM_PENDING_LISTENS, sizeof(*requests->all));
	if (requests->all == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < LIMIT_CM_PENDING_LISTENS; i++)
		list_add_tail(&requests->unused, &requests->all[i].node);
	return 0;
}

void pending_listens_fini(struct pending_listens *requests)
{
	free(requests->all);
	requests->all = NULL;
}

struct pending_listen *pending_listen_find(const struct pending_listens *requests,
					   const struct rnic_gid *peer, uint32_t peer_comm_id,
					   enum rnic_cm_kind kind)
{
	struct list *node;

	list_for_each (node, &requests->waiting) {
		struct pending_listen *request = list_entry(node, struct pending_listen, node);

		if (request->peer_comm_id == peer_comm_id && request->message.kind == kind &&
		    rnic_gid_equal(&request->peer, peer))
			return request;
	}
	return NULL;
}

/* One address leaves room for others. */
static bool is_peer_share_full(const struct pending_listens *requests, const struct rnic_gid *peer)
{
	const struct list *node;
	uint32_t count = 0;

	list_for_each (node, &requests->waiting)
		count += rnic_gid_equal(&list_entry(node, struct pending_listen, node)->peer, peer);
	return count >= LIMIT_CM_PEER_LISTENS;
}

bool pending_listen_add(struct pending_listens *requests, const struct pending_listen *request)
{
	struct pending_listen *kept;

	if (list_is_empty(&requests->unused) || is_peer_share_full(requests, &request->peer))
		return false;
	kept = list_first_entry(&requests->unused, struct pending_listen, node);
	list_remove(&kept->node);
	*kept = *request;
	list_add_tail(&requests->waiting, &kept->node);
	return true;
}

void pending_listen_remove(struct pending_listens *requests, struct pending_listen *request)
{
	list_remove(&request->node);
	list_add(&requests->unused, &request->node);
}

const struct pending_listen *pending_listen_oldest(const struct pending_listens *requests)
{
	if (list_is_empty(&requests->waiting))
		return NULL;
	return list_first_entry(&requests->waiting, struct pending_listen, node);
}
