/* SPDX-License-Identifier: MIT */
#include "daemon/shared/served_peer/request_turn.h"

#include "daemon/shared/served_peer/request_connection.h"
#include "daemon/shared/served_peer/request_server.h"
#include "lib/wait/clock.h"

#include <sys/epoll.h>

#define TURN_EVENTS 64

static void request_turn_resume(struct request_server *server)
{
	const struct list *node;
	unsigned count = 0;

	list_for_each (node, &server->resumes)
		if (++count == LIMIT_TURN_RESUMED)
			break;
	/* Calls that are deferred again go behind the others. */
	while (count-- > 0)
		request_connection_resume(
			list_first_entry(&server->resumes, struct request_connection, resume_node));
}

void request_turn_note(struct request_server *server)
{
	struct epoll_event events[TURN_EVENTS];
	const int count = epoll_wait(server->epoll_fd, events, TURN_EVENTS, 0);

	for (int i = 0; i < count; i++) {
		struct request_connection *connection = events[i].data.ptr;

		if (connection == NULL)
			continue;
		if (!list_is_linked(&connection->due_node))
			list_add_tail(&server->due, &connection->due_node);
		server->role->wake(connection);
	}
}

/*
 * Serves one request of each noted connection. Connections that are left at `end_ns` come first in
 * the next turn. To ask epoll once more would be wrong: its answer has no room for all connections,
 * and names in turn those that were not noted yet. Returns whether there was any.
 */
static bool request_turn_serve_due(struct request_server *server, uint64_t end_ns)
{
	const bool has_due = !list_is_empty(&server->due);
	bool is_late = false;

	while (!is_late && !list_is_empty(&server->due)) {
		struct request_connection *connection =
			list_first_entry(&server->due, struct request_connection, due_node);

		list_remove(&connection->due_node);
		is_late = request_connection_serve(connection, end_ns);
	}
	return has_due;
}

/* Serves one request of each connection that epoll reports. Returns whether there was any. */
static bool request_turn_serve_reported(struct request_server *server, uint64_t end_ns)
{
	struct epoll_event events[TURN_EVENTS];
	int count = epoll_wait(server->epoll_fd, events, TURN_EVENTS, 0);
	bool is_late = false;

	server->first++;
	for (int i = 0; i < count; i++) {
		/* The clients come first in rotation. epoll reports again the clients that this
		 * call serves no more. */
		struct request_connection *connection =
			events[(server->first + (uint32_t)i) % (uint32_t)count].data.ptr;

		if (connection == NULL)
			server->role->accept(server);
		else if (!is_late)
			is_late = request_connection_serve(connection, end_ns);
	}
	return count > 0;
}

bool request_turn_run(struct request_server *server)
{
	const uint64_t end_ns = clock_now_ns() + LIMIT_TURN_REQUESTS_NS;
	const bool has_resumes = request_server_has_resumes(server);
	bool has_served;

	request_server_take_unsent(server);
	request_turn_resume(server);
	if (server->role->wake != NULL)
		has_served = request_turn_serve_due(server, end_ns);
	else
		has_served = request_turn_serve_reported(server, end_ns);
	return has_resumes || has_served;
}
