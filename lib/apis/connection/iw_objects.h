/* SPDX-License-Identifier: MIT */
/*
 * The objects behind the handles of <rnic/connection.h>.
 *
 * A struct iw_pd is a session with the daemon and a protection domain in it, shared by reference. A
 * context makes its queues there at their first use (rnic_iw_make_ready()), and keeps the
 * completion queues. Each connection has a new queue pair, so that late packets of the last
 * connection find no receiver. The identifier of an accepted connection lives in the listener's
 * session, which `cm_pd` keeps open.
 */
#ifndef LIB_APIS_CONNECTION_IW_OBJECTS_H
#define LIB_APIS_CONNECTION_IW_OBJECTS_H

#include "lib/apis/connection/iw_queue.h"

#include <rnic/connection.h>
#include <rnic/rnic_cm.h>

#include <stdatomic.h>

#define RNIC_IW_INLINE_BYTES 64
#define RNIC_IW_ADVERT_BYTES 24

struct iw_pd {
	atomic_uint references;
	struct rnic_context *context;
	struct rnic_pd *native;
};

enum rnic_iw_state {
	RNIC_IW_IDLE,
	RNIC_IW_LISTENING,
	RNIC_IW_REQUESTED, /* the peer has sent a request, not answered yet */
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
	struct rnic_channel *channel; /* NULL: this member and all down to `qp` are not made */
	struct rnic_cq *send_cq;
	struct rnic_cq *recv_cq;
	uint8_t *advert_memory; /* a place for each entry of the receive queue */
	struct rnic_mr *advert_mr;
	struct rnic_qp *qp; /* NULL: not in use */
	struct rnic_iw_queue send;
	struct rnic_iw_queue recv;
	int poll_fd;  /* -1: nobody has asked for it */
	int ready_fd; /* in its set, readable when something has come already */
	bool is_probing;
	uint64_t left_ns; /* when the peer was seen to have left while sends waited; 0: not so */
	bool is_failure_heard; /* the caller has awaited a request that failed */

	struct iw_pd *cm_pd; /* NULL: the members of the connection manager are not made */
	struct rnic_cm_channel *cm_channel;
	struct rnic_cm_id *cm_id;
	uint16_t listen_port;
	struct rnic_cm_parameters peer; /* the peer's last message */
	bool has_peer;
};

/* ---- iw_context.c ---- */

struct iw_pd *rnic_iw_pd_hold(struct iw_pd *pd);

/*
 * Finds the present daemon. The daemon of the PD may have ended: a context without queue pair then
 * moves to the next daemon, if the PD is its own.
 */
int rnic_iw_find_daemon(struct iw_ctx_conn *ctx);

/* Finds the daemon and makes the missing queues, so that receives can be posted. */
int rnic_iw_make_ready(struct iw_ctx_conn *ctx);

/* The deadline of a wait that begins now. */
uint64_t rnic_iw_deadline_ns(const struct iw_ctx_conn *ctx);

/* Ends the connection or listener, if any, without waiting: the context is idle. */
void rnic_iw_reset(struct iw_ctx_conn *ctx);

/* ---- iw_wait.c ---- */

/* Fails the connection: everything posted completes as flushed. */
void rnic_iw_fail(struct iw_ctx_conn *ctx, enum rnic_iw_state state);

/* Takes all completions. Returns the number of entries. */
int rnic_iw_collect(struct iw_ctx_conn *ctx);

/*
 * Takes the events of completions that have come, asks for one at the next entry, and collects.
 * Returns the number of entries.
 */
int rnic_iw_arm(struct iw_ctx_conn *ctx);

/* Waits until something may have changed. -ETIMEDOUT at the deadline, -EINTR. */
int rnic_iw_wait(struct iw_ctx_conn *ctx, uint64_t deadline_ns);

/* ---- iw_request.c ---- */

/* Gives the request, which has room in the send queue, to the device. Negative errno. */
int rnic_iw_post_request(struct iw_ctx_conn *ctx, struct rnic_send_wr *wr, enum rnic_iw_kind kind);

/*
 * Posts an empty WRITE, which the peer's RNIC acknowledges. On a failed connection it completes all
 * the same, and everything before it. Returns 0 also when there is no room for it.
 */
int rnic_iw_post_probe(struct iw_ctx_conn *ctx);

/* ---- iw_post.c ---- */

/* Waits until there is room for a request, if only silent requests take the room. */
int rnic_iw_await_room(struct iw_ctx_conn *ctx, struct rnic_iw_queue *queue,
		       enum rnic_iw_kind kind);

/* ---- iw_advert_message.c ---- */

/* Writes the message that advertises the region. */
void rnic_iw_encode_advert(const struct iw_lmr *lmr, uint8_t bytes[RNIC_IW_ADVERT_BYTES]);

/* The memory that the receive `sequence` of an advertisement fills. */
struct rnic_sge rnic_iw_advert_place(const struct iw_ctx_conn *ctx, uint64_t sequence);

/* Takes the message of the receive `sequence`. */
void rnic_iw_take_advert(struct iw_ctx_conn *ctx, uint64_t sequence,
			 const struct rnic_completion *completion);

/* Allocates room for the advertisements of a queue of `slots` receives. -ENOMEM. */
int rnic_iw_make_advert_memory(struct iw_ctx_conn *ctx);

#endif
