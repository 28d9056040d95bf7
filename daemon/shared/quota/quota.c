/* SPDX-License-Identifier: MIT */
#include "daemon/shared/quota/quota.h"

#include "daemon/shared/quota/client_limits.h"
#include "daemon/shared/quota/user_quota.h"
#include "proto/shm/region.h"

#include <assert.h>
#include <errno.h>

#define QUOTA_MIB (UINT64_C(1) << 20)

/* The bounds of one client; 0: all but a quarter of the process's. */
static const uint64_t quota_of_client[RESOURCE_COUNT] = {
	[RESOURCE_SESSION] = 1,
	[RESOURCE_PD] = LIMIT_SESSION_PDS,
	[RESOURCE_MR] = LIMIT_SESSION_MRS,
	[RESOURCE_MW] = LIMIT_SESSION_MWS,
	[RESOURCE_CHANNEL] = LIMIT_SESSION_CHANNELS,
	[RESOURCE_CQ] = RNIC_SESSION_CQS_MAX,
	[RESOURCE_QP] = RNIC_SESSION_QPS_MAX,
	[RESOURCE_AH] = LIMIT_SESSION_AHS,
	[RESOURCE_SRQ] = RNIC_SESSION_SRQS_MAX,
	[RESOURCE_XRCD] = LIMIT_SESSION_XRCDS,
	[RESOURCE_CM_CHANNEL] = LIMIT_SESSION_CHANNELS,
	[RESOURCE_CM_ID] = LIMIT_SESSION_CM_IDS,
	[RESOURCE_CM_PORT_IPOIB] = LIMIT_SESSION_CM_IDS,
	[RESOURCE_CM_PORT_TCP] = LIMIT_SESSION_CM_IDS,
	[RESOURCE_CM_PORT_UDP] = LIMIT_SESSION_CM_IDS,
	[RESOURCE_CM_PORT_IB] = LIMIT_SESSION_CM_IDS,
	[RESOURCE_SHARED_BYTES] = LIMIT_SESSION_SHARED_MIB * QUOTA_MIB,
	[RESOURCE_MAPPED_FILES] = LIMIT_SESSION_MAPPED_FILES,
	[RESOURCE_MAPPED_BYTES] = LIMIT_SESSION_MAPPED_MIB * QUOTA_MIB,
	[RESOURCE_MAPPINGS] = 0,
	[RESOURCE_DESCRIPTORS] = 0,
};

int quota_open(struct quota_account *account, struct quota_pool *pool, struct user_quota *user)
{
	*account = (struct quota_account){.pool = pool, .user = user};
	return quota_charge(account, RESOURCE_SESSION, 1);
}

int quota_open_viewer(struct quota_account *account, struct quota_pool *pool,
		      struct user_quota *user)
{
	int result;

	if (!user_quota_add_viewer(user))
		return -ENOSPC;
	*account = (struct quota_account){.pool = pool, .user = user, .is_viewer = true};
	result = quota_charge(account, RESOURCE_SESSION, 1);
	if (result != 0)
		user_quota_remove_viewer(user);
	return result;
}

bool quota_has_all(const struct quota_account *account)
{
	return account->user != NULL && account->user->may_have_all;
}

void quota_close(struct quota_account *account)
{
	quota_discharge(account, RESOURCE_SESSION, 1);
	if (account->is_viewer)
		user_quota_remove_viewer(account->user);
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert(account->usage[i] == 0);
}

/* A viewer takes from the reserve. The share of the user is for programs. */
static bool quota_counts_for_user(const struct quota_account *account)
{
	return account->user != NULL && !account->is_viewer;
}

int quota_charge(struct quota_account *account, enum session_resource resource, uint64_t amount)
{
	struct quota_pool *pool = account->pool;
	uint64_t of_client = quota_of_client[resource];

	if (of_client == 0)
		of_client = pool->limits[resource] - pool->limits[resource] / 4;
	if (amount > of_client - account->usage[resource] ||
	    amount > quota_pool_left(pool, resource))
		return -ENOSPC;
	if (quota_counts_for_user(account)) {
		if (!user_quota_may_have(account->user, resource, amount))
			return -ENOSPC;
		user_quota_take(account->user, resource, amount);
	}
	account->usage[resource] += amount;
	pool->usage[resource] += amount;
	return 0;
}

void quota_discharge(struct quota_account *account, enum session_resource resource, uint64_t amount)
{
	assert(account->usage[resource] >= amount);
	account->usage[resource] -= amount;
	account->pool->usage[resource] -= amount;
	if (quota_counts_for_user(account))
		user_quota_give_back(account->user, resource, amount);
}

/* Each user of the control plane has a thread of its own. */
static struct deferred_close *quota_deferred_close(const struct quota_account *account)
{
	return account->user != NULL ? &account->user->deferred_close
				     : &account->pool->deferred_close;
}

void quota_defer_close(struct quota_account *account, int fd)
{
	deferred_close_take(quota_deferred_close(account), fd);
}

void quota_defer_unmap(struct quota_account *account, void *address, uint64_t bytes)
{
	deferred_close_unmap(quota_deferred_close(account), address, bytes);
}

bool quota_closes_are_behind(const struct quota_account *account)
{
	const struct quota_pool *pool = account->pool;
	const uint64_t most = pool->limits[RESOURCE_DESCRIPTORS];
	const uint64_t used = pool->usage[RESOURCE_DESCRIPTORS];

	return deferred_close_pending(&pool->deferred_close) > (used < most ? most - used : 0) / 2;
}
