/* SPDX-License-Identifier: MIT */
/*
 * All clients of the control plane, and lists of the clients that wait for something. One epoll
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
	struct cm *cm; /* the device's connection manager; its sink is cm_identifier_sink */
	const struct device_facts *facts;
	struct deferred_close deferred_close; /* of connections; they may hold descriptors */
	struct list clients;		      /* struct client.node */
	struct list pre_hello; /* struct client.pre_hello_node, in order of arrival */
	struct list resumes;   /* struct client.resume_node, in order of service */
	struct list broken;    /* struct client.broken_node: to be cut off */
	struct list leaving;   /* struct client.broken_node: cut off, but maybe still connected */
	struct list ending;    /* struct client.broken_node: without connections, being freed */
	uint32_t client_count;
	uint64_t ended_count; /* clients ever ended, and clients ever freed; in the same order */
	uint64_t freed_count;
	uint32_t next_client_id;
	int epoll_fd;
	uint64_t now_ns; /* time of the turn under way */
	struct quota_pool quotas;
	struct trouble_log trouble_log;
};

/* The configuration of a set. Everything in it outlives the set. */
struct client_set_config {
	struct device_half *device;
	struct cm *cm;
	const struct device_facts *facts;
};

/* Makes an empty set. Returns a negative errno of epoll_create1. */
int client_set_init(struct client_set *set, const struct client_set_config *config);

/* The set must be empty (asserted). */
void client_set_fini(struct client_set *set);

/* Returns whether a deferred request is to go on, or a client is ending. */
bool client_set_has_work(const struct client_set *set);

#endif
