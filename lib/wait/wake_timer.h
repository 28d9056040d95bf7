/* SPDX-License-Identifier: MIT */
/* The timer that ends the sleep of a loop: a descriptor, readable when the timer has fired. */
#ifndef LIB_WAIT_WAKE_TIMER_H
#define LIB_WAIT_WAKE_TIMER_H

#include <stdint.h>

struct wake_timer {
	int fd;		   /* a timerfd of CLOCK_MONOTONIC, which never blocks */
	uint64_t armed_ns; /* when the timer fires; UINT64_MAX: not armed */
};

/* Negative errno; the timer has nothing to close then. */
int wake_timer_open(struct wake_timer *timer);

/*
 * Arms the timer for `deadline_ns` or earlier; UINT64_MAX is no deadline. A timer that fires early
 * costs an empty turn; arming it anew for each packet that moves a deadline would cost a system
 * call each.
 */
void wake_timer_arm(struct wake_timer *timer, uint64_t deadline_ns, uint64_t now_ns);

/* Arms the timer for exactly that time. */
void wake_timer_set(struct wake_timer *timer, uint64_t wake_ns);

/* Makes the descriptor unreadable again, after the timer has fired. */
void wake_timer_take(struct wake_timer *timer);

#endif
