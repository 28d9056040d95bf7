/* SPDX-License-Identifier: MIT */
#include "daemon/shared/served_peer/served_set.h"

#include "daemon/shared/served_peer/served_peer.h"

#include <assert.h>

int served_set_init(struct served_set *set, const struct request_role *role,
		    const uint64_t limits[RESOURCE_COUNT], uint64_t own_descriptors)
{
	quota_pool_init(&set->quotas, limits, own_descriptors);
	list_init(&set->all);
	list_init(&set->silent);
	list_init(&set->broken);
	list_init(&set->leaving);
	list_init(&set->ending);
	set->count = 0;
	return request_server_init(&set->server, role);
}

void served_set_fini(struct served_set *set)
{
	assert(list_is_empty(&set->all));
	quota_pool_fini(&set->quotas);
	request_server_fini(&set->server);
}

bool served_set_has_work(const struct served_set *set)
{
	return !list_is_empty(&set->broken) || !list_is_empty(&set->leaving) ||
	       !list_is_empty(&set->ending) || request_server_has_resumes(&set->server);
}

int served_set_add(struct served_set *set, struct served_peer *peer, int fd, uint64_t now_ns)
{
	int result = request_connection_open(&peer->requests, &set->server, &peer->account, fd);

	if (result != 0)
		return result;
	peer->set = set;
	served_peer_await(peer, &set->silent, now_ns);
	list_add_tail(&set->all, &peer->node);
	set->count++;
	return 0;
}

void served_set_cut(struct served_peer *peer)
{
	list_remove(&peer->silent_node);
	request_connection_cut(&peer->requests);
}

void served_set_remove(struct served_peer *peer)
{
	assert(peer->requests.fd < 0);
	quota_close(&peer->account);
	list_remove(&peer->ending_node);
	list_remove(&peer->node);
	peer->set->count--;
	peer->set->server.freed_count++;
}
