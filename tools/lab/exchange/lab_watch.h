/* SPDX-License-Identifier: MIT */
/*
 * Waiting. Every wait of rnic-lab is here, and ends with the awaited event, with the peer (whose
 * TCP connection then closes), with a signal, or in time.
 */
#ifndef TOOLS_LAB_EXCHANGE_LAB_WATCH_H
#define TOOLS_LAB_EXCHANGE_LAB_WATCH_H

#include <stdint.h>

struct lab_watch {
	int signal_fd; /* signalfd of SIGINT and SIGTERM, which are blocked */
	int peer_fd;   /* TCP to the peer after the exchange, when no more bytes come; -1 before */
	int signal;    /* the signal that ended a wait; 0 before */
};

#define LAB_FOREVER UINT64_MAX

/* The monotonic clock, now and in so many seconds. */
uint64_t lab_now_ns(void);
uint64_t lab_deadline_ns(uint32_t seconds);

/* Blocks the signals that end rnic-lab, and SIGPIPE. Negative errno. */
int lab_watch_init(struct lab_watch *watch);
void lab_watch_fini(struct lab_watch *watch);

/* Adds SIGCHLD, the end of a child, to the signals. Negative errno. */
int lab_watch_children(struct lab_watch *watch);

/*
 * Waits until one of `events` (poll(2)) is true of `fd`, -1 for none. -ETIMEDOUT: the deadline came
 * first. -EINTR: a signal, now in `watch`. -ECONNRESET: the peer is gone, and `fd` has nothing.
 */
int lab_wait(struct lab_watch *watch, int fd, short events, uint64_t deadline_ns);

#endif
