/* SPDX-License-Identifier: MIT */
/*
 * The log of a device process of another user. Such a process must not hold the daemon's standard
 * error, which may be the administrator's terminal or a file of root: it gets a pipe. The control
 * plane copies the lines to its own log, with the user in front, printable, cut at a length, and as
 * rarely as log_from_client() allows.
 *
 * Nothing here blocks. A process that writes faster than the control plane reads loses lines.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_CHILD_LOG_H
#define DAEMON_CONTROL_SUPERVISOR_CHILD_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_LOG_LINE_BYTES 256 /* of a line, its end included; the rest is left out */

struct child_log {
	int fd;	   /* -1: no pipe, or closed */
	uid_t uid; /* the user in front of the lines */
	int epoll_fd;
	void *watch;	   /* what epoll tells of the pipe */
	uint64_t retry_ns; /* the pipe is not watched until then; UINT64_MAX: it is */
	uint32_t used;	   /* bytes of the line that has no end yet */
	char line[CHILD_LOG_LINE_BYTES];
};

/* There is no pipe: the process has the daemon's standard error. */
void child_log_init(struct child_log *log);

/*
 * Opens the pipe and adds it to `epoll_fd` with `watch` as its data. Stores the end for the
 * process, the caller's from then on. Negative errno: nothing is open.
 */
int child_log_open(struct child_log *log, uid_t uid, int epoll_fd, void *watch, int *write_fd);

/*
 * Copies lines that have come, a bounded number of bytes; to be called when the pipe is readable,
 * and at child_log_next_deadline_ns().
 */
void child_log_read(struct child_log *log, uint64_t now_ns);

/* UINT64_MAX: never. */
uint64_t child_log_next_deadline_ns(const struct child_log *log);

/* Copies what is there, and closes the pipe. */
void child_log_close(struct child_log *log);

#endif
