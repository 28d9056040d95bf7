/* SPDX-License-Identifier: MIT */
/*
 * A peer that a program of the daemon serves: its connection, the process behind the connection,
 * and the account of all that the process holds here. The peers of the control plane are its
 * clients, those of the device its device connections; both embed this struct, and own its memory.
 *
 * The peer is hostile. served_peer_break() notes what is wrong, and peer_teardown_run() ends the
 * peer where no caller still holds a pointer to the peer. These are the steps, each with the list
 * of the set that the peer stands in:
 *
 *   silent     has had no request accepted, and ends when its time is over
 *   broken     is to be cut off with this turn
 *   held       is cut off; its objects stay for a time that the role chose
 *   leaving    is cut off; its urgent objects are being freed
 *   ending     its other objects are being freed, and then the peer itself
 *
 * Invariants: peers end in peer_teardown_run() only, which no handler calls. The account (quota.h)
 * ends at 0; served_set_remove() asserts this.
 */
#ifndef DAEMON_SHARED_SERVED_PEER_SERVED_PEER_H
#define DAEMON_SHARED_SERVED_PEER_SERVED_PEER_H

#include "daemon/shared/quota/quota.h"
#include "daemon/shared/quota/quota_pool.h"
#include "daemon/shared/served_peer/request_connection.h"
#include "daemon/shared/served_peer/request_server.h"
#include "lib/nic/base/list.h"
#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All peers of a program: their server, and the bounds and the use of all that they hold. */
struct served_set {
	struct request_server server; /* its epoll instance holds the connections */
	struct quota_pool quotas;
	struct list all;     /* struct served_peer.node */
	struct list silent;  /* struct served_peer.silent_node, in order of speak_by_ns */
	struct list broken;  /* struct served_peer.ending_node */
	struct list held;    /* the same, in order of held_until_ns */
	struct list leaving; /* the same */
	struct list ending;  /* the same */
	uint32_t count;	     /* of `all` */
};

struct served_peer {
	struct request_connection requests;
	struct served_set *set;
	struct list node;	 /* of served_set.all */
	struct list silent_node; /* of served_set.silent, or of a list of the program */
	struct list ending_node; /* of served_set.broken, held, leaving, and then ending */
	uint64_t speak_by_ns;	 /* the deadline for the first request, while in such a list */
	uint64_t held_until_ns;	 /* while in served_set.held; else 0 */
	bool has_misbehaved;	 /* served_peer_break() ended the peer */
	struct quota_account account;
	uint32_t client_id;
	pid_t pid;
	uid_t uid;
	char program[RNIC_CTL_NAME_BYTES];
	void *objects; /* the tables that the stages of the teardown name; NULL: none yet */
	struct {
		uint32_t stage;
		uint32_t slot;
	} teardown; /* the progress of freeing these objects */
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

/* Ends the peer with this turn and without a log line: the peer has gone, or is to go. */
void served_peer_end(struct served_peer *peer);

/* For request_role.note_late: logs who waited, how long, and why. */
void served_peer_note_late(struct request_connection *connection, uint64_t waited_ns,
			   bool was_busy);

/* For request_role.end: the same, or with a reason what served_peer_break() does. */
void served_peer_end_connection(struct request_connection *connection, const char *reason);

/*
 * Notes that the peer broke the protocol: logs one line (the first time) and ends the peer with
 * this turn. `format` completes "client 3 (program, pid 17, user 1000) was disconnected: "; the
 * user is named where the role says so.
 */
void served_peer_break(struct served_peer *peer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns when the first held peer is to be released; UINT64_MAX: none is held. */
uint64_t served_set_release_ns(const struct served_set *set);

/* Puts the peer into such a list of silent peers. The deadline is the whole time from `now_ns`. */
void served_peer_await(struct served_peer *peer, struct list *silent, uint64_t now_ns);

/* Returns the earliest deadline in such a list; UINT64_MAX: the list is empty. */
uint64_t served_peer_deadline_ns(const struct list *silent);

/* Takes the first peer whose time is over out of such a list; NULL: there is none. */
struct served_peer *served_peer_take_late(struct list *silent, uint64_t now_ns);

#endif
