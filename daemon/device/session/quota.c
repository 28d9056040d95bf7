/* SPDX-License-Identifier: MIT */
#include "device/session/quota.h"

#include "engine/limits.h"
#include "device/session/user_quota.h"
#include "device/session/session.h"
#include "device/session/session_set.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#define QUOTA_MIB (UINT64_C(1) << 20)

static const struct {
	uint64_t of_session; /* 0: all but a quarter of what there is */
	uint64_t of_device;  /* 0: what the process can spare */
} session_quotas[RESOURCE_COUNT] = {
	[RESOURCE_PD] = {LIMIT_SESSION_PDS, LIMIT_PDS},
	[RESOURCE_MR] = {LIMIT_SESSION_MRS, LIMIT_MRS},
	[RESOURCE_MW] = {LIMIT_SESSION_MWS, LIMIT_MWS},
	[RESOURCE_CHANNEL] = {LIMIT_SESSION_CHANNELS, LIMIT_CHANNELS},
	[RESOURCE_CQ] = {RNIC_SESSION_CQS_MAX, LIMIT_CQS},
	[RESOURCE_QP] = {RNIC_SESSION_QPS_MAX, LIMIT_QPS},
	[RESOURCE_AH] = {LIMIT_SESSION_AHS, LIMIT_AHS},
	[RESOURCE_SRQ] = {RNIC_SESSION_SRQS_MAX, LIMIT_SRQS},
	[RESOURCE_XRCD] = {LIMIT_SESSION_XRCDS, LIMIT_XRCDS},
	[RESOURCE_CM_CHANNEL] = {LIMIT_SESSION_CHANNELS, LIMIT_CHANNELS},
	[RESOURCE_CM_ID] = {LIMIT_SESSION_CM_IDS, LIMIT_CM_IDS},
	[RESOURCE_SHARED_BYTES] = {LIMIT_SESSION_SHARED_MIB * QUOTA_MIB,
				   LIMIT_SHARED_MIB *QUOTA_MIB},
	[RESOURCE_MAPPED_FILES] = {LIMIT_SESSION_MAPPED_FILES, LIMIT_MAPPED_FILES},
	[RESOURCE_MAPPED_BYTES] = {LIMIT_SESSION_MAPPED_MIB * QUOTA_MIB,
				   LIMIT_MAPPED_MIB *QUOTA_MIB},
	[RESOURCE_MAPPINGS] = {0, 0},
	[RESOURCE_DESCRIPTORS] = {0, 0},
};

/* All of `all` but what we need for ourselves, or the half of it when that is more. */
static uint64_t spare(uint64_t all, uint64_t own)
{
	return all > 2 * own ? all - own : all / 2;
}

static uint64_t spare_mappings(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long all = LIMIT_PROCESS_MAPPINGS;

	if (file != NULL) {
		if (fscanf(file, "%lu", &all) != 1)
			all = LIMIT_PROCESS_MAPPINGS;
		fclose(file);
	}
	return spare(all, LIMIT_OWN_MAPPINGS);
}

static uint64_t spare_descriptors(void)
{
	struct rlimit files = {.rlim_cur = 0};

	getrlimit(RLIMIT_NOFILE, &files);
	return spare(files.rlim_cur, LIMIT_OWN_DESCRIPTORS);
}

void quota_init(uint64_t limits[RESOURCE_COUNT])
{
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		limits[i] = session_quotas[i].of_device;
	limits[RESOURCE_MAPPINGS] = spare_mappings();
	limits[RESOURCE_DESCRIPTORS] = spare_descriptors();
}

int session_charge(struct session *session, enum session_resource resource, uint64_t amount)
{
	const uint64_t of_device = session->set->limits[resource];
	uint64_t of_session = session_quotas[resource].of_session;

	if (of_session == 0)
		of_session = of_device - of_device / 4;
	if (amount > of_session - session->usage[resource] ||
	    amount > of_device - session->set->usage[resource] ||
	    !user_quota_may_have(session->user, resource, amount, of_device))
		return -ENOSPC;
	session->usage[resource] += amount;
	session->set->usage[resource] += amount;
	session->user->usage[resource] += amount;
	return 0;
}

void session_discharge(struct session *session, enum session_resource resource, uint64_t amount)
{
	assert(session->usage[resource] >= amount);
	session->usage[resource] -= amount;
	session->set->usage[resource] -= amount;
	session->user->usage[resource] -= amount;
}
