/* SPDX-License-Identifier: MIT */
/*
 * The account of a client: what the client has of each resource, and whether the client may have
 * more. A client is bounded by what one client may have, by what a user may have (user_quota.h) and
 * by what the process has (quota_pool.h). Both halves of the daemon charge every creation here.
 *
 * Invariant: an account, its user and its pool are charged with what the client's tables hold.
 */
#ifndef DAEMON_COMMON_QUOTA_H
#define DAEMON_COMMON_QUOTA_H

#include "common/quota_pool.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct user_quota;

struct quota_account {
	struct quota_pool *pool;
	struct user_quota *user; /* of all clients of the same uid */
	uint64_t usage[RESOURCE_COUNT];
};

/* An account of `uid`, without usage. -ENOMEM: out of memory, or the user has too many clients. */
int quota_open(struct quota_account *account, struct quota_pool *pool, uid_t uid);

/* Asserts that the client has given everything back. */
void quota_close(struct quota_account *account);

/*
 * Charges `amount` of `resource` to the client. -ENOSPC when client, user or process would have too
 * much; nothing is charged then.
 */
int quota_charge(struct quota_account *account, enum session_resource resource, uint64_t amount);
void quota_discharge(struct quota_account *account, enum session_resource resource,
		     uint64_t amount);

/* Closes soon what the client has sent or shared; until then it counts as the user's. */
void quota_defer_close(struct quota_account *account, int fd);
void quota_defer_unmap(struct quota_account *account, void *address, uint64_t bytes);

/* Whether the user has no more descriptors than it may have, with those that are still to be
 * closed. */
bool quota_descriptors_are_within(const struct quota_account *account);

/* How much the user may have of something of which there is `of_device`. */
uint64_t quota_user_part(const struct quota_account *account, uint64_t of_device);

#endif
