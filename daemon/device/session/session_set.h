/* SPDX-License-Identifier: MIT */
/*
 * All sessions of a device, and the scheduler of their work. A session that is not in
 * WAIT_DOORBELL_LOOK was asked to wake the daemon; all sessions are asked before the loop sleeps.
 *
 * One epoll instance holds the doorbells and the full pipes. The watches are edge-triggered and the
 * descriptors never read: clients share those file descriptions and could make a read block.
 */
#ifndef DAEMON_DEVICE_SESSION_SESSION_SET_H
#define DAEMON_DEVICE_SESSION_SESSION_SET_H

#include "daemon/device/session/scheduler.h"
#include "daemon/shared/link/device_facts.h"
#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct rnic_guard;
struct session_owner;

struct session_set {
	struct engine *engine;
	const struct device_facts *facts;
	const struct session_owner *owner; /* of the clients' connections */
	const struct rnic_guard *guard;	   /* where the client is this process; else NULL */
	struct list sessions;		   /* struct session.node */
	struct scheduler scheduler;
	struct list domains;	     /* struct shared_domain.node */
	_Atomic uint32_t *qp_owners; /* struct rnic_stats_file; NULL: nobody asks */
	uint32_t session_count;
	uint32_t flush_budget; /* receive WQEs that this turn may still flush; 0 outside reviews */
	int epoll_fd;
	uint64_t now_ns; /* time of the turn under way, or of the last turn */
	bool is_in_turn; /* packets may wait to be sent: errors are published after them */
	bool has_sigbus; /* true for some session */
	bool is_program; /* this process is the one client: no other one shares anything */
};

/*
 * Makes an empty set. `engine`, `facts` and `owner` outlive the set; the caller may initialise the
 * engine afterwards, with device_sink. Returns a negative errno of epoll_create1.
 */
int session_set_init(struct session_set *set, struct engine *engine,
		     const struct device_facts *facts, const struct session_owner *owner);

/* The set must be empty (asserted). */
void session_set_fini(struct session_set *set);

#endif
