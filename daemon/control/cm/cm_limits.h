/* SPDX-License-Identifier: MIT */
/* The bounds of the connection manager's tables. */
#ifndef DAEMON_CONTROL_CM_CM_LIMITS_H
#define DAEMON_CONTROL_CM_CM_LIMITS_H

enum cm_limit {
	LIMIT_CM_CONNECTIONS = 65536,
	LIMIT_CM_BINDINGS = 65536,
	LIMIT_CM_REPLIES = 256,	       /* replies without a connection that wait to be sent */
	LIMIT_CM_PENDING_LISTENS = 64, /* requests that wait for a listener */
};

#endif
