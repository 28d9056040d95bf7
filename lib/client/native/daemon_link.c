/* SPDX-License-Identifier: MIT */
#include "lib/client/native/daemon_link.h"

#include "lib/client/native/rnic_wait.h"
#include "lib/client/native/socket_trust.h"
#include "lib/client/native/faults/program_rules.h"
#include "lib/wait/clock.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"
#include "proto/ctl/ctl_check.h"

#include <rnic/rnic.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

union control_buffer {
	struct cmsghdr header;
	uint8_t bytes[CMSG_SPACE(sizeof(int) * RNIC_CTL_FDS_MAX)];
};

struct message {
	_Alignas(8) uint8_t bytes[RNIC_CTL_MESSAGE_BYTES];
	size_t received;
	int fds[RNIC_CTL_FDS_MAX];
	unsigned fd_count;
};

static _Thread_local char refusal_reason[RNIC_CTL_TEXT_BYTES];

const char *rnic_refusal_reason(void)
{
	return refusal_reason;
}

/*
 * Connecting and sending wait for room in the daemon's queues. A daemon that is stopped never makes
 * room.
 */
static int set_send_timeout(int fd, uint32_t ms)
{
	const struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = (long)(ms % 1000) * 1000};

	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 ? 0 : -errno;
}

static void lock_fork(const struct rnic_link *link)
{
	if (link->fork_lock != NULL)
		pthread_mutex_lock(link->fork_lock);
}

static void unlock_fork(const struct rnic_link *link)
{
	if (link->fork_lock != NULL)
		pthread_mutex_unlock(link->fork_lock);
}

/* Makes the socket of the link. */
static int daemon_link_make_socket(struct rnic_link *link)
{
	int error = 0;
	int fd;

	lock_fork(link);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		error = -errno;
	atomic_store(&link->fd, fd);
	unlock_fork(link);
	return error == 0 ? set_send_timeout(fd, link->answer_ms) : error;
}

static int daemon_link_connect_to(struct rnic_link *link, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int error;

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
	    (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	error = daemon_link_make_socket(link);
	if (error != 0)
		return error;
	while (connect(atomic_load(&link->fd), (const struct sockaddr *)&address,
		       sizeof(address)) != 0) {
		error = errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (error != -EINTR)
			return error;
	}
	return 0;
}

void rnic_link_init(struct rnic_link *link)
{
	*link = (struct rnic_link){.next_request_id = 1, .answer_ms = RNIC_LINK_ANSWER_MS};
	atomic_init(&link->lost, -ENODEV);
	atomic_init(&link->fd, -1);
	pthread_mutex_init(&link->lock, NULL);
}

int rnic_link_open(struct rnic_link *link, const char *socket_path)
{
	char usual[RNIC_SOCKET_PATH_BYTES];
	int error;

	if (socket_path == NULL) {
		error = rnic_default_socket_path(usual);
		if (error != 0)
			return error;
		socket_path = usual;
	}
	error = daemon_link_connect_to(link, socket_path);
	if (error == 0)
		error = rnic_socket_check_peer(atomic_load(&link->fd), socket_path, NULL);
	if (error == 0)
		atomic_store(&link->lost, 0);
	else
		rnic_link_close(link);
	return error;
}

void rnic_link_adopt(struct rnic_link *link, struct rnic_link *control)
{
	link->version = control->version;
	link->twin = control;
	control->twin = link;
	link->answer_ms = control->answer_ms = RNIC_LINK_NO_LIMIT_MS;
	atomic_store(&link->lost, 0);
}

static void lose_alone(struct rnic_link *link, int error)
{
	int alive = 0;
	int fd = atomic_load(&link->fd);

	if (atomic_compare_exchange_strong(&link->lost, &alive, error) && fd >= 0)
		shutdown(fd, SHUT_RDWR);
}

void rnic_link_lose(struct rnic_link *link, int error)
{
	assert(error < 0);
	lose_alone(link, error);
	if (link->twin != NULL)
		lose_alone(link->twin, error);
}

void rnic_link_close(struct rnic_link *link)
{
	int fd;

	rnic_link_lose(link, -ENODEV);
	pthread_mutex_lock(&link->lock);
	lock_fork(link);
	fd = atomic_exchange(&link->fd, -1);
	if (fd >= 0)
		close(fd);
	unlock_fork(link);
	pthread_mutex_unlock(&link->lock);
}

void rnic_link_forked(struct rnic_link *link)
{
	int fd = atomic_exchange(&link->fd, -1);

	atomic_store(&link->lost, -ENODEV);
	if (fd >= 0)
		close(fd);
	/* A thread that held the lock did not survive into this process. */
	pthread_mutex_init(&link->lock, NULL);
}

void rnic_link_fini(struct rnic_link *link)
{
	pthread_mutex_destroy(&link->lock);
}

int rnic_link_check(struct rnic_link *link)
{
	struct pollfd states[] = {
		{.fd = atomic_load(&link->fd), .events = POLLRDHUP},
		{.fd = link->twin != NULL ? atomic_load(&link->twin->fd) : -1, .events = POLLRDHUP},
	};

	if (rnic_link_lost(link) == 0 && poll(states, RNIC_COUNT_OF(states), 0) > 0)
		rnic_link_lose(link, -ENODEV);
	return rnic_link_lost(link);
}

static int daemon_link_send_request(struct rnic_link *link, const struct rnic_call *call,
				    uint32_t request_id)
{
	struct rnic_ctl_header header = {
		.magic = RNIC_CTL_MAGIC,
		.version = link->version,
		.operation = (uint16_t)call->operation,
		.request_id = request_id,
		.bytes = (uint32_t)(sizeof(header) + call->request_bytes),
	};
	struct iovec parts[] = {
		{.iov_base = &header, .iov_len = sizeof(header)},
		{.iov_base = (void *)call->request, .iov_len = call->request_bytes},
	};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	union control_buffer control = {0}; /* the kernel reads the padding too */

	if (call->request_fd >= 0) {
		control.header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&control.header), &call->request_fd, sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(sizeof(int));
	}
	while (sendmsg(atomic_load(&link->fd), &message, MSG_NOSIGNAL) < 0) {
		if (errno == EAGAIN)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return errno == EPIPE || errno == ECONNRESET ? -ENODEV : -errno;
	}
	return 0;
}

static void close_all(struct message *message)
{
	for (unsigned i = 0; i < message->fd_count; i++)
		close(message->fds[i]);
	message->fd_count = 0;
}

static void collect_fds(struct msghdr *header, struct message *message)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part != NULL;
	     part = CMSG_NXTHDR(header, part)) {
		size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count && message->fd_count < RNIC_CTL_FDS_MAX; i++)
			memcpy(&message->fds[message->fd_count++],
			       CMSG_DATA(part) + i * sizeof(int), sizeof(int));
	}
}

/* The time until the deadline as poll(2) takes it; 0: it has passed. */
static int until_ms(const struct rnic_link *link, uint64_t deadline_ms)
{
	uint64_t at_ms = clock_now_ns() / RNIC_NS_PER_MS;

	if (link->answer_ms == RNIC_LINK_NO_LIMIT_MS)
		return -1;
	return at_ms < deadline_ms ? (int)(deadline_ms - at_ms) : 0;
}

/* Places for the descriptors of a reply: the library could not ask for lost ones again. */
struct places {
	int fds[RNIC_CTL_FDS_MAX];
	unsigned count;
};

static void give_back(struct places *places)
{
	while (places->count > 0)
		close(places->fds[--places->count]);
}

/* -EMFILE, -ENFILE, -ENOMEM. */
static int keep_places(struct places *places, unsigned count)
{
	int error = 0;

	places->count = 0;
	while (error == 0 && places->count < count) {
		int fd = eventfd(0, EFD_CLOEXEC);

		if (fd >= 0)
			places->fds[places->count++] = fd;
		else
			error = -errno;
	}
	if (error != 0)
		give_back(places);
	return error;
}

/* -EAGAIN with MSG_DONTWAIT: the reply has not come. */
static int receive_reply(const struct rnic_link *link, int flags, struct message *message)
{
	struct iovec part = {.iov_base = message->bytes, .iov_len = sizeof(message->bytes)};
	union control_buffer control;
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t received;

	do {
		received = recvmsg(atomic_load(&link->fd), &header, flags | MSG_CMSG_CLOEXEC);
	} while (received < 0 && errno == EINTR);
	if (received < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (received <= 0)
		return -ENODEV;
	message->received = (size_t)received;
	collect_fds(&header, message);
	/*
	 * The kernel cuts descriptors off when another thread has taken the places that were kept.
	 */
	return (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ? -EIO : 0;
}

struct reply_look {
	const struct rnic_link *link;
	struct message *message;
	int error; /* of receive_reply() */
};

static int look_for_reply(void *context)
{
	struct reply_look *look = context;

	look->error = receive_reply(look->link, MSG_DONTWAIT, look->message);
	return look->error != -EAGAIN;
}

/* Waits for the reply, or for the end of the connection. Signals do not prolong it. */
static int wait_for_reply(const struct rnic_link *link)
{
	struct pollfd reply = {.fd = atomic_load(&link->fd), .events = POLLIN};
	uint64_t deadline_ms = clock_now_ns() / RNIC_NS_PER_MS + link->answer_ms;
	int ready;

	do
		ready = poll(&reply, 1, until_ms(link, deadline_ms));
	while (ready < 0 && errno == EINTR);
	if (ready > 0)
		return 0;
	snprintf(refusal_reason, sizeof(refusal_reason),
		 "the daemon has not answered for %u seconds", link->answer_ms / 1000);
	return -ETIMEDOUT;
}

/*
 * Waits for a reply without descriptors and receives it. A device inside the program has mostly
 * answered by now: the first look finds that answer without a yield.
 */
static int await_reply(const struct rnic_link *link, struct message *message)
{
	struct reply_look look = {.link = link, .message = message};
	int error;

	if (link->serve != NULL && look_for_reply(&look) != 0)
		return look.error;
	if (rnic_wait_awake_for(look_for_reply, &look) != 0)
		return look.error;
	error = wait_for_reply(link);
	return error != 0 ? error : receive_reply(link, 0, message);
}

/* Waits for a reply whose descriptors need the places, and leaves the reply in the socket. */
static int await_fds(const struct rnic_link *link, struct places *places)
{
	struct pollfd reply = {.fd = atomic_load(&link->fd), .events = POLLIN};
	const bool is_there = link->serve != NULL && poll(&reply, 1, 0) > 0;
	int error = is_there || rnic_wait_awake(&reply, 1) > 0 ? 0 : wait_for_reply(link);

	give_back(places);
	return error;
}

/* Hands a well-formed reply to the caller; false when the reply is not the one to the call. */
static bool try_accept(struct rnic_link *link, const struct rnic_call *call,
		       struct message *message, int *result)
{
	const uint8_t *payload = message->bytes + sizeof(struct rnic_ctl_header);
	struct rnic_ctl_header header;

	memcpy(&header, message->bytes, sizeof(header));
	*result = header.status;
	if (header.status != 0) {
		memcpy(refusal_reason, payload, sizeof(refusal_reason));
		return true;
	}
	if (message->fd_count != call->reply_fd_count)
		return false;
	if (call->reply_bytes > 0)
		memcpy(call->reply, payload, call->reply_bytes);
	if (call->reply_link != NULL)
		atomic_store(&call->reply_link->fd, message->fds[0]);
	else
		for (unsigned i = 0; i < message->fd_count; i++)
			call->reply_fds[i] = message->fds[i];
	message->fd_count = 0;
	link->version = header.version;
	return true;
}

/* Waits for the reply and hands it to the caller. A fork() finds its descriptor in a link. */
static int take_reply(struct rnic_link *link, const struct rnic_call *call, uint32_t request_id,
		      struct places *places, int *result)
{
	const bool has_fds = call->reply_fd_count > 0;
	struct message message;
	int error;

	message.fd_count = 0;
	error = has_fds ? await_fds(link, places) : await_reply(link, &message);
	if (call->reply_link != NULL)
		lock_fork(link);
	if (error == 0 && has_fds)
		error = receive_reply(link, 0, &message);
	if (error == 0 && (rnic_ctl_check_reply(message.bytes, message.received, message.fd_count,
						call->operation, request_id) != 0 ||
			   !try_accept(link, call, &message, result)))
		error = -EIO;
	close_all(&message);
	if (call->reply_link != NULL)
		unlock_fork(link);
	return error;
}

static int daemon_link_exchange(struct rnic_link *link, const struct rnic_call *call)
{
	uint32_t request_id = link->next_request_id++;
	struct places places;
	int result = 0;
	int error = rnic_link_lost(link);

	if (error == 0)
		error = keep_places(&places, call->reply_fd_count);
	if (error != 0)
		return error;
	error = daemon_link_send_request(link, call, request_id);
	if (error != 0)
		give_back(&places);
	/* The request was not sent, for a reason of this process: the daemon is there. */
	if (error != 0 && error != -ENODEV && error != -ETIMEDOUT)
		return error;
	if (error == 0 && link->serve != NULL)
		link->serve(link->serve_context);
	if (error == 0)
		error = take_reply(link, call, request_id, &places, &result);
	if (error == 0)
		return result;
	/* Request and reply are out of step from here on, or the other side is gone. */
	rnic_link_lose(link, error);
	return error;
}

/* A thread that is cancelled in between would leave the lock, and a reply for the next call. */
static int link_call_for_certain(struct rnic_link *link, const struct rnic_call *call)
{
	int error = rnic_link_lost(link);
	int cancellation;

	refusal_reason[0] = 0;
	if (error != 0)
		return error;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	pthread_mutex_lock(&link->lock);
	error = daemon_link_exchange(link, call);
	pthread_mutex_unlock(&link->lock);
	pthread_setcancelstate(cancellation, NULL);
	return error;
}

int rnic_link_call(struct rnic_link *link, const struct rnic_call *call)
{
	uint32_t rule = 0;
	int error = 0;

	if (verb_rules_have(link->rules, RNIC_VERB_KIND_CALLS))
		error = verb_rules_refuse_operation(link->rules, call->operation, &rule);
	if (error == 0)
		return link_call_for_certain(link, call);
	snprintf(refusal_reason, sizeof(refusal_reason), "rule %u of rnicctl fault list", rule);
	return error;
}

int rnic_link_call_for_fd(struct rnic_link *link, struct rnic_call call, int *reply_fd)
{
	call.reply_fds = reply_fd;
	call.reply_fd_count = 1;
	return rnic_link_call(link, &call);
}

int rnic_link_tell(struct rnic_link *link, enum rnic_ctl_operation operation, const void *request,
		   size_t request_bytes)
{
	const struct rnic_call call = {
		.operation = operation,
		.request = request,
		.request_bytes = request_bytes,
		.request_fd = -1,
	};

	return rnic_link_call(link, &call);
}

int rnic_link_call_object(struct rnic_link *link, enum rnic_ctl_operation operation,
			  struct rnic_handle handle)
{
	const struct rnic_ctl_object object = {.handle = handle};

	return rnic_link_tell(link, operation, &object, sizeof(object));
}

int rnic_link_drop_object(struct rnic_link *link, enum rnic_ctl_operation operation,
			  struct rnic_handle handle)
{
	const struct rnic_ctl_object object = {.handle = handle};
	const struct rnic_call call = {
		.operation = operation,
		.request = &object,
		.request_bytes = sizeof(object),
		.request_fd = -1,
	};
	char reason[sizeof(refusal_reason)];
	int error;

	memcpy(reason, refusal_reason, sizeof(reason));
	error = link_call_for_certain(link, &call);
	memcpy(refusal_reason, reason, sizeof(reason));
	return error;
}
