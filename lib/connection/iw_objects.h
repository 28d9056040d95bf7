/* SPDX-License-Identifier: MIT */
/*
 * What stands behind the handles of <rnic/connection.h>.
 *
 * A struct iw_pd is a session with the daemon and a protection domain in it, shared by reference. A
 * context makes its queues in one when it first needs them (rnic_iw_make_ready()), keeps the
 * completion queues, and has a new queue pair for every connection, so that late packets of the one
 * before find nobody. The identifier of an accepted connection lives in the listener's session,
 * which `cm_pd` keeps open.
 */
#ifndef RNIC_IW_OBJECTS_H
#define RNIC_IW_OBJECTS_H

#include "connection/iw_queue.h"

#include <rnic/connection.h>
#include <rnic/rnic_cm.h>

#include <stdatomic.h>

#define RNIC_IW_INLINE_BYTES 64

struct iw_pd {
	atomic_uint references;
	struct rnic_context *context;
	struct rnic_pd *native;
};

enum rnic_iw_state {
	RNIC_IW_IDLE,
	RNIC_IW_LISTENING,
	RNIC_IW_REQUESTED, /* by the peer, not answered yet */
	RNIC_IW_CONNECTED, /* from here on there is, or was, a peer */
	RNIC_IW_FAILED,	   /* a request failed, or the peer does not answer */
	RNIC_IW_ENDED,	   /* the peer has disconnected */
};

struct iw_ctx_conn {
	char *remote_addr; /* NULL: none */
	uint16_t remote_port;
	struct iw_qp_capacity capacity;
	int timeout_ms;
	enum rnic_iw_state state;

	struct iw_pd *pd;
	bool is_pd_shared;
	struct rnic_channel *channel; /* NULL: nothing from here to `qp` is made */
	struct rnic_cq *send_cq;
	struct rnic_cq *recv_cq;
	uint8_t *advert_memory; /* a place for each entry of the receive queue */
	struct rnic_mr *advert_mr;
	struct rnic_qp *qp; /* NULL: not in use */
	struct rnic_iw_queue send;
	struct rnic_iw_queue recv;
	bool is_probing;
	bool is_failure_heard; /* the caller has awaited a request that failed */

	struct iw_pd *cm_pd; /* NULL: nothing of this is there */
	struct rnic_cm_channel *cm_channel;
	struct rnic_cm_id *cm_id;
	uint16_t listen_port;
	struct rnic_cm_parameters peer; /* what it said last */
	bool has_peer;
};

/* ---- iw_context.c ---- */

struct iw_pd *rnic_iw_pd_hold(struct iw_pd *pd);

/*
 * The daemon that the PD was made at may have ended since: a context without queue pair moves to
 * the next one, if the PD is its own.
 */
int rnic_iw_find_daemon(struct iw_ctx_conn *ctx);

/* Does so and makes what is missing of the queues, so that receives can be posted. */
int rnic_iw_make_ready(struct iw_ctx_conn *ctx);

/* The deadline of a wait that begins now. */
uint64_t rnic_iw_deadline_ns(const struct iw_ctx_conn *ctx);

/* Ends the connection or listener, if any, without waiting: the context is idle. */
void rnic_iw_reset(struct iw_ctx_conn *ctx);

/* ---- iw_wait.c ---- */

/* The connection is of no use any more; everything posted completes as flushed. */
void rnic_iw_fail(struct iw_ctx_conn *ctx, enum rnic_iw_state state);

/* Takes what has completed. Returns how many entries there were. */
int rnic_iw_collect(struct iw_ctx_conn *ctx);

/* Waits until something may have changed. -ETIMEDOUT at the deadline, -EINTR. */
int rnic_iw_wait(struct iw_ctx_conn *ctx, uint64_t deadline_ns);

/* ---- iw_post.c ---- */

/*
 * Sends nothing, which the peer's RNIC acknowledges; on a connection that has failed it completes
 * all the same, and all before it with it. 0 also when there is no room for it.
 */
int rnic_iw_post_probe(struct iw_ctx_conn *ctx);

/* Whether there is room for a request; waits when only silent ones are in the way. */
int rnic_iw_await_room(struct iw_ctx_conn *ctx, struct rnic_iw_queue *queue,
		       enum rnic_iw_kind kind);

/* ---- iw_advert.c ---- */

/* What came into the place of the receive `sequence`. */
void rnic_iw_take_advert(struct iw_ctx_conn *ctx, uint64_t sequence,
			 const struct rnic_completion *completion);

/* Room for the advertisements that a queue of `slots` receives may hold. -ENOMEM. */
int rnic_iw_make_advert_memory(struct iw_ctx_conn *ctx);

#endif
