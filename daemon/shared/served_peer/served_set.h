/* SPDX-License-Identifier: MIT */
/*
 * All peers of a program: the server of their requests, the bounds and the use of what they hold,
 * and a list for each step of their end (served_peer.h).
 *
 * Invariant: peers end in peer_teardown_run() only, which no handler calls.
 */
#ifndef DAEMON_SHARED_SERVED_PEER_SERVED_SET_H
#define DAEMON_SHARED_SERVED_PEER_SERVED_SET_H

#include "daemon/shared/quota/quota_pool.h"
#include "daemon/shared/served_peer/request_server.h"
#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct served_peer;

struct served_set {
	struct request_server server; /* its epoll instance holds the connections */
	struct quota_pool quotas;
	struct list all;     /* struct served_peer.node */
	struct list silent;  /* struct served_peer.silent_node, in order of speak_by_ns */
	struct list broken;  /* struct served_peer.ending_node */
	struct list leaving; /* the same */
	struct list ending;  /* the same */
	uint32_t count;	     /* of `all` */
};

/*
 * Makes an empty set. `limits` and `own_descriptors` are those of quota_pool_init(). Returns a
 * negative errno of epoll_create1.
 */
int served_set_init(struct served_set *set, const struct request_role *role,
		    const uint64_t limits[RESOURCE_COUNT], uint64_t own_descriptors);

/* The set must be empty (asserted). */
void served_set_fini(struct served_set *set);

/* Returns whether a deferred request is to go on, or a peer is ending. */
bool served_set_has_work(const struct served_set *set);

/*
 * Adds a peer whose account is open, and lets the server serve its connection `fd`. The peer has
 * its time for the first request from `now_ns` on, and owns `fd`. Negative errno of
 * request_connection_open(): nothing has changed, and the caller keeps `fd` and the account.
 */
int served_set_add(struct served_set *set, struct served_peer *peer, int fd, uint64_t now_ns);

/*
 * For the role: served_set_cut() shuts the connection down, in role->cut. served_set_remove() takes
 * out a peer that has no objects any more and closes its account, in role->destroy.
 */
void served_set_cut(struct served_peer *peer);
void served_set_remove(struct served_peer *peer);

#endif
