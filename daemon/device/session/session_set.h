/* SPDX-License-Identifier: MIT */
/*
 * All sessions of a device, and what the device's loop does with them in a turn: take doorbells,
 * take work, deliver completions and events, announce sleep, end broken sessions.
 *
 * One epoll instance holds every descriptor of the session layer. The loop watches that one
 * descriptor; ctl_server_poll() serves it. Doorbells and full pipes sit in it edge-triggered and
 * are never read: clients share those file descriptions and could make a read block.
 *
 * A turn costs as much as there is to do, not as there are clients: a session is on the lists below
 * while it has something for them. One that is not awake was asked to ring, like all are before the
 * loop sleeps.
 *
 * Invariant: sessions end in session_set_reap() only, which nothing of this layer calls.
 */
#ifndef DAEMON_DEVICE_SESSION_SESSION_SET_H
#define DAEMON_DEVICE_SESSION_SESSION_SET_H

#include "base/list.h"
#include "ctl/ctl_message.h"
#include "engine/engine.h"
#include "common/deferred_close.h"
#include "device/session/session.h"
#include "device/session/trouble_log.h"

#include <stdbool.h>
#include <stdint.h>

/* What the device tells the session layer about itself, for HELLO, QUERY and SHOW. */
struct device_facts {
	struct rnic_device_attributes device;
	struct rnic_ctl_port_reply port;
	struct rnic_ctl_gids_reply gids;
	struct rnic_ctl_pkeys_reply pkeys;
	char udp_port[RNIC_CTL_NAME_BYTES];
	char poll[RNIC_CTL_NAME_BYTES];
	char segmentation[RNIC_CTL_NAME_BYTES];
	char ecn[RNIC_CTL_NAME_BYTES];
	/* The counter numbered `index`; false when there are no more. */
	bool (*counter)(void *context, uint32_t index, struct rnic_show_counter *counter);
	/* Receives datagrams to the multicast group from now on, or no longer. Negative errno. */
	int (*join)(void *context, const struct rnic_gid *group, bool is_member);
	void *context;
};

/* Whether the GID table has an address at `index` that can be used now. */
bool device_facts_has_gid(const struct device_facts *facts, uint32_t index);
struct cm;

struct session_set {
	struct engine *engine;
	struct cm *cm; /* the device's connection manager, made with cm_identifier_sink */
	const struct device_facts *facts;
	struct deferred_close
		deferred_close; /* of connections, in which clients may have left descriptors */
	struct list sessions;
	struct list pre_hello;	   /* struct session.silent_node, in the order in which they came */
	struct list clients;	   /* struct session.client_node */
	struct list awake;	   /* struct session.awake_node */
	struct list unwoken;	   /* struct session.news_node */
	struct list event_pending; /* struct session.raised_node */
	struct list resumes;	   /* struct session.resume_node, in order of service */
	struct list broken;	   /* struct session.broken_node */
	struct list leaving;   /* struct session.broken_node: cut off, but maybe still connected */
	struct list ending;    /* struct session.broken_node: not even that, and being freed */
	struct list wqe_fetch; /* struct session_qp.wqe_fetch_node, in order of service */
	struct list reviews;   /* struct session_qp.review_node */
	struct list dirty_cqs; /* struct session_cq.dirty_node */
	struct list domains;   /* struct shared_domain */
	uint32_t session_count;
	uint64_t ended_count; /* sessions ever ended, and ever freed; in the same order */
	uint64_t freed_count;
	uint32_t client_count; /* sessions that said HELLO and are not admin */
	uint32_t next_client_id;
	uint32_t flush_budget; /* receive entries that may still be flushed; 0 out of reviews */
	int epoll_fd;
	uint64_t now_ns;   /* of the turn under way */
	bool has_sigbus;   /* a session has */
	bool is_bulk;	   /* whether much data goes through the device: clients are told */
	bool is_told_bulk; /* what new clients are told, and all others by and by */
	uint32_t bulk_notify_pending; /* of `clients`, those at the front may not know it yet */
	struct quota_pool quotas;
	struct trouble_log trouble_log;
};

/* The callbacks that the engine is to be made with; their context is the set. */
extern const struct engine_sink session_set_sink;

/*
 * Makes an empty set. `engine`, `cm` and `facts` outlive it; the engine may be initialised
 * afterwards, with session_set_sink. Negative errno of epoll_create1.
 */
int session_set_init(struct session_set *set, struct engine *engine, struct cm *cm,
		     const struct device_facts *facts);

/* Ends all sessions. */
void session_set_fini(struct session_set *set);

/*
 * Takes doorbells and send entries of all sessions, a bounded number of each queue and of all
 * queues. Returns how many entries were taken, or 1 when doorbells were.
 */
uint32_t session_set_take_work(struct session_set *set);

/* Whether a queue still holds entries that could be taken at once, a request is to go on, or a
 * session is ending. */
bool session_set_has_work(const struct session_set *set);

/* Lets clients know of what completed in this turn: wakes those that asked for it. `is_busy` as for
 * delivery_run(). */
void session_set_deliver(struct session_set *set, bool is_busy);

/* Before sleeping: asks all clients that are awake to ring, as the others are already. The caller
 * takes work once more before it sleeps. */
void session_set_announce_sleep(struct session_set *set);

/* After sleeping, or when there was work after all. */
void session_set_withdraw_sleep(struct session_set *set);

/* Whether a queue pair or an address handle of any client sends from the GID at `index`. */
bool session_set_uses_gid(const struct session_set *set, uint32_t index);

/* Whether a queue pair, an address handle or a connection of any client has its peer at `dest`. */
bool session_set_uses_dest(const struct session_set *set, const struct rnic_gid *dest);

/* When the first connection has to have said HELLO; UINT64_MAX: all have. */
uint64_t session_set_next_deadline_ns(const struct session_set *set);

/*
 * Ends the sessions that were broken, and those that said nothing in time. What they owned is out
 * of reach then, and freed in as many calls as it takes. Call it where no pointer into a session is
 * held.
 */
void session_set_reap(struct session_set *set);

#endif
