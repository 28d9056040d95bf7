/* SPDX-License-Identifier: MIT */
/* What a loop of the daemon does while there is nothing to do (--poll). */
#ifndef DAEMON_SHARED_BASE_POLL_MODE_H
#define DAEMON_SHARED_BASE_POLL_MODE_H

enum poll_mode {
	POLL_ADAPTIVE, /* poll for a short time after activity, yielding to others, then sleep */
	POLL_BUSY,     /* never sleep */
	POLL_SLEEP,    /* sleep at once */
};

#endif
