/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm/cm_state.h"

#include <assert.h>

struct rnic_cm_message *cm_add_reply(struct cm *cm, const struct rnic_gid *source,
				     const struct rnic_gid *dest)
{
	struct rnic_cm_message *message = reply_add(&cm->replies, source, dest);

	if (message == NULL)
		cm->counters[CM_COUNTER_REPLIES_DROPPED]++;
	return message;
}

uint64_t cm_counter(const struct cm *cm, enum cm_counter counter)
{
	assert(counter < CM_COUNTER_COUNT);
	return cm->counters[counter];
}

const char *cm_counter_name(enum cm_counter counter)
{
	static const char *const names[CM_COUNTER_COUNT] = {
#define COUNTER(identifier, name, help) [CM_COUNTER_##identifier] = name,
#include "daemon/control/cm/cm_counters.def"
#undef COUNTER
	};

	assert(counter < CM_COUNTER_COUNT);
	return names[counter];
}
