/* SPDX-License-Identifier: MIT */
#include "daemon/shared/served_peer/request_connection.h"

#include "daemon/shared/quota/quota.h"
#include "daemon/shared/quota/user_quota.h"
#include "daemon/shared/served_peer/ctl_call.h"
#include "daemon/shared/served_peer/request_server.h"
#include "lib/wait/clock.h"
#include "proto/base/time_units.h"
#include "proto/ctl/ctl_check.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SOCKET_DESCRIPTORS 1 /* the connection uses one descriptor */
#define CONNECTION_EVENTS  (EPOLLIN | EPOLLRDHUP)
#define LATE_NS		   RNIC_NS_PER_SECOND

uint64_t request_connection_begin_call(const struct request_connection *connection)
{
	return connection->is_charged ? clock_thread_ns() : 0;
}

void request_connection_end_call(struct request_connection *connection, uint64_t began_ns)
{
	if (connection->is_charged)
		connection->server->role->charge(connection, clock_thread_ns() - began_ns);
}

static bool request_connection_has_stamps(const struct request_server *server, int fd)
{
	int value = 0;
	socklen_t bytes = sizeof(value);

	return server->role->note_late != NULL &&
	       getsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &value, &bytes) == 0 && value != 0;
}

int request_connection_open(struct request_connection *connection, struct request_server *server,
			    struct quota_account *account, int fd)
{
	struct epoll_event event = {.events = CONNECTION_EVENTS, .data.ptr = connection};
	struct user_quota *user = account->user;
	int result = quota_charge(account, RESOURCE_DESCRIPTORS, SOCKET_DESCRIPTORS);

	if (result != 0)
		return result;
	if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
		result = -errno;
		quota_discharge(account, RESOURCE_DESCRIPTORS, SOCKET_DESCRIPTORS);
		return result;
	}
	*connection = (struct request_connection){
		.server = server,
		.account = account,
		.fd = fd,
		.is_stamped = request_connection_has_stamps(server, fd),
		.resume.share = user != NULL ? &user->resumes : &server->resume_share,
		.due.share = user != NULL ? &user->due : &server->due_share,
		.is_charged = server->role->charge != NULL && !quota_has_all(account),
	};
	return 0;
}

static void request_connection_close_reply(struct ctl_call *call)
{
	for (unsigned i = 0; i < call->reply_fd_count; i++)
		close(call->reply_fds[i]);
	if (call->sent_by_ns != 0)
		quota_discharge(call->connection->account, RESOURCE_DESCRIPTORS,
				call->reply_fd_count);
	call->reply_fd_count = 0;
	call->sent_by_ns = 0;
}

/* Closes the descriptors of a reply that waits, if this one does. */
static void request_connection_drop_waiting_reply(struct ctl_call *call)
{
	if (call->sent_by_ns != 0)
		request_connection_close_reply(call);
}

void request_connection_cut(struct request_connection *connection)
{
	struct request_server *server = connection->server;
	uint64_t began_ns;

	list_remove(&connection->resume.node);
	list_remove(&connection->due.node);
	if (connection->call != NULL)
		request_connection_drop_waiting_reply(connection->call);
	free(connection->call);
	connection->call = NULL;
	began_ns = request_connection_begin_call(connection);
	epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
	if (!connection->is_costly)
		shutdown(connection->fd, SHUT_RDWR);
	request_connection_end_call(connection, began_ns);
	quota_discharge(connection->account, RESOURCE_DESCRIPTORS, SOCKET_DESCRIPTORS);
	quota_defer_close(connection->account, connection->fd);
	connection->fd = -1;
}

static void request_connection_end(struct request_connection *connection)
{
	connection->server->role->end(connection, NULL);
}

__attribute__((format(printf, 2, 3))) static void
request_connection_break(struct request_connection *connection, const char *format, ...)
{
	char reason[RNIC_CTL_TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	connection->server->role->end(connection, reason);
}

/* --- carrying out ---------------------------------------------------------------------------- */

#define WAITS_FOR_A_TURN UINT64_MAX

/*
 * Returns whether `call` is to be carried out again: a client that ended before the request came
 * may still hold the resource that the call found missing. The first time the call waits for the
 * end of the turn, which may find hang-ups, and then until the clients that had ended are freed.
 */
static bool request_connection_may_wait(struct ctl_call *call)
{
	const struct request_server *server = call->connection->server;

	if (call->waits_for == 0) {
		call->waits_for = WAITS_FOR_A_TURN;
		return true;
	}
	if (call->waits_for == WAITS_FOR_A_TURN)
		call->waits_for = server->ended_count;
	return server->freed_count < call->waits_for;
}

static void request_connection_make_reply(struct ctl_call *call, int status)
{
	const struct rnic_ctl_header *request = &call->request.header;

	if (status != 0) {
		struct rnic_ctl_refusal *refusal = (void *)call->reply.payload;

		memset(refusal, 0, sizeof(*refusal));
		snprintf(refusal->reason, sizeof(refusal->reason), "%s",
			 call->reason[0] != '\0' ? call->reason : strerror(-status));
		call->reply_bytes = sizeof(*refusal);
	}
	call->reply.header = (struct rnic_ctl_header){
		.magic = RNIC_CTL_MAGIC,
		.version = RNIC_CTL_VERSION_MAX,
		.operation = request->operation,
		.request_id = request->request_id,
		.bytes = (uint32_t)sizeof(struct rnic_ctl_header) + call->reply_bytes,
		.status = status,
	};
}

int request_connection_dispatch(struct ctl_call *call, size_t received)
{
	struct request_connection *connection = call->connection;
	const struct request_role *role = connection->server->role;
	int status = rnic_ctl_check_request(&call->request, received, call->fd_count);

	call->reason[0] = '\0';
	call->reply_fd_count = 0;
	if (status == -EPROTO) {
		request_connection_break(connection,
					 "it sent something that is no control request");
		return -EPROTO;
	}
	if (status == 0) {
		call->reply_bytes = rnic_ctl_reply_bytes(call->request.header.operation);
		memset(call->reply.payload, 0, call->reply_bytes);
		call->awaits_news = false;
		call->waits_in = NULL;
		call->awaits_time = false;
		status = role->handle(call);
	}
	/*
	 * A request with descriptors does not wait: no account would own the descriptors meanwhile.
	 */
	if (status == -ENOSPC && call->fd_count == 0 && request_connection_may_wait(call))
		status = -EINPROGRESS;
	if (status == -EINPROGRESS)
		return status;
	if (status == -EPROTO) {
		request_connection_break(connection, "%s", call->reason);
		return -EPROTO;
	}
	if (status != 0)
		role->note_refusal(connection, call->request.header.operation, status,
				   call->reason);
	request_connection_make_reply(call, status);
	return 0;
}

/* --- receiving and sending ------------------------------------------------------------------- */

/* Takes the descriptors out of a received message. */
static void request_connection_take_fds(struct msghdr *message, struct ctl_call *call)
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
}

/* Closes the descriptors of a request that no handler kept. */
static void request_connection_drop_fds(const struct ctl_call *call)
{
	for (unsigned i = 0; i < call->fd_count; i++)
		if (call->fds[i] >= 0)
			quota_defer_close(call->connection->account, call->fds[i]);
}

/* Sends the reply with its descriptors. Returns 0 or a negative errno. */
static int request_connection_send_reply(const struct ctl_call *call)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * RNIC_CTL_FDS_MAX)];
	} control = {.bytes = {0}};
	struct iovec vector = {(void *)&call->reply, call->reply.header.bytes};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
	size_t fds_bytes = call->reply_fd_count * sizeof(int);
	const uint64_t began_ns = request_connection_begin_call(call->connection);
	int result = 0;

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
	if (sendmsg(call->connection->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		result = -errno;
	request_connection_end_call(call->connection, began_ns);
	return result;
}

/*
 * Whether the reply waits. ETOOMANYREFS: too many descriptors of this process's user are on their
 * way, between whatever programs. They arrive when the readers go on. Meanwhile the client is
 * charged for the descriptors of its reply.
 */
static bool request_connection_reply_waits(struct ctl_call *call, int result)
{
	uint64_t now_ns;

	if (result != -ETOOMANYREFS)
		return false;
	now_ns = clock_now_ns();
	if (call->sent_by_ns != 0)
		return now_ns < call->sent_by_ns;
	if (quota_charge(call->connection->account, RESOURCE_DESCRIPTORS, call->reply_fd_count) !=
	    0)
		return false;
	call->sent_by_ns = now_ns + LIMIT_REPLY_MS * RNIC_NS_PER_MS;
	return true;
}

/* Returns false when the reply waits: send it again in a later turn. */
static bool request_connection_send(struct ctl_call *call)
{
	const int result = request_connection_send_reply(call);

	if (request_connection_reply_waits(call, result))
		return false;
	request_connection_close_reply(call);
	if (result == -EPIPE || result == -ECONNRESET)
		request_connection_end(call->connection);
	else if (result == -ETOOMANYREFS)
		request_connection_break(call->connection,
					 "too many descriptors of its user are on their way");
	else if (result != 0)
		request_connection_break(call->connection, "it does not take its replies (%s)",
					 strerror(-result));
	return true;
}

static void request_connection_watch(const struct request_connection *connection, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = (void *)connection};

	epoll_ctl(connection->server->epoll_fd, EPOLL_CTL_MOD, connection->fd, &event);
}

/* Whether the deferred request goes on after news, or after a time, and not in the next turn. */
static bool request_connection_sleeps(const struct ctl_call *call)
{
	return call->awaits_news || call->waits_in != NULL || call->awaits_time ||
	       call->sent_by_ns != 0;
}

/* Puts the connection where its deferred request goes on. */
static void request_connection_queue(struct request_connection *connection)
{
	struct request_server *server = connection->server;
	const struct ctl_call *call = connection->call;

	if (call->sent_by_ns != 0 || call->awaits_time) {
		if (list_is_empty(&server->unsent))
			server->retry_ns = clock_now_ns() + LIMIT_REPLY_RETRY_MS * RNIC_NS_PER_MS;
		list_add_tail(&server->unsent, &connection->resume.node);
	} else if (call->waits_in != NULL) {
		list_add_tail(call->waits_in, &connection->resume.node);
	} else if (call->awaits_news) {
		list_add_tail(&server->waiting, &connection->resume.node);
	} else {
		fair_queue_add(&server->resumes, &connection->resume);
	}
}

/*
 * Keeps a request that goes on, or waits, in a later turn. Until then the server receives no other
 * request of the client.
 */
static void request_connection_defer(struct ctl_call *call)
{
	struct request_connection *connection = call->connection;

	connection->call = malloc(sizeof(*call));
	if (connection->call == NULL) {
		request_connection_drop_waiting_reply(call);
		request_connection_break(connection, "there is no memory for its request");
		return;
	}
	memcpy(connection->call, call, sizeof(*call));
	/* What else the client sends must not keep the server awake meanwhile. */
	if (request_connection_sleeps(call))
		request_connection_watch(connection, EPOLLRDHUP);
	request_connection_queue(connection);
}

/* Holds an answered request that had descriptors while their closing is behind. */
static void request_connection_hold(struct ctl_call *call)
{
	const struct request_connection *connection = call->connection;

	if (!call->has_brought_fds || connection->is_broken ||
	    !quota_closes_are_behind(connection->account))
		return;
	call->closed_by_ns = clock_now_ns() + LIMIT_CLOSES_MS * RNIC_NS_PER_MS;
	request_connection_defer(call);
}

static void request_connection_carry_out(struct ctl_call *call, size_t received)
{
	int result = request_connection_dispatch(call, received);

	if (result == 0)
		fair_queue_note_served(&call->connection->server->resumes,
				       &call->connection->resume);
	call->has_brought_fds = call->fd_count > 0;
	if (result == 0 && !request_connection_send(call))
		result = -EINPROGRESS;
	request_connection_drop_fds(call);
	call->fd_count = 0;
	if (result == -EINPROGRESS)
		request_connection_defer(call);
	else
		request_connection_hold(call);
}

/* Sends the reply that waits. */
static void request_connection_send_again(struct ctl_call *call)
{
	if (request_connection_send(call))
		request_connection_hold(call);
	else
		request_connection_defer(call);
}

/*
 * Holds an answered request until the closing of the client's descriptors catches up. Until then
 * the server receives no other request of the client: a busy machine closes late, and a hostile
 * file system never.
 */
static void request_connection_await_closes(struct ctl_call *call)
{
	if (!quota_closes_are_behind(call->connection->account))
		return;
	if (clock_now_ns() < call->closed_by_ns)
		request_connection_defer(call);
	else
		request_connection_break(call->connection, "closing what it sent takes too long");
}

void request_connection_hasten(struct request_connection *connection)
{
	if (connection->call == NULL)
		return;
	list_remove(&connection->resume.node);
	fair_queue_add(&connection->server->resumes, &connection->resume);
}

void request_connection_resume(struct request_connection *connection)
{
	struct ctl_call *call = connection->call;

	list_remove(&connection->resume.node);
	connection->call = NULL;
	if (request_connection_sleeps(call) && !connection->hangup_only)
		request_connection_watch(connection, CONNECTION_EVENTS);
	if (connection->is_broken)
		request_connection_drop_waiting_reply(call);
	else if (call->sent_by_ns != 0)
		request_connection_send_again(call);
	else if (call->closed_by_ns != 0)
		request_connection_await_closes(call);
	else
		request_connection_carry_out(call, call->request.header.bytes);
	free(call);
}

/* Removes the message that was looked at. */
static void request_connection_remove(struct request_connection *connection)
{
	const uint64_t began_ns = request_connection_begin_call(connection);

	recv(connection->fd, NULL, 0, MSG_DONTWAIT);
	request_connection_end_call(connection, began_ns);
}

/* When the request was sent, by the wall clock; 0: the message has no stamp. */
static uint64_t request_connection_stamp_ns(struct msghdr *message)
{
	struct cmsghdr *control;
	struct timespec stamp;

	for (control = CMSG_FIRSTHDR(message); control != NULL;
	     control = CMSG_NXTHDR(message, control)) {
		if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&stamp, CMSG_DATA(control), sizeof(stamp));
		return (uint64_t)stamp.tv_sec * RNIC_NS_PER_SECOND + (uint64_t)stamp.tv_nsec;
	}
	return 0;
}

/* A step of the wall clock may look like a wait: that is a wrong line in the log, and no more. */
static void request_connection_note_wait(struct request_connection *connection,
					 struct msghdr *message)
{
	struct request_server *server = connection->server;
	const uint64_t sent_ns = request_connection_stamp_ns(message);
	uint64_t now_ns;

	if (sent_ns == 0)
		return;
	now_ns = clock_wall_ns();
	if (now_ns > sent_ns + LATE_NS)
		server->role->note_late(connection, now_ns - sent_ns, server->taken_ns > sent_ns);
	server->taken_ns = now_ns;
}

/*
 * Receives one request with its descriptors. A server that takes no descriptors only looks at a
 * message that has some: to receive it would be to close them, and a last close may block. Returns
 * the bytes of the request; 0: there is none, or the client has ended.
 */
static size_t request_connection_receive(struct request_connection *connection,
					 struct ctl_call *call)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(struct timespec)) +
			   CMSG_LEN(sizeof(int) * CTL_RECEIVED_FDS_MAX)];
	} control;
	const bool takes_fds = connection->server->role->takes_descriptors;
	struct iovec vector = {&call->request, sizeof(call->request)};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = takes_fds ? control.bytes : NULL,
		.msg_controllen = takes_fds ? sizeof(control.bytes) : 0,
	};
	const int flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC | (takes_fds ? 0 : MSG_PEEK);
	ssize_t received = recvmsg(connection->fd, &message, flags);

	if (received < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (received < 0) {
		request_connection_end(connection);
		return 0;
	}
	call->connection = connection;
	request_connection_take_fds(&message, call);
	if (connection->is_stamped)
		request_connection_note_wait(connection, &message);
	call->has_foreign_fds = !takes_fds && (message.msg_flags & MSG_CTRUNC) != 0;
	/* An empty message means the end of the connection, but may carry descriptors. */
	if ((message.msg_flags & (MSG_TRUNC | (takes_fds ? MSG_CTRUNC : 0))) != 0)
		request_connection_break(connection,
					 "its message is too long or has too many descriptors");
	else if (received == 0)
		request_connection_end(connection);
	else if (!takes_fds && !call->has_foreign_fds)
		request_connection_remove(connection);
	if (!connection->is_broken)
		return (size_t)received;
	request_connection_drop_fds(call);
	return 0;
}

/*
 * Receives nothing more of a client whose message holds descriptors, and is still in the socket.
 * To close the socket now would take the reply away from a client that has not read the reply yet.
 */
static void request_connection_set_hangup_only(struct request_connection *connection)
{
	connection->hangup_only = true;
	request_connection_watch(connection, EPOLLRDHUP);
}

/* Receives and answers one request, if there is one. */
static void request_connection_serve_one(struct request_connection *connection)
{
	struct ctl_call call;
	const size_t received = request_connection_receive(connection, &call);

	if (received == 0)
		return;
	call.client = NULL;
	call.session = NULL;
	memset(call.progress, 0, sizeof(call.progress));
	call.has_share = false;
	call.awaits_news = false;
	call.waits_in = NULL;
	call.awaits_time = false;
	call.waits_for = 0;
	call.closed_by_ns = 0;
	call.sent_by_ns = 0;
	request_connection_carry_out(&call, received);
	if (call.has_foreign_fds && !connection->is_broken)
		request_connection_set_hangup_only(connection);
}

bool request_connection_is_hung_up(const struct request_connection *connection)
{
	struct pollfd events = {.fd = connection->fd, .events = POLLRDHUP};

	return poll(&events, 1, 0) > 0;
}

bool request_connection_serve(struct request_connection *connection, uint64_t end_ns)
{
	if (connection->call != NULL) {
		if (request_connection_sleeps(connection->call) &&
		    request_connection_is_hung_up(connection))
			request_connection_end(connection);
		return false;
	}
	if (connection->hangup_only) {
		request_connection_end(connection);
		return false;
	}
	if (!connection->is_broken)
		request_connection_serve_one(connection);
	return clock_now_ns() >= end_ns;
}
