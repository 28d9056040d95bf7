/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/throttled_users.h"

#include "proto/base/time_units.h"

#include <stddef.h>

static bool throttled_user_is_there(const struct throttled_user *user)
{
	return user->calls > 0 || user->times > 0;
}

static struct throttled_user *throttled_users_find(struct throttled_users *all, uid_t uid)
{
	for (unsigned i = 0; i < THROTTLED_USERS_MAX; i++)
		if (throttled_user_is_there(&all->users[i]) && all->users[i].uid == uid)
			return &all->users[i];
	return NULL;
}

/* A free place, or that of the user whose time ends first. */
static struct throttled_user *throttled_users_take_place(struct throttled_users *all)
{
	struct throttled_user *place = &all->users[0];

	for (unsigned i = 0; i < THROTTLED_USERS_MAX && throttled_user_is_there(place); i++)
		if (!throttled_user_is_there(&all->users[i]) ||
		    all->users[i].until_ns < place->until_ns)
			place = &all->users[i];
	return place;
}

static uint32_t throttled_user_seconds(uint32_t times)
{
	uint32_t seconds = THROTTLED_USERS_FIRST_S;

	while (--times > 0 && seconds < THROTTLED_USERS_LONGEST_S)
		seconds *= 2;
	return seconds < THROTTLED_USERS_LONGEST_S ? seconds : THROTTLED_USERS_LONGEST_S;
}

/* Forgets what is long ago. */
static void throttled_user_forget(struct throttled_user *user, uint64_t now_ns)
{
	const uint64_t memory_ns =
		user->times > 0 ? THROTTLED_USERS_MEMORY_S * RNIC_NS_PER_SECOND : 0;

	if (user->until_ns + memory_ns < now_ns)
		*user = (struct throttled_user){.uid = user->uid};
}

uint32_t throttled_users_note(struct throttled_users *all, uid_t uid, uint64_t now_ns)
{
	struct throttled_user *user = throttled_users_find(all, uid);
	uint32_t seconds;

	if (user == NULL) {
		user = throttled_users_take_place(all);
		*user = (struct throttled_user){.uid = uid};
	}
	throttled_user_forget(user, now_ns);
	if (!throttled_user_is_there(user))
		user->until_ns = now_ns + THROTTLED_USERS_FORGIVEN_S * RNIC_NS_PER_SECOND;
	if (user->times == 0 && user->calls++ < THROTTLED_USERS_FORGIVEN)
		return 0;
	user->times++;
	seconds = throttled_user_seconds(user->times);
	user->until_ns = now_ns + seconds * RNIC_NS_PER_SECOND;
	return seconds;
}

static bool throttled_user_is_shut_out(const struct throttled_user *user, uint64_t now_ns)
{
	return user->times > 0 && now_ns < user->until_ns;
}

bool throttled_users_are_shut_out(const struct throttled_users *all, uid_t uid, uint64_t now_ns)
{
	for (unsigned i = 0; i < THROTTLED_USERS_MAX; i++)
		if (all->users[i].uid == uid && throttled_user_is_shut_out(&all->users[i], now_ns))
			return true;
	return false;
}

uint32_t throttled_users_count_attempt(struct throttled_users *all, uid_t uid, uint64_t now_ns)
{
	struct throttled_user *user = throttled_users_find(all, uid);

	return user != NULL && throttled_user_is_shut_out(user, now_ns) ? ++user->attempts : 0;
}
