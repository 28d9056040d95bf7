/* SPDX-License-Identifier: MIT */
#include "daemon/device/requests/connection_set.h"

#include "daemon/device/device_limits.h"
#include "daemon/shared/quota/client_limits.h"

#include <assert.h>

#define CONNECTION_MIB (UINT64_C(1) << 20)

static const uint64_t connection_set_limits[RESOURCE_COUNT] = {
	[RESOURCE_SESSION] = LIMIT_SESSIONS,
	[RESOURCE_PD] = LIMIT_PDS,
	[RESOURCE_MR] = LIMIT_MRS,
	[RESOURCE_MW] = LIMIT_MWS,
	[RESOURCE_CHANNEL] = LIMIT_CHANNELS,
	[RESOURCE_CQ] = LIMIT_CQS,
	[RESOURCE_QP] = LIMIT_QPS,
	[RESOURCE_AH] = LIMIT_AHS,
	[RESOURCE_SRQ] = LIMIT_SRQS,
	[RESOURCE_XRCD] = LIMIT_XRCDS,
	[RESOURCE_SHARED_BYTES] = LIMIT_SHARED_MIB * CONNECTION_MIB,
	[RESOURCE_MAPPED_FILES] = LIMIT_MAPPED_FILES,
	[RESOURCE_MAPPED_BYTES] = LIMIT_MAPPED_MIB * CONNECTION_MIB,
};

int connection_set_init(struct connection_set *set, struct session_set *sessions,
			const struct device_host *host, const struct request_role *role,
			uint64_t memory_bytes)
{
	*set = (struct connection_set){.sessions = sessions, .host = host};
	list_init(&set->connections);
	list_init(&set->pre_open);
	list_init(&set->broken);
	list_init(&set->ending);
	quota_pool_init(&set->quotas, connection_set_limits, LIMIT_OWN_DESCRIPTORS);
	if (memory_bytes < set->quotas.limits[RESOURCE_SHARED_BYTES])
		set->quotas.limits[RESOURCE_SHARED_BYTES] = memory_bytes;
	return request_server_init(&set->server, role);
}

void connection_set_fini(struct connection_set *set)
{
	assert(list_is_empty(&set->connections));
	quota_pool_fini(&set->quotas);
	request_server_fini(&set->server);
}

bool connection_set_has_work(const struct connection_set *set)
{
	return !list_is_empty(&set->broken) || !list_is_empty(&set->ending) ||
	       request_server_has_resumes(&set->server);
}
