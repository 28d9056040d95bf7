/* SPDX-License-Identifier: MIT */
/*
 * All connections of clients to the control plane, and which of them wait for what. One epoll
 * instance holds the listening socket and the connections.
 *
 * Invariant: clients end in client_teardown_run() only, which no handler calls.
 */
#ifndef DAEMON_CLIENT_CLIENT_SET_H
#define DAEMON_CLIENT_CLIENT_SET_H

#include "base/list.h"
#include "client/trouble_log.h"
#include "common/deferred_close.h"
#include "common/device_facts.h"
#include "common/quota_pool.h"

#include <stdbool.h>
#include <stdint.h>

struct cm;
struct device_half;

struct client_set {
	struct device_half *device;
	struct cm *cm; /* the device's connection manager, made with cm_identifier_sink */
	const struct device_facts *facts;
	struct deferred_close deferred_close; /* of connections, in which descriptors may lie */
	struct list clients;		      /* struct client.node */
	struct list pre_hello; /* struct client.pre_hello_node, in the order in which they came */
	struct list resumes;   /* struct client.resume_node, in order of service */
	struct list broken;    /* struct client.broken_node: to be cut off */
	struct list leaving;   /* struct client.broken_node: cut off, but maybe still connected */
	struct list ending;    /* struct client.broken_node: without connections, being freed */
	uint32_t client_count;
	uint64_t ended_count; /* clients ever ended, and ever freed; in the same order */
	uint64_t freed_count;
	uint32_t next_client_id;
	int epoll_fd;
	uint64_t now_ns; /* of the turn under way */
	struct quota_pool quotas;
	struct trouble_log trouble_log;
};

/* What a set is made with; all of it outlives the set. */
struct client_set_config {
	struct device_half *device;
	struct cm *cm;
	const struct device_facts *facts;
};

/* Makes an empty set. Negative errno of epoll_create1. */
int client_set_init(struct client_set *set, const struct client_set_config *config);

/* The set must be empty (asserted). */
void client_set_fini(struct client_set *set);

/* Whether a request is to go on, or a client is ending. */
bool client_set_has_work(const struct client_set *set);

#endif
