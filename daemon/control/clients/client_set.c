/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/client_set.h"

#include "daemon/control/cm/cm.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/quota/client_limits.h"

/* Of all clients together. */
enum {
	LIMIT_CM_CHANNELS = 65536,
	LIMIT_CM_IDS = 65536,
};

static const uint64_t client_set_limits[RESOURCE_COUNT] = {
	[RESOURCE_SESSION] = LIMIT_SESSIONS,
	[RESOURCE_CM_CHANNEL] = LIMIT_CM_CHANNELS,
	[RESOURCE_CM_ID] = LIMIT_CM_IDS,
	[RESOURCE_CM_PORT_IPOIB] = LIMIT_CM_EPHEMERAL_PORTS,
	[RESOURCE_CM_PORT_TCP] = LIMIT_CM_EPHEMERAL_PORTS,
	[RESOURCE_CM_PORT_UDP] = LIMIT_CM_EPHEMERAL_PORTS,
	[RESOURCE_CM_PORT_IB] = LIMIT_CM_EPHEMERAL_PORTS,
};

uid_t client_set_account(struct client_set *set, uid_t uid)
{
	return subordinate_ids_account(&set->subordinates, uid, set->now_ns);
}

static uid_t client_set_account_of_line(void *context, uid_t uid)
{
	return client_set_account(context, uid);
}

int client_set_init(struct client_set *set, const struct client_set_config *config)
{
	*set = (struct client_set){
		.devices = config->devices,
		.cm = config->cm,
		.facts = config->facts,
		.settings = config->settings,
		.neighbours = config->neighbours,
		.conditions = config->conditions,
		.next_client_id = 1,
	};
	user_quotas_init(&set->users, &set->peers.quotas);
	subordinate_ids_init(&set->subordinates, SUBORDINATE_IDS_PATH);
	log_set_account(client_set_account_of_line, set);
	handle_table_init(&set->numbers, LIMIT_SESSIONS);
	list_init(&set->greeting);
	for (uint32_t i = 0; i < CLIENT_SET_BUCKETS; i++)
		list_init(&set->by_id[i]);
	return served_set_init(&set->peers, config->role, client_set_limits,
			       config->own_descriptors);
}

void client_set_fini(struct client_set *set)
{
	handle_table_fini(&set->numbers);
	user_quotas_fini(&set->users);
	log_set_account(NULL, NULL);
	subordinate_ids_fini(&set->subordinates);
	served_set_fini(&set->peers);
}
