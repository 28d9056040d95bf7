/* SPDX-License-Identifier: MIT */
#include "daemon/shared/served_peer/served_peer.h"

#include "daemon/shared/base/log.h"
#include "daemon/shared/quota/client_limits.h"
#include "proto/base/time_units.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

int served_set_init(struct served_set *set, const struct request_role *role,
		    const uint64_t limits[RESOURCE_COUNT], uint64_t own_descriptors)
{
	quota_pool_init(&set->quotas, limits, own_descriptors);
	list_init(&set->all);
	list_init(&set->silent);
	list_init(&set->broken);
	list_init(&set->held);
	list_init(&set->leaving);
	list_init(&set->ending);
	set->count = 0;
	return request_server_init(&set->server, role);
}

void served_set_fini(struct served_set *set)
{
	assert(list_is_empty(&set->all));
	quota_pool_fini(&set->quotas);
	request_server_fini(&set->server);
}

bool served_set_has_work(const struct served_set *set)
{
	return !list_is_empty(&set->broken) || !list_is_empty(&set->leaving) ||
	       !list_is_empty(&set->ending) || request_server_has_resumes(&set->server);
}

int served_set_add(struct served_set *set, struct served_peer *peer, int fd, uint64_t now_ns)
{
	int result = request_connection_open(&peer->requests, &set->server, &peer->account, fd);

	if (result != 0)
		return result;
	peer->set = set;
	served_peer_await(peer, &set->silent, now_ns);
	list_add_tail(&set->all, &peer->node);
	set->count++;
	return 0;
}

void served_set_cut(struct served_peer *peer)
{
	list_remove(&peer->silent_node);
	request_connection_cut(&peer->requests);
}

void served_set_remove(struct served_peer *peer)
{
	assert(peer->requests.fd < 0);
	quota_close(&peer->account);
	list_remove(&peer->ending_node);
	list_remove(&peer->node);
	peer->set->count--;
	peer->set->server.freed_count++;
}

void served_peer_end(struct served_peer *peer)
{
	const struct request_role *role = peer->set->server.role;

	if (peer->requests.is_broken)
		return;
	peer->requests.is_broken = true;
	if (role->mark != NULL)
		role->mark(peer);
	peer->set->server.ended_count++;
	list_add_tail(&peer->set->broken, &peer->ending_node);
}

void served_peer_break(struct served_peer *peer, const char *format, ...)
{
	char user[sizeof(", user 4294967295")] = "";
	char reason[RNIC_CTL_TEXT_BYTES];
	va_list arguments;

	if (peer->requests.is_broken)
		return;
	served_peer_end(peer);
	peer->has_misbehaved = true;
	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	if (peer->set->server.role->names_users)
		snprintf(user, sizeof(user), ", user %u", (unsigned)peer->uid);
	log_from_client(peer->uid, "client %u (%s, pid %d%s) was disconnected: %s", peer->client_id,
			peer->program[0] != '\0' ? peer->program : "unnamed", (int)peer->pid, user,
			reason);
}

void served_peer_note_late(struct request_connection *connection, uint64_t waited_ns, bool was_busy)
{
	const struct served_peer *peer =
		RNIC_CONTAINER_OF(connection, struct served_peer, requests);

	log_from_client(peer->uid, "client %u (%s, pid %d) waited %.1f s for an answer: %s",
			peer->client_id, peer->program[0] != '\0' ? peer->program : "unnamed",
			(int)peer->pid, (double)waited_ns / RNIC_NS_PER_SECOND,
			was_busy ? "this process answered others first"
				 : "this process did not run; it was stopped, or threads that "
				   "compute or poll had the processors");
}

void served_peer_end_connection(struct request_connection *connection, const char *reason)
{
	struct served_peer *peer = RNIC_CONTAINER_OF(connection, struct served_peer, requests);

	if (reason != NULL)
		served_peer_break(peer, "%s", reason);
	else
		served_peer_end(peer);
}

uint64_t served_set_release_ns(const struct served_set *set)
{
	if (list_is_empty(&set->held))
		return UINT64_MAX;
	return list_first_entry(&set->held, const struct served_peer, ending_node)->held_until_ns;
}

void served_peer_await(struct served_peer *peer, struct list *silent, uint64_t now_ns)
{
	list_remove(&peer->silent_node);
	peer->speak_by_ns = now_ns + LIMIT_HELLO_MS * RNIC_NS_PER_MS;
	list_add_tail(silent, &peer->silent_node);
}

uint64_t served_peer_deadline_ns(const struct list *silent)
{
	if (list_is_empty(silent))
		return UINT64_MAX;
	return list_first_entry(silent, const struct served_peer, silent_node)->speak_by_ns;
}

struct served_peer *served_peer_take_late(struct list *silent, uint64_t now_ns)
{
	struct served_peer *peer;

	if (served_peer_deadline_ns(silent) > now_ns)
		return NULL;
	peer = list_first_entry(silent, struct served_peer, silent_node);
	list_remove(&peer->silent_node);
	return peer;
}
