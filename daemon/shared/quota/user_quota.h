/* SPDX-License-Identifier: MIT */
/*
 * The users of the control plane, and how they share its resources. Half of each resource is dealt
 * out in equal parts to LIMIT_USER_PLACES users: such a part is sure. The other half is for
 * everybody, and a user takes at most half of what the others leave of it. So each user finds
 * something, however many others hold all that they can, over any number of connections.
 *
 * A reserve is left over for root and for the user who runs the daemon. They may have all there is:
 * they can end the daemon as well. A few clients that only look come out of the reserve too: a user
 * at the own limit can still find out who holds what. A device process works for one user and has
 * no such accounts.
 *
 * What a client sent is closed in its user's thread, and counts for the user until then: a file
 * system of one user may hang, and holds up no other user's.
 *
 * Invariant: a user's usage is the sum of its clients' usage. A user lives while it has clients, or
 * something is not closed or not paid yet, and for USER_QUOTA_KEPT_NS: who hangs up and comes back
 * has no new account, and makes no new thread each time.
 */
#ifndef DAEMON_SHARED_QUOTA_USER_QUOTA_H
#define DAEMON_SHARED_QUOTA_USER_QUOTA_H

#include "daemon/shared/base/deferred_close.h"
#include "daemon/shared/quota/fair_queue.h"
#include "daemon/shared/quota/processor_share.h"
#include "daemon/shared/quota/quota_pool.h"
#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	LIMIT_USER_PLACES = 32,	  /* users who have a sure part */
	LIMIT_USER_PARTS = 64,	  /* such a part is one in so many */
	LIMIT_RESERVE_PARTS = 16, /* of the whole, the reserve is one in so many */
	LIMIT_USER_VIEWERS = 2,	  /* clients beyond the share, which only look */
	LIMIT_OTHER_VIEWERS = 16, /* of all users without a place, together */
	/* The viewers of all users take from the reserve, and leave most of the reserve to root. */
	LIMIT_VIEWERS = LIMIT_USER_PLACES * LIMIT_USER_VIEWERS + LIMIT_OTHER_VIEWERS,
};

#define USER_QUOTA_KEPT_NS UINT64_C(1000000000)

/*
 * What the requests of a user may cost: those that only look, and all others. All users who have a
 * sure part take one processor together for what they look at. `rnicctl show` ten times a second
 * takes about half of such a share. Programs that start, or that connect all to all, need much at
 * once: a user who is alone pays for nothing but what looks. Only the requests themselves are
 * measured. The loop around them takes as long again, so that a user has a quarter of a processor.
 *
 * To accept a connection is little work, and more around it that nobody measures: to wake, to look,
 * to close. Some thousands at once are within the burst of `connections`. A user who is alone waits
 * for nothing there, but is charged: who has connected without end owes that when another user
 * comes. Users who connect at the same time pay for each other, up to LIMIT_CONNECTION_CROWD times:
 * so the parts of many do not add up to a processor, and each can still start a few hundred
 * processes at once.
 */
#define LIMIT_LISTING_PARTS	   32
#define LIMIT_LISTING_BURST_NS	   UINT64_C(50000000)
#define LIMIT_REQUEST_PARTS	   8
#define LIMIT_REQUEST_BURST_NS	   UINT64_C(500000000)
#define LIMIT_CONNECTION_PARTS	   16
#define LIMIT_CONNECTION_AROUND_NS UINT64_C(10000) /* of one, beyond what is measured */
#define LIMIT_CONNECTION_CROWD	   8
#define LIMIT_CONNECTION_BURST_NS  UINT64_C(100000000)

/* Connections that a user makes though they are turned away, before the kernel refuses them. */
#define LIMIT_TURNED_AWAY 32

/* All users of a pool. */
struct user_quotas {
	const struct quota_pool *pool;
	struct list users; /* struct user_quota.node */
	uint32_t place_count;
	uint32_t present_count;		       /* users who have clients */
	uint32_t other_viewer_count;	       /* viewers of users without a place */
	uint64_t common_usage[RESOURCE_COUNT]; /* beyond sure parts and reserve */
};

struct user_quota {
	struct list node; /* of user_quotas.users */
	struct user_quotas *all;
	uid_t uid;
	uint32_t client_count; /* 0: the user is still to be kept */
	uint64_t left_ns;      /* when a client last left */
	uint32_t viewer_count; /* among the clients: beyond the share (quota.h) */
	bool has_place;	       /* among the LIMIT_USER_PLACES */
	bool may_have_all;
	struct deferred_close deferred_close; /* for the descriptors and mappings of its clients */
	struct fair_share due;		      /* of request_server.due: its clients' requests */
	struct fair_share resumes;	      /* of request_server.resumes */
	struct processor_share listings;      /* pays for requests that only look */
	struct processor_share requests;      /* for all others, and for connections */
	struct processor_share connections;   /* for these alone: who owes here gets no more */
	uint32_t turned_away;		      /* connections, since the latest that was not */
	uint32_t lister; /* the client whose SHOW asks device processes; 0: none. Others wait in
			    listings.waiting */
	uint64_t usage[RESOURCE_COUNT];
};

/* Whether the user may have all there is: root, and the user who runs the daemon. */
bool user_quota_is_owner(uid_t uid);

/* No users yet. The pool outlives the object. */
void user_quotas_init(struct user_quotas *all, const struct quota_pool *pool);

/* Asserts that no client is left. What is not closed yet is closed later, and counts no more. */
void user_quotas_fini(struct user_quotas *all);

/* How many descriptors and mappings of all users are not closed yet. */
uint64_t user_quotas_pending(const struct user_quotas *all);

/* Adds a client to the user of `uid`. NULL: out of memory. */
struct user_quota *user_quota_join(struct user_quotas *all, uid_t uid, uint64_t now_ns);

/* Returns the user of `uid`; NULL: nobody of that user has been here lately. */
struct user_quota *user_quotas_find(const struct user_quotas *all, uid_t uid);

/* Whether no other user has clients. */
bool user_quota_is_alone(const struct user_quota *user);

/* Charges the user for a connection that took `cpu_ns`. */
void user_quota_pay_connection(struct user_quota *user, uint64_t cpu_ns, uint64_t now_ns);

/* Removes a client that has given back all its resources. */
void user_quota_leave(struct user_quota *user, uint64_t now_ns);

/* Whether the user may have `amount` more of a resource, and the pool has as much left. */
bool user_quota_may_have(const struct user_quota *user, enum session_resource resource,
			 uint64_t amount);

/*
 * Count a client of the user that takes nothing of the share. False: the user, or the users without
 * a place, have as many as they may have, and nothing was counted.
 */
bool user_quota_add_viewer(struct user_quota *user);
void user_quota_remove_viewer(struct user_quota *user);

/* Count what a client of the user takes and gives back. */
void user_quota_take(struct user_quota *user, enum session_resource resource, uint64_t amount);
void user_quota_give_back(struct user_quota *user, enum session_resource resource, uint64_t amount);

#endif
