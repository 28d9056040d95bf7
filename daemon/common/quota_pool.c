/* SPDX-License-Identifier: MIT */
#include "common/quota_pool.h"

#include "base/bits.h"
#include "common/client_limits.h"
#include "shm/region.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define POOL_MIB (UINT64_C(1) << 20)

/* A resource without an entry is bounded by what the process can spare. */
static const uint64_t quota_pool_limits[RESOURCE_COUNT] = {
	[RESOURCE_PD] = LIMIT_PDS,
	[RESOURCE_MR] = LIMIT_MRS,
	[RESOURCE_MW] = LIMIT_MWS,
	[RESOURCE_CHANNEL] = LIMIT_CHANNELS,
	[RESOURCE_CQ] = LIMIT_CQS,
	[RESOURCE_QP] = LIMIT_QPS,
	[RESOURCE_AH] = LIMIT_AHS,
	[RESOURCE_SRQ] = LIMIT_SRQS,
	[RESOURCE_XRCD] = LIMIT_XRCDS,
	[RESOURCE_CM_CHANNEL] = LIMIT_CHANNELS,
	[RESOURCE_CM_ID] = LIMIT_CM_IDS,
	[RESOURCE_SHARED_BYTES] = LIMIT_SHARED_MIB * POOL_MIB,
	[RESOURCE_MAPPED_FILES] = LIMIT_MAPPED_FILES,
	[RESOURCE_MAPPED_BYTES] = LIMIT_MAPPED_MIB * POOL_MIB,
};

/* `all` less a reserve of `own`, or half of `all` when that is more. */
static uint64_t quota_pool_spare(uint64_t all, uint64_t own)
{
	return all > 2 * own ? all - own : all / 2;
}

static uint64_t quota_pool_spare_mappings(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long all = LIMIT_PROCESS_MAPPINGS;

	if (file != NULL) {
		if (fscanf(file, "%lu", &all) != 1)
			all = LIMIT_PROCESS_MAPPINGS;
		fclose(file);
	}
	return quota_pool_spare(all, LIMIT_OWN_MAPPINGS);
}

static uint64_t quota_pool_spare_descriptors(void)
{
	struct rlimit files = {.rlim_cur = 0};

	getrlimit(RLIMIT_NOFILE, &files);
	return quota_pool_spare(files.rlim_cur, LIMIT_OWN_DESCRIPTORS);
}

void quota_pool_init(struct quota_pool *pool)
{
	memset(pool, 0, sizeof(*pool));
	memcpy(pool->limits, quota_pool_limits, sizeof(pool->limits));
	pool->limits[RESOURCE_MAPPINGS] = quota_pool_spare_mappings();
	pool->limits[RESOURCE_DESCRIPTORS] = quota_pool_spare_descriptors();
	list_init(&pool->users);
}

void quota_pool_fini(const struct quota_pool *pool)
{
	assert(list_is_empty(&pool->users));
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert(pool->usage[i] == 0);
}
