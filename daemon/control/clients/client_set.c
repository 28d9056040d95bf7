/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/client_set.h"

#include "daemon/control/clients/control_limits.h"
#include "daemon/shared/quota/client_limits.h"

#include <assert.h>

static const uint64_t client_set_limits[RESOURCE_COUNT] = {
	[RESOURCE_SESSION] = LIMIT_SESSIONS,
	[RESOURCE_CM_CHANNEL] = LIMIT_CM_CHANNELS,
	[RESOURCE_CM_ID] = LIMIT_CM_IDS,
};

int client_set_init(struct client_set *set, const struct client_set_config *config)
{
	*set = (struct client_set){
		.devices = config->devices,
		.cm = config->cm,
		.facts = config->facts,
		.settings = config->settings,
		.next_client_id = 1,
	};
	quota_pool_init(&set->quotas, client_set_limits, config->own_descriptors);
	user_quotas_init(&set->users, &set->quotas);
	handle_table_init(&set->numbers, LIMIT_SESSIONS);
	list_init(&set->clients);
	list_init(&set->pre_hello);
	list_init(&set->greeting);
	list_init(&set->broken);
	list_init(&set->leaving);
	list_init(&set->ending);
	return request_server_init(&set->server, config->role);
}

void client_set_fini(struct client_set *set)
{
	assert(list_is_empty(&set->clients));
	handle_table_fini(&set->numbers);
	user_quotas_fini(&set->users);
	quota_pool_fini(&set->quotas);
	request_server_fini(&set->server);
}

bool client_set_has_work(const struct client_set *set)
{
	return !list_is_empty(&set->broken) || !list_is_empty(&set->leaving) ||
	       !list_is_empty(&set->ending) || request_server_has_resumes(&set->server);
}
