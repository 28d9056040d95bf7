/* SPDX-License-Identifier: MIT */
/*
 * All device connections of the device, and lists of the connections that wait for something.
 *
 * Invariant: connections end in connection_teardown_run() only, which no handler calls.
 */
#ifndef DAEMON_DEVICE_REQUESTS_CONNECTION_SET_H
#define DAEMON_DEVICE_REQUESTS_CONNECTION_SET_H

#include "daemon/shared/quota/quota_pool.h"
#include "daemon/shared/served_peer/request_server.h"
#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct device_host;
struct session_set;

struct connection_set {
	struct request_server server; /* its epoll instance holds the connections */
	struct session_set *sessions;
	const struct device_host *host;
	struct list connections; /* struct device_connection.node */
	struct list pre_open;	 /* struct device_connection.pre_open_node, in order of arrival */
	struct list broken;	 /* struct device_connection.broken_node: to be cut off */
	struct list ending;	 /* struct device_connection.broken_node: being freed */
	uint32_t connection_count;
	struct quota_pool quotas;
};

/*
 * Makes an empty set of clients whose sessions are in `sessions`. The arguments outlive the set.
 * All clients share at most `memory_bytes` with the process. Returns a negative errno of
 * epoll_create1.
 */
int connection_set_init(struct connection_set *set, struct session_set *sessions,
			const struct device_host *host, const struct request_role *role,
			uint64_t memory_bytes);

/* The set must be empty (asserted). */
void connection_set_fini(struct connection_set *set);

/* Returns whether a deferred request is to go on, or a client is ending. */
bool connection_set_has_work(const struct connection_set *set);

#endif
