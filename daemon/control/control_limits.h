/* SPDX-License-Identifier: MIT */
/* What one turn spends on control requests. */
#ifndef DAEMON_CONTROL_CONTROL_LIMITS_H
#define DAEMON_CONTROL_CONTROL_LIMITS_H

enum {
	LIMIT_TURN_REQUESTS = 16,	  /* but one of each connection at least */
	LIMIT_TURN_REQUESTS_NS = 1000000, /* no more of any once they took so long */
	LIMIT_CLOSES_MS = 10000, /* a client whose descriptors are not closed by then is ended */
	LIMIT_TURN_RESUMED = 4,	 /* clients whose requests take more than one turn */
};

#endif
