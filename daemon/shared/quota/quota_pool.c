/* SPDX-License-Identifier: MIT */
#include "daemon/shared/quota/quota_pool.h"

#include "daemon/shared/quota/client_limits.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* `all` less what the process itself needs, or a quarter of `all` when that is more. */
static uint64_t quota_pool_spare(uint64_t all, uint64_t own)
{
	return all > own + all / 4 ? all - own : all / 4;
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

static uint64_t quota_pool_spare_descriptors(uint64_t own)
{
	struct rlimit files = {.rlim_cur = 0};

	getrlimit(RLIMIT_NOFILE, &files);
	return quota_pool_spare(files.rlim_cur, own);
}

void quota_pool_init(struct quota_pool *pool, const uint64_t limits[RESOURCE_COUNT],
		     uint64_t own_descriptors)
{
	memset(pool, 0, sizeof(*pool));
	memcpy(pool->limits, limits, sizeof(pool->limits));
	pool->limits[RESOURCE_MAPPINGS] = quota_pool_spare_mappings();
	pool->limits[RESOURCE_DESCRIPTORS] = quota_pool_spare_descriptors(own_descriptors);
}

void quota_pool_fini(struct quota_pool *pool)
{
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert(pool->usage[i] == 0);
	deferred_close_close(&pool->deferred_close);
}

bool quota_pool_is_closed_later(enum session_resource resource)
{
	return resource == RESOURCE_DESCRIPTORS || resource == RESOURCE_MAPPINGS;
}

uint64_t quota_pool_left(const struct quota_pool *pool, enum session_resource resource)
{
	uint64_t used = pool->usage[resource];

	if (quota_pool_is_closed_later(resource))
		used += deferred_close_pending(&pool->deferred_close);
	return used < pool->limits[resource] ? pool->limits[resource] - used : 0;
}
