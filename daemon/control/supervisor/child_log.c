/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/child_log.h"

#include "daemon/shared/base/log.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define CHILD_LOG_READ_BYTES 4096
#define CHILD_LOG_PAUSE_NS   (100 * RNIC_NS_PER_MS) /* after so many bytes at once */

void child_log_init(struct child_log *log)
{
	*log = (struct child_log){.fd = -1, .retry_ns = UINT64_MAX};
}

static int child_log_watch(struct child_log *log)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = log->watch};

	log->retry_ns = UINT64_MAX;
	return epoll_ctl(log->epoll_fd, EPOLL_CTL_ADD, log->fd, &event) == 0 ? 0 : -errno;
}

int child_log_open(struct child_log *log, uid_t uid, int epoll_fd, void *watch, int *write_fd)
{
	int fds[2];
	int result;

	/* Neither end waits: the process must not stand still for its log. */
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	log->fd = fds[0];
	log->uid = uid;
	log->epoll_fd = epoll_fd;
	log->watch = watch;
	log->used = 0;
	result = child_log_watch(log);
	if (result != 0) {
		close(fds[0]);
		close(fds[1]);
		log->fd = -1;
		return result;
	}
	*write_fd = fds[1];
	return 0;
}

/* Writes the line as one of ours: the process's own name is in front of it already. */
static void child_log_end_line(struct child_log *log)
{
	static const char name[] = "rnicd: ";
	const char *text = log->line;

	log->line[log->used] = '\0';
	log->used = 0;
	if (strncmp(text, name, sizeof(name) - 1) == 0)
		text += sizeof(name) - 1;
	if (*text != '\0')
		log_from_client(log->uid, "user %u: %s", (unsigned)log->uid, text);
}

static void child_log_take(struct child_log *log, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char byte = bytes[i];

		if (byte == '\n')
			child_log_end_line(log);
		else if (log->used < sizeof(log->line) - 1)
			log->line[log->used++] = byte < ' ' || byte > '~' ? '?' : byte;
	}
}

/* The descriptors of a pipe are no client's: this close does not wait. */
static void child_log_shut(struct child_log *log)
{
	epoll_ctl(log->epoll_fd, EPOLL_CTL_DEL, log->fd, NULL);
	close(log->fd);
	log->fd = -1;
	log->retry_ns = UINT64_MAX;
	if (log->used > 0)
		child_log_end_line(log);
}

void child_log_read(struct child_log *log, uint64_t now_ns)
{
	char bytes[CHILD_LOG_READ_BYTES];
	ssize_t count;

	if (log->fd < 0 || (log->retry_ns != UINT64_MAX && now_ns < log->retry_ns))
		return;
	count = read(log->fd, bytes, sizeof(bytes));
	if (count > 0)
		child_log_take(log, bytes, (size_t)count);
	if (count == 0) {
		child_log_shut(log);
	} else if (count == sizeof(bytes)) {
		epoll_ctl(log->epoll_fd, EPOLL_CTL_DEL, log->fd, NULL);
		log->retry_ns = now_ns + CHILD_LOG_PAUSE_NS;
	} else if (log->retry_ns != UINT64_MAX && child_log_watch(log) != 0) {
		child_log_shut(log);
	}
}

uint64_t child_log_next_deadline_ns(const struct child_log *log)
{
	return log->retry_ns;
}

void child_log_close(struct child_log *log)
{
	if (log->fd < 0)
		return;
	log->retry_ns = UINT64_MAX;
	child_log_read(log, 0);
	if (log->fd >= 0)
		child_log_shut(log);
}
