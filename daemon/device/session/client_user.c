/* SPDX-License-Identifier: MIT */
#include "device/session/client_user.h"

#include "engine/limits.h"
#include "device/session/session_set.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

static bool may_have_all(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static struct client_user *find(const struct session_set *set, uid_t uid)
{
	struct list *node;

	list_for_each (node, &set->users) {
		struct client_user *user = list_entry(node, struct client_user, node);

		if (user->uid == uid)
			return user;
	}
	return NULL;
}

static struct client_user *create(struct session_set *set, uid_t uid)
{
	struct client_user *user = calloc(1, sizeof(*user));

	if (user == NULL)
		return NULL;
	user->uid = uid;
	list_add_tail(&set->users, &user->node);
	return user;
}

struct client_user *client_user_join(struct session_set *set, uid_t uid)
{
	struct client_user *user;

	client_user_sweep(set, false);
	user = find(set, uid);
	if (user == NULL)
		user = create(set, uid);
	if (user == NULL ||
	    (user->session_count >= LIMIT_SESSIONS / LIMIT_USER_PART && !may_have_all(uid)))
		return NULL;
	user->session_count++;
	return user;
}

static void destroy(struct client_user *user)
{
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert(user->usage[i] == 0);
	closer_close(&user->closer);
	list_remove(&user->node);
	free(user);
}

void client_user_leave(struct client_user *user)
{
	assert(user->session_count > 0);
	if (--user->session_count == 0 && closer_pending(&user->closer) == 0)
		destroy(user);
}

void client_user_sweep(struct session_set *set, bool all)
{
	struct list *node, *following;

	list_for_each_safe (node, following, &set->users) {
		struct client_user *user = list_entry(node, struct client_user, node);

		if (user->session_count == 0 && (all || closer_pending(&user->closer) == 0))
			destroy(user);
	}
}

uint64_t client_user_part(const struct client_user *user, uint64_t of_device)
{
	return may_have_all(user->uid) ? of_device : of_device / LIMIT_USER_PART;
}

bool client_user_may_have(const struct client_user *user, enum session_resource resource,
			  uint64_t amount, uint64_t of_device)
{
	const uint64_t most = client_user_part(user, of_device);
	uint64_t used = user->usage[resource];

	if (resource == RESOURCE_DESCRIPTORS || resource == RESOURCE_MAPPINGS)
		used += closer_pending(&user->closer);
	return used <= most && amount <= most - used;
}
