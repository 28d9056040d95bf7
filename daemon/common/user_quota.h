/* SPDX-License-Identifier: MIT */
/*
 * A user of the machine, and what all clients of that user have together. By however many
 * connections, a user has no more than a part of what the device has (LIMIT_USER_PART), so that
 * others find something left. Root and who runs the daemon may have all: they can end it as well.
 *
 * Owned by the pool, from the first client of a user to the last, and until what that one
 * had is closed: descriptors count as long as they are open, whoever has them.
 */
#ifndef DAEMON_COMMON_USER_QUOTA_H
#define DAEMON_COMMON_USER_QUOTA_H

#include "base/list.h"
#include "common/deferred_close.h"
#include "common/quota_pool.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct user_quota {
	struct list node; /* of quota_pool.users */
	uid_t uid;
	uint32_t session_count;		      /* 0: of what it had, something is not closed yet */
	struct deferred_close deferred_close; /* of what its clients sent */
	uint64_t usage[RESOURCE_COUNT];
};

/* The user, with one client more. NULL: out of memory, or there are too many clients already. */
struct user_quota *user_quota_join(struct quota_pool *pool, uid_t uid);

/* One client less, which has given back all that it had. */
void user_quota_leave(struct user_quota *user);

/* Forgets users that have no clients: those who have nothing left, or (`all`) all of them. */
void user_quota_sweep(struct quota_pool *pool, bool all);

/* How much the user may have of what the device has `of_device` of. */
uint64_t user_quota_part(const struct user_quota *user, uint64_t of_device);

/* Whether the user may have `amount` more of a resource of which the device has `of_device`. */
bool user_quota_may_have(const struct user_quota *user, enum session_resource resource,
			 uint64_t amount, uint64_t of_device);

#endif
