/* SPDX-License-Identifier: MIT */
#include "daemon/shared/served_peer/request_turn.h"

#include "daemon/shared/served_peer/request_connection.h"
#include "daemon/shared/served_peer/request_server.h"
#include "lib/wait/clock.h"
#include "proto/base/bits.h"

#include <sys/epoll.h>

#define TURN_EVENTS 64
#define CALLS_MAX   64 /* of epoll_wait in a turn: enough for all clients */

/* Deferred requests go on, of each user in turn. Those deferred again wait for a later turn. */
static void request_turn_resume(struct request_server *server, uint64_t end_ns)
{
	struct fair_item *item;

	fair_queue_begin_round(&server->resumes, LIMIT_TURN_RESUMED);
	do {
		item = fair_queue_take_due(&server->resumes);
		if (item != NULL)
			request_connection_resume(
				RNIC_CONTAINER_OF(item, struct request_connection, resume));
	} while (item != NULL && clock_now_ns() < end_ns);
}

/* Notes the connections of some events. */
static void request_turn_take(struct request_server *server, const struct epoll_event *events,
			      int count)
{
	const struct request_role *role = server->role;

	for (int i = 0; i < count; i++) {
		struct request_connection *connection = events[i].data.ptr;

		if (connection == NULL && role->accept != NULL)
			role->accept(server);
		if (connection == NULL)
			continue;
		if (!list_is_linked(&connection->due.node))
			fair_queue_add(&server->due, &connection->due);
		if (role->wake != NULL)
			role->wake(connection);
	}
}

void request_turn_note(struct request_server *server)
{
	struct epoll_event events[TURN_EVENTS];

	request_turn_take(server, events, epoll_wait(server->epoll_fd, events, TURN_EVENTS, 0));
}

/*
 * Serves one request of each noted connection, in turn of their users. Connections that are left at
 * `end_ns` come first in the next turn. Returns whether there was any.
 */
static bool request_turn_serve_due(struct request_server *server, uint64_t end_ns)
{
	struct fair_item *item = fair_queue_take(&server->due);
	const bool has_due = item != NULL;

	while (item != NULL &&
	       !request_connection_serve(RNIC_CONTAINER_OF(item, struct request_connection, due),
					 end_ns))
		item = fair_queue_take(&server->due);
	return has_due;
}

/*
 * Notes all connections that have requests: a user with one must not wait until epoll has reported
 * all those of another. epoll goes on where its last answer ended, and so comes back to the first.
 * Returns whether there was any event.
 */
static bool request_turn_note_all(struct request_server *server)
{
	struct epoll_event events[TURN_EVENTS];
	const void *first = NULL;
	bool has_all = false;
	int count = 0;

	for (unsigned call = 0; call < CALLS_MAX && !has_all; call++) {
		count = epoll_wait(server->epoll_fd, events, TURN_EVENTS, 0);
		if (call == 0 && count > 0)
			first = events[0].data.ptr;
		for (int i = 0; i < count && call > 0; i++)
			has_all |= events[i].data.ptr == first;
		request_turn_take(server, events, count);
		has_all |= count < TURN_EVENTS;
		if (call == 0 && count <= 0)
			return false;
	}
	return true;
}

bool request_turn_run(struct request_server *server)
{
	const uint64_t end_ns = clock_now_ns() + LIMIT_TURN_REQUESTS_NS;
	const bool has_resumes = request_server_has_resumes(server);
	bool has_served = false;

	request_server_take_unsent(server);
	request_turn_resume(server, end_ns);
	/* To ask epoll once more would be wrong for a role with `wake`: its answer has no room for
	 * all connections, and names in turn those that were not noted yet. */
	if (server->role->wake == NULL)
		has_served = request_turn_note_all(server);
	has_served |= request_turn_serve_due(server, end_ns);
	return has_resumes || has_served;
}
