/* SPDX-License-Identifier: MIT */
#include "common/user_quota.h"

#include "common/client_limits.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

static bool may_have_all(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static struct user_quota *user_quota_find(const struct quota_pool *pool, uid_t uid)
{
	struct list *node;

	list_for_each (node, &pool->users) {
		struct user_quota *user = list_entry(node, struct user_quota, node);

		if (user->uid == uid)
			return user;
	}
	return NULL;
}

static struct user_quota *user_quota_create(struct quota_pool *pool, uid_t uid)
{
	struct user_quota *user = calloc(1, sizeof(*user));

	if (user == NULL)
		return NULL;
	user->uid = uid;
	list_add_tail(&pool->users, &user->node);
	return user;
}

struct user_quota *user_quota_join(struct quota_pool *pool, uid_t uid)
{
	struct user_quota *user;

	user_quota_sweep(pool, false);
	user = user_quota_find(pool, uid);
	if (user == NULL)
		user = user_quota_create(pool, uid);
	if (user == NULL ||
	    (user->session_count >= LIMIT_SESSIONS / LIMIT_USER_PART && !may_have_all(uid)))
		return NULL;
	user->session_count++;
	return user;
}

static void user_quota_destroy(struct user_quota *user)
{
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert(user->usage[i] == 0);
	deferred_close_close(&user->deferred_close);
	list_remove(&user->node);
	free(user);
}

void user_quota_leave(struct user_quota *user)
{
	assert(user->session_count > 0);
	if (--user->session_count == 0 && deferred_close_pending(&user->deferred_close) == 0)
		user_quota_destroy(user);
}

void user_quota_sweep(struct quota_pool *pool, bool all)
{
	struct list *node, *following;

	list_for_each_safe (node, following, &pool->users) {
		struct user_quota *user = list_entry(node, struct user_quota, node);

		if (user->session_count == 0 &&
		    (all || deferred_close_pending(&user->deferred_close) == 0))
			user_quota_destroy(user);
	}
}

uint64_t user_quota_part(const struct user_quota *user, uint64_t of_device)
{
	return may_have_all(user->uid) ? of_device : of_device / LIMIT_USER_PART;
}

bool user_quota_may_have(const struct user_quota *user, enum session_resource resource,
			 uint64_t amount, uint64_t of_device)
{
	const uint64_t most = user_quota_part(user, of_device);
	uint64_t used = user->usage[resource];

	if (resource == RESOURCE_DESCRIPTORS || resource == RESOURCE_MAPPINGS)
		used += deferred_close_pending(&user->deferred_close);
	return used <= most && amount <= most - used;
}
