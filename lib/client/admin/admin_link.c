/* SPDX-License-Identifier: MIT */
#include "lib/client/admin/admin_link.h"

#include "lib/client/native/socket_trust.h"
#include "proto/base/time_units.h"
#include "proto/ctl/ctl_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { SHOW_ROWS_MAX = 1 << 22, LIMIT_MS = ADMIN_LINK_TIMEOUT_S * 1000 };

#define SHOW_HEAD_BYTES (sizeof(struct rnic_ctl_header) + sizeof(struct rnic_ctl_show_reply))

union message {
	struct rnic_ctl_header header;
	uint8_t bytes[RNIC_CTL_MESSAGE_BYTES];
	uint64_t alignment;
};

static int admin_link_fail(struct admin_link *link, int error, const char *what)
{
	snprintf(link->reason, sizeof(link->reason), "%s: %s", what, strerror(-error));
	return error;
}

static int fail_protocol(struct admin_link *link)
{
	snprintf(link->reason, sizeof(link->reason), "the answer is not one of rnicd's protocol");
	return -EPROTO;
}

/* ---- waiting ---- */

static uint64_t admin_link_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * RNIC_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t admin_link_deadline_ns(const struct admin_link *link)
{
	return admin_link_now_ns() + link->limit_ms * RNIC_NS_PER_MS;
}

/*
 * Whether to repeat a call that failed because a signal interrupted it. Each repetition starts the
 * socket's time limit anew, so the deadline bounds how often signals may interrupt.
 */
static bool admin_link_repeats(uint64_t deadline_ns)
{
	return errno == EINTR && admin_link_now_ns() < deadline_ns;
}

/* The error of a call that is not repeated. */
static int admin_link_error(void)
{
	return errno == EAGAIN || errno == EINTR ? -ETIMEDOUT : -errno;
}

static int admin_link_send(const struct admin_link *link, const void *message, size_t bytes)
{
	const uint64_t deadline_ns = admin_link_deadline_ns(link);

	while (send(link->fd, message, bytes, MSG_NOSIGNAL) < 0)
		if (!admin_link_repeats(deadline_ns))
			return admin_link_error();
	return 0;
}

/* Returns the length of the message, 0 after a hang-up, or a negative errno. */
static ssize_t admin_link_receive(const struct admin_link *link, union message *message)
{
	const uint64_t deadline_ns = admin_link_deadline_ns(link);
	ssize_t received;

	while ((received = recv(link->fd, message->bytes, sizeof(message->bytes), 0)) < 0)
		if (!admin_link_repeats(deadline_ns))
			return admin_link_error();
	return received;
}

/* ---- requests ---- */

/* Sends one request and leaves its checked reply in `message`; a refusal is an error here. */
static int admin_link_exchange(struct admin_link *link, uint32_t operation, const void *payload,
			       size_t payload_bytes, union message *message)
{
	size_t bytes = sizeof(message->header) + payload_bytes;
	uint32_t request_id = ++link->request_id;
	ssize_t received;
	int error;

	message->header = (struct rnic_ctl_header){
		.magic = RNIC_CTL_MAGIC,
		.version = operation == RNIC_CTL_HELLO ? 0 : RNIC_CTL_VERSION_MAX,
		.operation = (uint16_t)operation,
		.request_id = request_id,
		.bytes = (uint32_t)bytes,
	};
	memcpy(message->bytes + sizeof(message->header), payload, payload_bytes);
	error = admin_link_send(link, message->bytes, bytes);
	if (error)
		return admin_link_fail(link, error, "cannot send to the daemon");
	received = admin_link_receive(link, message);
	if (received < 0)
		return admin_link_fail(link, (int)received, "no answer of the daemon");
	if (received == 0)
		return admin_link_fail(link, -ECONNRESET, "the daemon hung up");
	if (rnic_ctl_check_reply(message->bytes, (size_t)received, 0, operation, request_id) < 0)
		return fail_protocol(link);
	if (message->header.status < 0) {
		const struct rnic_ctl_refusal *refusal =
			(const void *)(message->bytes + sizeof(message->header));
		snprintf(link->reason, sizeof(link->reason), "%.*s",
			 (int)sizeof(refusal->reason) - 1, refusal->reason);
		return message->header.status;
	}
	return 0;
}

/* ---- opening and closing ---- */

/* Makes the socket of the link, with its time limits. Returns a negative errno. */
static int admin_link_make_socket(struct admin_link *link)
{
	const struct timeval limit = {
		.tv_sec = link->limit_ms / 1000,
		.tv_usec = link->limit_ms % 1000 * 1000,
	};
	int error;

	link->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (link->fd < 0)
		return -errno;
	if (setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
	    setsockopt(link->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0)
		return 0;
	error = -errno;
	admin_link_close(link);
	return error;
}

static int admin_link_connect_to(struct admin_link *link, const char *socket_path)
{
	const uint64_t deadline_ns = admin_link_deadline_ns(link);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int error;

	if (strlen(socket_path) >= sizeof(address.sun_path))
		return admin_link_fail(link, -ENAMETOOLONG, socket_path);
	memcpy(address.sun_path, socket_path, strlen(socket_path));
	error = admin_link_make_socket(link);
	if (error)
		return admin_link_fail(link, error, "cannot create a socket");
	while (connect(link->fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		if (admin_link_repeats(deadline_ns))
			continue;
		error = admin_link_error();
		admin_link_close(link);
		return admin_link_fail(link, error, socket_path);
	}
	return 0;
}

/* Connects and says HELLO with `flags`. */
static int admin_link_greet(struct admin_link *link, const char *socket_path, const char *program,
			    uint32_t flags, uint32_t limit_ms)
{
	struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = flags,
	};
	const struct rnic_ctl_hello_reply *reply;
	union message message;
	int error;

	*link = (struct admin_link){.limit_ms = limit_ms};
	error = admin_link_connect_to(link, socket_path);
	if (error)
		return error;
	error = rnic_socket_check_peer(link->fd, socket_path, &link->owner);
	if (error) {
		admin_link_close(link);
		snprintf(link->reason, sizeof(link->reason),
			 "a stranger, user %u, serves on %.80s; give --socket another path",
			 (unsigned)link->owner, socket_path);
		return error;
	}
	snprintf(hello.program, sizeof(hello.program), "%s", program);
	error = admin_link_exchange(link, RNIC_CTL_HELLO, &hello, sizeof(hello), &message);
	if (error) {
		admin_link_close(link);
		return error;
	}
	reply = (const void *)(message.bytes + sizeof(message.header));
	link->device = reply->device;
	link->refuses_programs = (reply->flags & RNIC_HELLO_REFUSES_PROGRAMS) != 0;
	return 0;
}

int admin_link_open(struct admin_link *link, const char *socket_path, const char *program)
{
	return admin_link_open_within(link, socket_path, program, LIMIT_MS);
}

int admin_link_open_within(struct admin_link *link, const char *socket_path, const char *program,
			   uint32_t limit_ms)
{
	return admin_link_greet(link, socket_path, program, RNIC_HELLO_ADMIN, limit_ms);
}

int admin_link_try_use(struct admin_link *link, const char *socket_path, const char *program)
{
	int error = admin_link_greet(link, socket_path, program, 0, LIMIT_MS);

	/* The kernel has closed the device connection that came along. */
	if (!error)
		admin_link_close(link);
	return error;
}

void admin_link_close(struct admin_link *link)
{
	close(link->fd);
	link->fd = -1;
}

bool admin_link_is_absence(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED;
}

bool admin_link_has_daemon(const char *socket_path, const char *program)
{
	struct admin_link link;
	int error = admin_link_open(&link, socket_path, program);

	if (error == 0)
		admin_link_close(&link);
	return !admin_link_is_absence(error);
}

/* ---- rows ---- */

int admin_link_show_page(struct admin_link *link, uint32_t kind, struct admin_page *page)
{
	const struct rnic_ctl_show show = {.kind = kind, .cursor = page->cursor};
	struct rnic_ctl_show_reply reply;
	union message message;
	int error = admin_link_exchange(link, RNIC_CTL_SHOW, &show, sizeof(show), &message);

	if (error)
		return error;
	/* All rows are in the message: rnic_ctl_check_reply() looks at that. */
	memcpy(&reply, message.bytes + sizeof(message.header), sizeof(reply));
	if (reply.row_count > 0 && reply.row_bytes < ADMIN_ROW_BYTES_MIN)
		return fail_protocol(link);
	page->cursor = reply.next;
	page->count = reply.row_count;
	page->row_bytes = reply.row_bytes;
	memcpy(page->rows, message.bytes + SHOW_HEAD_BYTES,
	       (size_t)reply.row_count * reply.row_bytes);
	return 0;
}

/* Appends the rows of the page to `rows`. */
static int append_page(struct admin_link *link, const struct admin_page *page, size_t row_bytes,
		       uint8_t **rows, size_t *count)
{
	uint8_t *grown;

	if (page->count == 0)
		return 0;
	if (*count + page->count > SHOW_ROWS_MAX)
		return fail_protocol(link);
	grown = realloc(*rows, (*count + page->count) * row_bytes);
	if (!grown)
		return admin_link_fail(link, -ENOMEM, "rows");
	for (size_t i = 0; i < page->count; i++)
		admin_page_row(page, i, grown + (*count + i) * row_bytes, row_bytes);
	*rows = grown;
	*count += page->count;
	return 0;
}

int admin_link_show(struct admin_link *link, uint32_t kind, size_t row_bytes, void **rows,
		    size_t *count)
{
	struct admin_page page = {.cursor = 0};
	uint8_t *all = NULL;
	size_t all_count = 0;
	int error;

	do {
		error = admin_link_show_page(link, kind, &page);
		if (!error)
			error = append_page(link, &page, row_bytes, &all, &all_count);
		if (error) {
			free(all);
			return error;
		}
	} while (page.cursor != 0);
	*rows = all;
	*count = all_count;
	return 0;
}

int admin_link_condition(struct admin_link *link, const struct rnic_ctl_condition *condition,
			 char text[RNIC_CTL_TEXT_BYTES])
{
	const struct rnic_ctl_condition_reply *reply;
	union message message;
	int error = admin_link_exchange(link, RNIC_CTL_CONDITION, condition, sizeof(*condition),
					&message);

	if (error)
		return error;
	reply = (const void *)(message.bytes + sizeof(message.header));
	snprintf(text, RNIC_CTL_TEXT_BYTES, "%.*s", (int)sizeof(reply->text) - 1, reply->text);
	return 0;
}
