/* SPDX-License-Identifier: MIT */
/*
 * The account of a client: its use of each resource, against the bounds of one client and of the
 * process (quota_pool.h), and in the control plane against the share of a user (user_quota.h). Both
 * halves of the daemon charge every creation here.
 *
 * Invariant: an account, its user and its pool are charged with the content of the client's tables.
 */
#ifndef DAEMON_SHARED_QUOTA_QUOTA_H
#define DAEMON_SHARED_QUOTA_QUOTA_H

#include "daemon/shared/quota/quota_pool.h"

#include <stdbool.h>
#include <stdint.h>

struct user_quota;

struct quota_account {
	struct quota_pool *pool;
	struct user_quota
		*user;	/* of all clients of the same uid; NULL: users are not told apart */
	bool is_viewer; /* beyond the user's share: for a client that only looks */
	uint64_t usage[RESOURCE_COUNT];
};

/*
 * An account of a client of `user`, which may be NULL. The account's use is one session. -ENOSPC:
 * the process, or the user, has too many clients.
 */
int quota_open(struct quota_account *account, struct quota_pool *pool, struct user_quota *user);

/*
 * The same for a client that only looks (SHOW), of a user whose share is used up. What the account
 * has, the session and the descriptor of one connection, counts for the process and not in the
 * share. A user may have LIMIT_USER_VIEWERS such clients, the users without a place together
 * LIMIT_OTHER_VIEWERS.
 */
int quota_open_viewer(struct quota_account *account, struct quota_pool *pool,
		      struct user_quota *user);

/* Asserts that the client has given everything back. */
void quota_close(struct quota_account *account);

/*
 * Charges `amount` of `resource` to the client. -ENOSPC when client, user or process would exceed a
 * bound; nothing is charged then.
 */
int quota_charge(struct quota_account *account, enum session_resource resource, uint64_t amount);
void quota_discharge(struct quota_account *account, enum session_resource resource,
		     uint64_t amount);

/* Whether the client's user may have all there is (user_quota_is_owner()). */
bool quota_has_all(const struct quota_account *account);

/* Close or unmap soon what the client has sent or shared. Until then the process counts it. */
void quota_defer_close(struct quota_account *account, int fd);
void quota_defer_unmap(struct quota_account *account, void *address, uint64_t bytes);

/* Whether what waits to be closed takes more than half of the descriptors that are left: the other
 * half is for new clients. */
bool quota_closes_are_behind(const struct quota_account *account);

#endif
