/* SPDX-License-Identifier: MIT */
/*
 * A user of the machine, and the resources of all clients of that user. A user has no more than a
 * part of the device's resources (LIMIT_USER_PART), over any number of connections, so that others
 * find something left. Root and the user who runs the daemon may have all: they can end the daemon
 * as well.
 *
 * The pool owns a user from the first client to the last, and until the last client's descriptors
 * are closed: a descriptor counts as long as it is open.
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
	uint32_t session_count; /* 0: some descriptors or mappings are not closed yet */
	struct deferred_close deferred_close; /* for the descriptors and mappings of its clients */
	uint64_t usage[RESOURCE_COUNT];
};

/* Adds a client to the user of `uid`. NULL: out of memory, or too many clients. */
struct user_quota *user_quota_join(struct quota_pool *pool, uid_t uid);

/* Removes a client that has given back all its resources. */
void user_quota_leave(struct user_quota *user);

/*
 * Frees users without clients and with nothing left to close; if `all`, every user without clients.
 */
void user_quota_sweep(struct quota_pool *pool, bool all);

/* The user's part of `of_device`, the device's amount of a resource. */
uint64_t user_quota_part(const struct user_quota *user, uint64_t of_device);

/* Whether the user may have `amount` more of a resource of which the device has `of_device`. */
bool user_quota_may_have(const struct user_quota *user, enum session_resource resource,
			 uint64_t amount, uint64_t of_device);

#endif
