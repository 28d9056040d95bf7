/* SPDX-License-Identifier: MIT */
/*
 * Memory that the control plane shares with one device process: the facts page and the statistics
 * page (process_message.h). A memfd that nobody can resize, so that no access of the control plane
 * can meet a page that is gone.
 *
 * The object owns mapping and descriptor. The descriptor goes to the device process with START, and
 * is closed then; the mapping stays.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_SHARED_PAGE_H
#define DAEMON_CONTROL_SUPERVISOR_SHARED_PAGE_H

#include <stdbool.h>
#include <stddef.h>

enum shared_page_writer {
	SHARED_PAGE_OF_CONTROL, /* the control plane writes, the device process can only read */
	SHARED_PAGE_OF_DEVICE,	/* the device process writes, the control plane only reads */
};

struct shared_page {
	void *address; /* NULL: closed */
	size_t bytes;
	int fd; /* -1: closed */
};

/*
 * Makes `bytes` zeroed bytes. `name` shows in /proc. Negative errno of memfd_create(2),
 * ftruncate(2), mmap(2) or fcntl(2); nothing is open then.
 */
int shared_page_open(struct shared_page *page, const char *name, size_t bytes,
		     enum shared_page_writer writer);

/* Closes the descriptor alone. */
void shared_page_close_fd(struct shared_page *page);

/* Closes what is open of a page that was opened once, or is closed. */
void shared_page_close(struct shared_page *page);

#endif
