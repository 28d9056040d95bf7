/* SPDX-License-Identifier: MIT */
/* How much one turn spends on the requests of one server. */
#ifndef DAEMON_SHARED_SERVED_PEER_REQUEST_LIMITS_H
#define DAEMON_SHARED_SERVED_PEER_REQUEST_LIMITS_H

enum {
	LIMIT_TURN_REQUESTS_NS = 1000000, /* a turn serves no more requests after this time */
	LIMIT_CLOSES_MS = 10000,   /* a client ends when its descriptors are not closed by then */
	LIMIT_REPLY_MS = 10000,	   /* a client ends when its reply cannot be sent by then */
	LIMIT_REPLY_RETRY_MS = 10, /* between two attempts to send such replies */
	LIMIT_TURN_RESUMED = 4,	   /* clients whose deferred requests go on in a turn */
};

#endif
