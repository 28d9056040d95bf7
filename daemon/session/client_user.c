/* SPDX-License-Identifier: MIT */
#include "session/client_user.h"

#include "engine/limits.h"
#include "session/session_set.h"

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
	struct client_user *user = find(set, uid);

	if (user == NULL)
		user = create(set, uid);
	if (user == NULL ||
	    (user->session_count >= LIMIT_SESSIONS / LIMIT_USER_PART && !may_have_all(uid)))
		return NULL;
	user->session_count++;
	return user;
}

void client_user_leave(struct client_user *user)
{
	assert(user->session_count > 0);
	if (--user->session_count > 0)
		return;
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert(user->usage[i] == 0);
	list_remove(&user->node);
	free(user);
}

uint64_t client_user_part(const struct client_user *user, uint64_t of_device)
{
	return may_have_all(user->uid) ? of_device : of_device / LIMIT_USER_PART;
}

bool client_user_may_have(const struct client_user *user, enum session_resource resource,
			  uint64_t amount, uint64_t of_device)
{
	return amount <= client_user_part(user, of_device) - user->usage[resource];
}
