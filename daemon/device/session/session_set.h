/* SPDX-License-Identifier: MIT */
/*
 * All sessions of a device, and the scheduler of what they wait for. A session that does not wait
 * for a look at its doorbells was asked to ring, like all sessions before the loop sleeps.
 *
 * One epoll instance holds the doorbells and full pipes, edge-triggered and never read: clients
 * share those file descriptions and could make a read block.
 */
#ifndef DAEMON_DEVICE_SESSION_SESSION_SET_H
#define DAEMON_DEVICE_SESSION_SESSION_SET_H

#include "base/list.h"
#include "common/device_facts.h"
#include "device/session/scheduler.h"

#include <stdbool.h>
#include <stdint.h>

struct device_host;
struct engine;

struct session_set {
	struct engine *engine;
	const struct device_facts *facts;
	const struct device_host *host;
	struct list sessions; /* struct session.node, the next to learn of bulk traffic first */
	struct scheduler scheduler;
	struct list domains; /* struct shared_domain.node */
	uint32_t session_count;
	uint32_t flush_budget; /* receive entries that may still be flushed; 0 out of reviews */
	int epoll_fd;
	uint64_t now_ns;   /* of the turn under way */
	bool has_sigbus;   /* a session has */
	bool is_bulk;	   /* whether much data goes through the device: clients are told */
	bool is_told_bulk; /* what new clients are told, and all others by and by */
	uint32_t bulk_notify_pending; /* sessions at the front of the list that may not know it */
};

/*
 * Makes an empty set. `engine`, `facts` and `host` outlive it; the engine may be initialised
 * afterwards, with device_half_sink. Negative errno of epoll_create1.
 */
int session_set_init(struct session_set *set, struct engine *engine,
		     const struct device_facts *facts, const struct device_host *host);

/* The set must be empty (asserted). */
void session_set_fini(struct session_set *set);

#endif
