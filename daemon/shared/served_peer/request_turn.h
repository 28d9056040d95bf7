/* SPDX-License-Identifier: MIT */
/*
 * A bounded turn of a server of requests: goes on with some deferred requests, and serves the
 * connections that have requests or hung up. However many clients ask however much, each gets its
 * turn, and the loop gets its time.
 */
#ifndef DAEMON_SHARED_SERVED_PEER_REQUEST_TURN_H
#define DAEMON_SHARED_SERVED_PEER_REQUEST_TURN_H

#include <stdbool.h>

enum {
	LIMIT_TURN_REQUESTS_NS = 1000000, /* a turn serves no more requests after this time */
	LIMIT_TURN_RESUMED = 4, /* clients of each user whose deferred requests go on in a turn */
};

struct request_server;

/*
 * Notes which connections have requests, for a server whose role has `wake`: the next
 * request_turn_run() serves these connections alone. Call it when server->epoll_fd is readable, and
 * run a turn of the device between both calls: what a client posted before its request is on its
 * way before the answer.
 */
void request_turn_note(struct request_server *server);

/*
 * Serves the events of server->epoll_fd: connections, requests, hang-ups. The work is bounded;
 * epoll reports the rest again. Returns whether there was anything.
 */
bool request_turn_run(struct request_server *server);

#endif
