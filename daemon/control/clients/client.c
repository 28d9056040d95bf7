/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/client.h"

#include "daemon/control/clients/client_set.h"
#include "daemon/control/supervisor/device_set.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/quota/client_limits.h"
#include "lib/wait/clock.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Draws a number that no client has, and that no device process still holds. The numbers wrap after
 * 2^32 connections: only then a number may have been drawn before.
 */
static uint32_t client_draw_id(struct client_set *set)
{
	uint32_t client_id;

	do {
		client_id = set->next_client_id++;
		set->has_wrapped |= client_id == 0;
	} while (client_id == 0 ||
		 (set->has_wrapped && (client_find(set, client_id) != NULL ||
				       device_set_holds_client(set->devices, client_id))));
	return client_id;
}

/* Opens the account of a client. A user who has too much may still look. */
static int client_open_account(struct client_set *set, struct quota_account *account,
			       uid_t account_uid)
{
	struct user_quota *user = user_quota_join(&set->users, account_uid, set->now_ns);
	int result;

	if (user == NULL)
		return -ENOMEM;
	result = quota_open(account, &set->peers.quotas, user);
	if (result != 0)
		result = quota_open_viewer(account, &set->peers.quotas, user);
	if (result != 0)
		user_quota_leave(user, set->now_ns);
	return result;
}

struct client *client_create(struct client_set *set, int socket_fd, pid_t pid, uid_t uid,
			     uid_t account)
{
	struct client *client = calloc(1, sizeof(*client));

	if (client == NULL)
		return NULL;
	if (client_open_account(set, &client->peer.account, account) != 0)
		goto free_client;
	if (handle_table_add(&set->numbers, client, &client->number) != 0)
		goto close_account;
	if (served_set_add(&set->peers, &client->peer, socket_fd, set->now_ns) != 0)
		goto remove_number;
	client->set = set;
	client->peer.pid = pid;
	client->peer.uid = uid;
	client->peer.objects = client;
	handle_table_init(&client->cm_channels, LIMIT_SESSION_CHANNELS);
	handle_table_init(&client->cm_ids, LIMIT_SESSION_CM_IDS);
	client->peer.client_id = client_draw_id(set);
	list_add_tail(&set->by_id[client->peer.client_id % CLIENT_SET_BUCKETS], &client->id_node);
	return client;

remove_number:
	handle_table_remove(&set->numbers, client->number);
close_account:
	quota_close(&client->peer.account);
	user_quota_leave(client->peer.account.user, set->now_ns);
free_client:
	free(client);
	return NULL;
}

struct client *client_of_peer(struct served_peer *peer)
{
	return RNIC_CONTAINER_OF(peer, struct client, peer);
}

struct client *client_of_connection(struct request_connection *requests)
{
	return RNIC_CONTAINER_OF(requests, struct client, peer.requests);
}

static void client_remember(const struct client *client)
{
	struct gone_client gone = {
		.client_id = client->peer.client_id,
		.pid = client->peer.pid,
		.uid = client->peer.uid,
		.account = client->peer.account.user->uid,
		.device_pid = client->device->pid,
	};

	memcpy(gone.program, client->peer.program, sizeof(gone.program));
	gone_clients_note(&client->set->gone, &gone);
}

/* Whether a share of the user pays for a request: `listings` if it only looks, else `requests`. */
static bool client_share_pays(const struct user_quota *user, bool is_viewing)
{
	return !user->may_have_all && (is_viewing || !user_quota_is_alone(user));
}

static bool client_pays(const struct client *client)
{
	return client_share_pays(client->peer.account.user, client->is_viewing);
}

struct processor_share *client_share(const struct client *client)
{
	struct user_quota *user = client->peer.account.user;

	return client->is_viewing ? &user->listings : &user->requests;
}

void client_pay(struct client *client, uint64_t cpu_ns)
{
	if (client_pays(client))
		processor_share_charge(client_share(client), cpu_ns, client->set->now_ns);
}

/* Lets the first request go on that waits for the share, or for the lister. */
static void client_wake_next(struct client *client, struct processor_share *share)
{
	struct fair_item *next;

	if (list_is_empty(&share->waiting))
		return;
	next = list_first_entry(&share->waiting, struct fair_item, node);
	list_remove(&next->node);
	fair_queue_add(&client->set->peers.server.resumes, next);
}

/* No time runs out for a HELLO that waits for the share. */
static void client_await_hello(struct client *client, bool is_waiting)
{
	if (client->has_greeted)
		return;
	if (is_waiting)
		list_remove(&client->peer.silent_node);
	else if (!list_is_linked(&client->peer.silent_node))
		client_expect_hello(client, &client->set->peers.silent);
}

int client_await_share(struct client *client)
{
	struct processor_share *share = client_share(client);
	int result = 0;

	if (client_pays(client))
		result = processor_share_ask(share, client->peer.client_id, client->set->now_ns);
	else
		processor_share_leave(share, client->peer.client_id);
	client_await_hello(client, result != 0);
	/* Listings go on one by one. Other requests may take long, and only ask for their time. */
	if (result == 0 && !client->is_viewing)
		client_wake_next(client, share);
	return result;
}

int client_begin_pages(struct client *client)
{
	struct user_quota *user = client->peer.account.user;

	if (user->lister != 0 && user->lister != client->peer.client_id)
		return -EBUSY;
	user->lister = client->peer.client_id;
	client_pay(client, LIMIT_LISTING_PAGE_NS);
	return 0;
}

static void client_leave_share(struct client *client, struct processor_share *share)
{
	processor_share_leave(share, client->peer.client_id);
	/* Also when another one has ended before it could begin. */
	client_wake_next(client, share);
}

static void client_end_listing(struct client *client)
{
	struct user_quota *user = client->peer.account.user;

	if (user->lister == client->peer.client_id)
		user->lister = 0;
	client_leave_share(client, &user->listings);
}

/* What waits for the client goes on without it. */
static void client_end_waits(struct client *client)
{
	client_end_listing(client);
	client_leave_share(client, &client->peer.account.user->requests);
}

void client_end_request(struct client *client)
{
	if (client->is_viewing)
		client_end_listing(client);
}

static void client_leave_device(struct client *client)
{
	if (client->device == NULL)
		return;
	client_remember(client);
	device_set_end_client(client->device, client->peer.client_id);
	device_set_release(client->device);
	client->device = NULL;
}

void client_cut(struct served_peer *peer)
{
	struct client *client = client_of_peer(peer);
	uint64_t began_ns;

	served_set_cut(peer); /* charges its calls on the socket by itself */
	began_ns = request_connection_begin_call(&peer->requests);
	client_end_waits(client);
	device_set_forget_viewer(client->set->devices, peer->client_id);
	client_leave_device(client);
	client->is_viewing = false;
	if (peer->requests.is_charged)
		client_pay(client, clock_thread_ns() - began_ns);
}

void client_destroy(struct served_peer *peer)
{
	struct client *client = client_of_peer(peer);

	handle_table_remove(&client->set->numbers, client->number);
	list_remove(&client->id_node);
	client->set->has_ended_program |= client->has_greeted && !client->is_admin;
	served_set_remove(peer);
	user_quota_leave(peer->account.user, client->set->now_ns);
	free(client);
}

bool client_has_gone(struct client *client)
{
	struct request_connection *requests = &client->peer.requests;

	if (!requests->is_broken && request_connection_is_hung_up(requests))
		served_peer_end(&client->peer);
	return requests->is_broken;
}

static void client_set_end_all_of(struct client_set *set, uid_t account)
{
	struct list *node;

	list_for_each (node, &set->peers.all) {
		struct served_peer *peer = list_entry(node, struct served_peer, node);

		if (peer->account.user->uid != account)
			continue;
		peer->requests.is_costly = true;
		served_peer_end(peer);
	}
}

void client_set_charge(struct client_set *set, uid_t uid, uint64_t cpu_ns)
{
	uint32_t seconds;
	uid_t account;

	if (cpu_ns < LIMIT_CALL_NS || user_quota_is_owner(uid))
		return;
	account = client_set_account(set, uid);
	if (client_set_shuts_out(set, account))
		return;
	seconds = throttled_users_note(&set->throttled_users, account, set->now_ns);
	if (seconds == 0)
		return;
	log_from_client(uid,
			"all clients of user %u%s were disconnected, and the user gets no "
			"connection for %u s: a call on a socket of theirs took %u ms, as if the "
			"socket had very many watches",
			(unsigned)uid, account == uid ? "" : " and other ids of the same owner",
			(unsigned)seconds, (unsigned)(cpu_ns / RNIC_NS_PER_MS));
	client_set_end_all_of(set, account);
}

bool client_set_shuts_out(const struct client_set *set, uid_t account)
{
	return throttled_users_are_shut_out(&set->throttled_users, account, set->now_ns);
}

void client_note_late_trouble(struct client_set *set, const struct gone_client *gone,
			      enum rnic_cause cause, const char *subject, const char *reason)
{
	struct trouble trouble = {
		.at_ns = set->now_ns,
		.cause = cause,
		.pid = gone->pid,
		.uid = gone->uid,
		.account = client_set_account(set, gone->uid),
	};

	snprintf(trouble.program, sizeof(trouble.program), "%s", gone->program);
	snprintf(trouble.subject, sizeof(trouble.subject), "%s", subject);
	snprintf(trouble.reason, sizeof(trouble.reason), "%s", reason);
	trouble_log_note(&set->trouble_log, &trouble);
}

void client_note_trouble(struct client *client, enum rnic_cause cause, const char *subject,
			 const char *reason)
{
	struct gone_client present = {.pid = client->peer.pid, .uid = client->peer.uid};

	memcpy(present.program, client->peer.program, sizeof(present.program));
	client_note_late_trouble(client->set, &present, cause, subject, reason);
}

struct client *client_find(const struct client_set *set, uint32_t client_id)
{
	struct list *node;

	list_for_each (node, &set->by_id[client_id % CLIENT_SET_BUCKETS]) {
		struct client *client = list_entry(node, struct client, id_node);

		if (client->peer.client_id == client_id)
			return client;
	}
	return NULL;
}

/*
 * From the lowest bit on: the object's slot, the client's slot, and some of the generation, so that
 * a number is not used again soon. The uppermost bit is left for objects without a client.
 */
uint32_t client_object_number(const struct client *client, uint32_t slot)
{
	enum { SLOT_BITS = 14, CLIENT_BITS = 12, GENERATION_BITS = 5 };
	const uint32_t generation = client->number.generation & ((1U << GENERATION_BITS) - 1);

	_Static_assert(RNIC_SESSION_CQS_MAX <= 1 << SLOT_BITS, "a CQ");
	_Static_assert(LIMIT_SESSION_PDS <= 1 << SLOT_BITS, "a PD");
	_Static_assert(LIMIT_SESSION_CM_IDS <= 1 << SLOT_BITS, "an identifier");
	_Static_assert(LIMIT_SESSIONS <= 1 << CLIENT_BITS, "a client");
	_Static_assert(SLOT_BITS + CLIENT_BITS + GENERATION_BITS == 31, "a bit is left");
	return (((generation << CLIENT_BITS) | client->number.slot) << SLOT_BITS) |
	       (slot & ((1U << SLOT_BITS) - 1));
}

void client_expect_hello(struct client *client, struct list *list)
{
	served_peer_await(&client->peer, list, client->set->now_ns);
}

uint64_t client_next_hello_ns(const struct client_set *set)
{
	const uint64_t say_ns = served_peer_deadline_ns(&set->peers.silent);
	const uint64_t wait_ns = served_peer_deadline_ns(&set->greeting);

	return say_ns < wait_ns ? say_ns : wait_ns;
}

bool client_set_is_overdrawn(const struct client_set *set, uid_t account)
{
	const struct user_quota *user = user_quotas_find(&set->users, account);

	return user != NULL && !user->may_have_all && !user_quota_is_alone(user) &&
	       processor_share_is_overdrawn(&user->connections, set->now_ns);
}

void client_set_pay(struct client_set *set, uid_t account, uint64_t cpu_ns)
{
	struct user_quota *user = user_quotas_find(&set->users, account);

	if (user == NULL)
		return;
	user_quota_pay_connection(user, cpu_ns, set->now_ns);
	if (client_share_pays(user, false))
		processor_share_charge(&user->requests, cpu_ns, set->now_ns);
}

bool client_set_is_refused(const struct client_set *set, uid_t account)
{
	return client_set_shuts_out(set, account) || client_set_is_overdrawn(set, account);
}

bool client_set_note_turned_away(struct client_set *set, uid_t account)
{
	struct user_quota *user = user_quotas_find(&set->users, account);
	const uint32_t attempts =
		throttled_users_count_attempt(&set->throttled_users, account, set->now_ns);

	/* Who is shut out may have no quota any more. */
	if (attempts > 0)
		return attempts % LIMIT_TURNED_AWAY == 0;
	if (user == NULL || !client_set_is_overdrawn(set, account) ||
	    ++user->turned_away < LIMIT_TURNED_AWAY)
		return false;
	user->turned_away = 0;
	processor_share_exhaust(&user->connections, set->now_ns);
	return true;
}
