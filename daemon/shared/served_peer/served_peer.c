/* SPDX-License-Identifier: MIT */
#include "daemon/shared/served_peer/served_peer.h"

#include "daemon/shared/base/log.h"
#include "daemon/shared/quota/client_limits.h"
#include "daemon/shared/served_peer/served_set.h"
#include "proto/base/time_units.h"

#include <stdarg.h>
#include <stdio.h>

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
	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	if (peer->set->server.role->names_users)
		snprintf(user, sizeof(user), ", user %u", (unsigned)peer->uid);
	log_from_client("client %u (%s, pid %d%s) was disconnected: %s", peer->client_id,
			peer->program[0] != '\0' ? peer->program : "unnamed", (int)peer->pid, user,
			reason);
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
