/* SPDX-License-Identifier: MIT */
#include "daemon/shared/quota/user_quota.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* --- shares ---------------------------------------------------------------------------------- */

static uint64_t share_reserve(uint64_t whole)
{
	return whole / LIMIT_RESERVE_PARTS;
}

static uint64_t share_sure(uint64_t whole)
{
	return (whole - share_reserve(whole)) / LIMIT_USER_PARTS;
}

static uint64_t share_common(uint64_t whole)
{
	return whole - share_reserve(whole) - LIMIT_USER_PLACES * share_sure(whole);
}

/* What of `usage` the user has from the common half. */
static uint64_t user_quota_common(const struct user_quota *user, enum session_resource resource,
				  uint64_t usage)
{
	const uint64_t whole = user->all->pool->limits[resource];
	uint64_t own = 0;

	if (user->may_have_all)
		own = share_reserve(whole);
	else if (user->has_place)
		own = share_sure(whole);
	return usage > own ? usage - own : 0;
}

bool user_quota_may_have(const struct user_quota *user, enum session_resource resource,
			 uint64_t amount)
{
	const struct user_quotas *all = user->all;
	const uint64_t whole = all->pool->limits[resource];
	const uint64_t left = quota_pool_left(all->pool, resource);
	const uint64_t used = user->usage[resource];
	uint64_t own_pending = 0, pending = 0, wanted, others;

	/* What is not closed yet counts as in use, and comes from the common half. */
	if (quota_pool_is_closed_later(resource)) {
		own_pending = deferred_close_pending(&user->deferred_close);
		pending = user_quotas_pending(all);
	}
	if (pending > left || amount > left - pending)
		return false;
	if (user->may_have_all)
		return true;
	wanted = user_quota_common(user, resource, used + amount + own_pending);
	others = all->common_usage[resource] - user_quota_common(user, resource, used) + pending;
	others -= own_pending < pending ? own_pending : pending;
	if (wanted == 0)
		return true;
	return others < share_common(whole) && wanted <= (share_common(whole) - others) / 2;
}

static void user_quota_set(struct user_quota *user, enum session_resource resource, uint64_t usage)
{
	uint64_t *common = &user->all->common_usage[resource];

	*common -= user_quota_common(user, resource, user->usage[resource]);
	user->usage[resource] = usage;
	*common += user_quota_common(user, resource, usage);
}

void user_quota_take(struct user_quota *user, enum session_resource resource, uint64_t amount)
{
	user_quota_set(user, resource, user->usage[resource] + amount);
}

void user_quota_give_back(struct user_quota *user, enum session_resource resource, uint64_t amount)
{
	assert(user->usage[resource] >= amount);
	user_quota_set(user, resource, user->usage[resource] - amount);
}

bool user_quota_add_viewer(struct user_quota *user)
{
	if (user->viewer_count == LIMIT_USER_VIEWERS ||
	    (!user->has_place && user->all->other_viewer_count == LIMIT_OTHER_VIEWERS))
		return false;
	user->viewer_count++;
	user->all->other_viewer_count += !user->has_place;
	return true;
}

void user_quota_remove_viewer(struct user_quota *user)
{
	user->viewer_count--;
	user->all->other_viewer_count -= !user->has_place;
}

/* --- users ----------------------------------------------------------------------------------- */

static const struct processor_share_rule user_quota_listing_rule = {
	.parts = LIMIT_LISTING_PARTS,
	.burst_ns = LIMIT_LISTING_BURST_NS,
};

static const struct processor_share_rule user_quota_request_rule = {
	.parts = LIMIT_REQUEST_PARTS,
	.burst_ns = LIMIT_REQUEST_BURST_NS,
};

static const struct processor_share_rule user_quota_connection_rule = {
	.parts = LIMIT_CONNECTION_PARTS,
	.burst_ns = LIMIT_CONNECTION_BURST_NS,
};

bool user_quota_is_owner(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

void user_quotas_init(struct user_quotas *all, const struct quota_pool *pool)
{
	*all = (struct user_quotas){.pool = pool};
	list_init(&all->users);
}

static void user_quota_leave_place(struct user_quota *user)
{
	user->all->place_count -= user->has_place;
	user->has_place = false;
}

static void user_quota_destroy(struct user_quota *user)
{
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert(user->usage[i] == 0);
	user_quota_leave_place(user);
	assert(list_is_empty(&user->listings.waiting));
	assert(list_is_empty(&user->requests.waiting));
	fair_share_fini(&user->due);
	fair_share_fini(&user->resumes);
	deferred_close_close(&user->deferred_close);
	list_remove(&user->node);
	free(user);
}

void user_quotas_fini(struct user_quotas *all)
{
	while (!list_is_empty(&all->users)) {
		struct user_quota *user = list_first_entry(&all->users, struct user_quota, node);

		assert(user->client_count == 0);
		user_quota_destroy(user);
	}
	assert(all->place_count == 0 && all->present_count == 0);
}

uint64_t user_quotas_pending(const struct user_quotas *all)
{
	const struct list *node;
	uint64_t pending = 0;

	list_for_each (node, &all->users)
		pending += deferred_close_pending(
			&list_entry(node, const struct user_quota, node)->deferred_close);
	return pending;
}

/* Frees a user who has been without clients for a while, when everything is closed, and paid. */
static void user_quota_forget(struct user_quota *user, uint64_t now_ns)
{
	if (user->client_count > 0 || deferred_close_pending(&user->deferred_close) > 0)
		return;
	user_quota_leave_place(user);
	if (now_ns >= user->left_ns + USER_QUOTA_KEPT_NS &&
	    processor_share_is_paid(&user->listings, now_ns) &&
	    processor_share_is_paid(&user->requests, now_ns) &&
	    processor_share_is_paid(&user->connections, now_ns))
		user_quota_destroy(user);
}

static void user_quotas_sweep(struct user_quotas *all, uint64_t now_ns)
{
	struct list *node, *following;

	list_for_each_safe (node, following, &all->users)
		user_quota_forget(list_entry(node, struct user_quota, node), now_ns);
}

struct user_quota *user_quotas_find(const struct user_quotas *all, uid_t uid)
{
	struct list *node;

	list_for_each (node, &all->users) {
		struct user_quota *user = list_entry(node, struct user_quota, node);

		if (user->uid == uid)
			return user;
	}
	return NULL;
}

static struct user_quota *user_quota_create(struct user_quotas *all, uid_t uid)
{
	struct user_quota *user = calloc(1, sizeof(*user));

	if (user == NULL)
		return NULL;
	user->all = all;
	user->uid = uid;
	user->may_have_all = user_quota_is_owner(uid);
	fair_share_init(&user->due);
	fair_share_init(&user->resumes);
	processor_share_init(&user->listings, &user_quota_listing_rule);
	processor_share_init(&user->requests, &user_quota_request_rule);
	processor_share_init(&user->connections, &user_quota_connection_rule);
	list_add_tail(&all->users, &user->node);
	return user;
}

/* Gives the user a free place. What the user has already counts as its sure part first. */
static void user_quota_seat(struct user_quota *user)
{
	struct user_quotas *all = user->all;

	if (user->may_have_all || user->has_place || all->place_count == LIMIT_USER_PLACES)
		return;
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		all->common_usage[i] -= user_quota_common(user, i, user->usage[i]);
	user->has_place = true;
	all->place_count++;
	all->other_viewer_count -= user->viewer_count;
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		all->common_usage[i] += user_quota_common(user, i, user->usage[i]);
}

struct user_quota *user_quota_join(struct user_quotas *all, uid_t uid, uint64_t now_ns)
{
	struct user_quota *user;

	user_quotas_sweep(all, now_ns);
	user = user_quotas_find(all, uid);
	if (user == NULL)
		user = user_quota_create(all, uid);
	if (user == NULL)
		return NULL;
	user_quota_seat(user);
	all->present_count += user->client_count == 0;
	user->client_count++;
	user->turned_away = 0;
	return user;
}

bool user_quota_is_alone(const struct user_quota *user)
{
	return user->all->present_count == (user->client_count > 0 ? 1 : 0);
}

/* How many users connect: they have not paid for that yet. */
static uint32_t user_quotas_connecting(const struct user_quotas *all, uint64_t now_ns)
{
	const struct list *node;
	uint32_t count = 0;

	list_for_each (node, &all->users)
		count += !processor_share_is_paid(
			&list_entry(node, const struct user_quota, node)->connections, now_ns);
	return count;
}

void user_quota_pay_connection(struct user_quota *user, uint64_t cpu_ns, uint64_t now_ns)
{
	const uint32_t crowd = user_quotas_connecting(user->all, now_ns);
	uint32_t times = crowd < LIMIT_CONNECTION_CROWD ? crowd : LIMIT_CONNECTION_CROWD;

	if (times == 0)
		times = 1;
	processor_share_charge(&user->connections, (LIMIT_CONNECTION_AROUND_NS + cpu_ns) * times,
			       now_ns);
}

void user_quota_leave(struct user_quota *user, uint64_t now_ns)
{
	assert(user->client_count > 0);
	user->client_count--;
	user->all->present_count -= user->client_count == 0;
	user->left_ns = now_ns;
	user_quota_forget(user, now_ns);
}
