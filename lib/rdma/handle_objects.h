/* SPDX-License-Identifier: MIT */
/*
 * What stands behind the handles of <rnic/rdma.h>, and what its files do for each other.
 *
 * A queue pair is `native`, whose number is the handle. Connected to itself it has a second one
 * that sends to the first: were it one for both roles, a request that the receiving side refuses
 * would be flushed there before the sending side could hear why. Sends go to `sender`, receives to
 * `native`, always.
 *
 * Each has a lock of its own, which nobody holds while waiting. The locks of two are taken in the
 * order of their addresses, and the table's after those.
 */
#ifndef RNIC_HANDLE_OBJECTS_H
#define RNIC_HANDLE_OBJECTS_H

#include "rdma/handle_session.h"
#include "rdma/handle_directory.h"
#include "rdma/posted_ring.h"

#include <rnic/rdma.h>
#include <rnic/rnic_cm.h>

#include <errno.h>
#include <pthread.h>

struct rnic_handle_region {
	struct rnic_handle handle;
	struct rnic_handle_session *session;
	struct rnic_mr *mr; /* not to be used by who merely holds it: it ends with the handle */
	uint64_t address;
	uint64_t length;
	int access_flags;
	uint32_t lkey;
	uint32_t rkey;
};

enum rnic_handle_link {
	RNIC_HANDLE_UNCONNECTED,
	RNIC_HANDLE_CONNECTING, /* some thread is at it */
	RNIC_HANDLE_OWN_PEER,	/* connected to itself */
	RNIC_HANDLE_PEER,
	RNIC_HANDLE_FAILED,
};

struct rnic_handle_qp {
	struct rnic_handle handle;
	struct rnic_handle_session *session;
	struct rnic_channel *channel;
	struct rnic_cq *send_cq;
	struct rnic_cq *recv_cq;
	struct rnic_qp *native;

	pthread_mutex_t lock; /* of all that follows */
	enum rnic_handle_link link;
	int peer_number;		    /* of PEER on this host, else -1 */
	struct rnic_qp *sender;		    /* NULL: not connected */
	struct rnic_cm_channel *cm_channel; /* NULL: not connected by the connection manager */
	struct rnic_cm_id *cm_id;
	struct rnic_posted_ring sends;
	struct rnic_posted_ring receives;
	int next_wr_id;
	bool is_receives_turn; /* to be polled first */
	bool is_peer_heard;    /* something has come of it, so that silence means something */
	uint64_t looked_ns;    /* when events were looked for last */
	uint64_t probed_ns;
	bool is_destroyed;	/* the table has forgotten it */
	bool is_someone_asleep; /* who wakes and tells the others by `woken` */
	pthread_cond_t woken;	/* on the monotonic clock */
};

struct rnic_handle_listener {
	struct rnic_handle handle;
	struct rnic_handle_session *session;
	struct rnic_cm_channel *channel;
	struct rnic_cm_id *id;
	uint16_t port;
	atomic_bool is_closed; /* the table has forgotten it */
};

/* What a function of the interface returns for a result that is negative with an errno. */
static inline int rnic_handle_result(int result)
{
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

/*
 * Between these two a function of the interface does what could end with its thread half done:
 * cancelled, the thread would keep a lock, a reference or a completion. Who waits lets it be
 * cancelled meanwhile, as the caller has it: so rnic_handle_enter() returns it.
 */
static inline int rnic_handle_enter(void)
{
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	return cancellation;
}

/* Returns what the function does. */
static inline int rnic_handle_leave(int cancellation, int result)
{
	pthread_setcancelstate(cancellation, NULL);
	return rnic_handle_result(result);
}

/* The queue pair `number`, to be released; NULL: none. */
static inline struct rnic_handle_qp *rnic_handle_hold_qp(int number)
{
	return (struct rnic_handle_qp *)rnic_handle_hold(RNIC_HANDLE_QP, number);
}

/* ---- handle_link.c: under the lock of the queue pair ---- */

/* Connects it, which is UNCONNECTED, to itself. */
int rnic_handle_link_to_itself(struct rnic_handle_qp *qp);

/* It is of no use any more; everything posted completes as flushed. */
void rnic_handle_fail(struct rnic_handle_qp *qp);

/* ---- handle_post.c ---- */

/*
 * Under the lock: writes nothing to the peer, whose RNIC acknowledges that, or does not. Nothing
 * happens while one is under way.
 */
int rnic_handle_probe(struct rnic_handle_qp *qp);

#endif
