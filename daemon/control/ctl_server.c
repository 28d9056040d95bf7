/* SPDX-License-Identifier: MIT */
#include "control/ctl_server.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/time_units.h"
#include "common/client_limits.h"
#include "control/control_limits.h"
#include "control/ctl_dispatch.h"
#include "client/client.h"
#include "client/client_set.h"
#include "device/device_half.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER_EVENTS 64

int ctl_server_open(struct ctl_server *server, struct client_set *set, const char *path,
		    char reason[SOCKET_PATH_REASON_BYTES])
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
	int listen_fd = socket_path_listen(path, &server->place, reason);
	int result;

	if (listen_fd < 0)
		return listen_fd;
	server->set = set;
	server->listen_fd = listen_fd;
	server->first = 0;
	server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (epoll_ctl(set->epoll_fd, EPOLL_CTL_ADD, listen_fd, &event) != 0) {
		result = -errno;
		snprintf(reason, SOCKET_PATH_REASON_BYTES, "cannot watch the control socket");
		ctl_server_close(server);
		return result;
	}
	return 0;
}

void ctl_server_close(struct ctl_server *server)
{
	socket_path_remove(&server->place);
	close(server->listen_fd);
	if (server->spare_fd >= 0)
		close(server->spare_fd);
}

/*
 * Turns a connection away when no descriptor is left: accepts it with the spare descriptor and
 * closes it. The client learns of the end, and the listening socket does not stay readable for
 * ever.
 */
static void ctl_server_turn_away(struct ctl_server *server)
{
	int fd;

	if (server->spare_fd >= 0)
		close(server->spare_fd);
	fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		deferred_close_take(&server->set->deferred_close, fd);
	server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	log_from_client("a connection was turned away: no file descriptors are left");
}

static void ctl_server_accept(struct ctl_server *server)
{
	struct ucred credentials;
	socklen_t bytes = sizeof(credentials);
	int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE)
			ctl_server_turn_away(server);
		return;
	}
	if (server->set->client_count >= LIMIT_SESSIONS) {
		log_from_client("a connection was turned away: there are %d clients",
				LIMIT_SESSIONS);
		deferred_close_take(&server->set->deferred_close, fd);
		return;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0 ||
	    client_create(server->set, fd, credentials.pid, credentials.uid) == NULL) {
		log_from_client(
			"a connection was turned away: no memory, or its user has too much");
		deferred_close_take(&server->set->deferred_close, fd);
	}
}

/* Takes the descriptors out of a received message. Returns false when some did not fit. */
static bool ctl_server_take_fds(struct msghdr *message, struct ctl_call *call)
{
	struct cmsghdr *control;

	call->fd_count = 0;
	for (control = CMSG_FIRSTHDR(message); control != NULL;
	     control = CMSG_NXTHDR(message, control)) {
		if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
			continue;
		call->fd_count = (unsigned)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(call->fds, CMSG_DATA(control), call->fd_count * sizeof(int));
	}
	return (message->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
}

/* Closes the descriptors of a request that no handler kept. */
static void ctl_server_drop_request_fds(const struct ctl_call *call)
{
	for (unsigned i = 0; i < call->fd_count; i++)
		if (call->fds[i] >= 0)
			quota_defer_close(&call->client->account, call->fds[i]);
}

static void ctl_server_send(struct ctl_call *call)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * RNIC_CTL_FDS_MAX)];
	} control = {.bytes = {0}};
	struct iovec vector = {&call->reply, call->reply.header.bytes};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
	size_t fds_bytes = call->reply_fd_count * sizeof(int);

	if (call->reply_fd_count > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(fds_bytes);
		control.header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(fds_bytes),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&control.header), call->reply_fds, fds_bytes);
	}
	if (sendmsg(call->client->socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if (errno == EPIPE || errno == ECONNRESET)
			client_end(call->client);
		else
			client_break(call->client, "it does not take its replies (%s)",
				     strerror(errno));
	}
	for (unsigned i = 0; i < call->reply_fd_count; i++)
		close(call->reply_fds[i]);
}

/*
 * Keeps a request that goes on, or waits, in a later turn. Until then the server receives no other
 * request of the client.
 */
static void ctl_server_defer(struct ctl_call *call)
{
	struct client *client = call->client;

	client->call = malloc(sizeof(*call));
	if (client->call == NULL) {
		client_break(client, "there is no memory for its request");
		return;
	}
	memcpy(client->call, call, sizeof(*call));
	list_add_tail(&client->set->resumes, &client->resume_node);
}

static void ctl_server_carry_out(struct ctl_call *call, size_t received)
{
	struct client *client = call->client;
	int result = ctl_dispatch(call, received);
	bool brought_fds = call->fd_count > 0;

	if (result == 0)
		ctl_server_send(call);
	ctl_server_drop_request_fds(call);
	call->fd_count = 0;
	if (result == -EINPROGRESS) {
		ctl_server_defer(call);
	} else if (brought_fds && !client->is_broken && quota_closes_are_behind(&client->account)) {
		call->closed_by_ns = clock_now_ns() + LIMIT_CLOSES_MS * RNIC_NS_PER_MS;
		ctl_server_defer(call);
	}
}

/*
 * Holds an answered request until the closing of the client's descriptors catches up. Until then
 * the server receives no other request of the client: a busy machine closes late, and a hostile
 * file system never.
 */
static void ctl_server_await_closes(struct ctl_call *call)
{
	if (!quota_closes_are_behind(&call->client->account))
		return;
	if (clock_now_ns() < call->closed_by_ns)
		ctl_server_defer(call);
	else
		client_break(call->client, "closing what it sent takes too long");
}

static void ctl_server_resume(struct client_set *set)
{
	const struct list *node;
	unsigned count = 0;

	list_for_each (node, &set->resumes)
		if (++count == LIMIT_TURN_RESUMED)
			break;
	/* Calls that are deferred again go behind the others. */
	while (count-- > 0) {
		struct client *client = list_first_entry(&set->resumes, struct client, resume_node);
		struct ctl_call *call = client->call;

		list_remove(&client->resume_node);
		client->call = NULL;
		if (!client->is_broken && call->closed_by_ns != 0)
			ctl_server_await_closes(call);
		else if (!client->is_broken)
			ctl_server_carry_out(call, call->request.header.bytes);
		free(call);
	}
}

/*
 * Receives and answers one request. Returns false when no request is left, or the client has ended.
 */
static bool ctl_server_serve_one(struct client *client, struct ctl_call *call)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_LEN(sizeof(int) * CTL_RECEIVED_FDS_MAX)];
	} control;
	struct iovec vector = {&call->request, sizeof(call->request)};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t received = recvmsg(client->socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (received < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (received < 0) {
		client_end(client);
		return false;
	}
	call->client = client;
	call->session = client->session;
	memset(call->progress, 0, sizeof(call->progress));
	call->waits_for = 0;
	call->closed_by_ns = 0;
	/* An empty message means the end of the connection, but may carry descriptors. */
	if (!ctl_server_take_fds(&message, call))
		client_break(client, "its message is too long or has too many descriptors");
	else if (received == 0)
		client_end(client);
	if (client->is_broken)
		ctl_server_drop_request_fds(call);
	else
		ctl_server_carry_out(call, (size_t)received);
	return !client->is_broken && client->call == NULL;
}

/*
 * Serves at most `requests` requests. The duration of some requests grows with the client's
 * objects: the server stops after the first request that ends at or after `end_ns`. Returns whether
 * it stopped for that reason.
 */
static bool ctl_server_serve(struct client *client, unsigned requests, uint64_t end_ns)
{
	struct ctl_call call;

	if (client->call != NULL)
		return false;
	for (unsigned i = 0; i < requests && !client->is_broken; i++) {
		bool is_last = !ctl_server_serve_one(client, &call);

		if (clock_now_ns() >= end_ns)
			return true;
		if (is_last)
			break;
	}
	return false;
}

/*
 * Makes the turns look at the client's doorbells from now on. Returns whether the session was
 * asleep.
 */
static bool ctl_server_wake(struct client *client)
{
	return client->session != NULL && device_half_wake_session(client->session);
}

bool ctl_server_has_resumes(const struct ctl_server *server)
{
	return !list_is_empty(&server->set->resumes);
}

bool ctl_server_poll(struct ctl_server *server)
{
	struct epoll_event events[SERVER_EVENTS];
	const uint64_t end_ns = clock_now_ns() + LIMIT_TURN_REQUESTS_NS;
	const bool has_resumes = ctl_server_has_resumes(server);
	int count = epoll_wait(server->set->epoll_fd, events, SERVER_EVENTS, 0);
	/* The more clients ask, the fewer requests the server takes of each. */
	unsigned requests = count < LIMIT_TURN_REQUESTS && count > 0
				    ? LIMIT_TURN_REQUESTS / (unsigned)count
				    : 1;
	bool is_late = false;

	ctl_server_resume(server->set);
	server->first++;
	for (int i = 0; i < count; i++) {
		/* The clients come first in rotation. epoll reports again the clients that this
		 * call serves no more. */
		struct client *client =
			events[(server->first + (uint32_t)i) % (uint32_t)count].data.ptr;

		if (client == NULL)
			ctl_server_accept(server);
		/* The next turn first takes what the client posted before its request. */
		else if (!is_late && !ctl_server_wake(client))
			is_late = ctl_server_serve(client, requests, end_ns);
	}
	return has_resumes || count > 0;
}
