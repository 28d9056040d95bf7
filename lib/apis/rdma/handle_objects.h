/* SPDX-License-Identifier: MIT */
/*
 * The objects behind the handles of <rnic/rdma.h>, and the functions that their files share.
 *
 * The handle of a queue pair is the number of `native`. A queue pair that is connected to itself
 * has a second one that sends to the first. With one queue pair for both roles, a request that the
 * receiving side refuses would be flushed before the sending side could learn the reason. Sends
 * always go to `sender`, receives to `native`.
 *
 * Each object has a lock of its own, which no thread holds while it waits. A thread takes the locks
 * of two objects in the order of their addresses, and the table's lock after those.
 */
#ifndef LIB_APIS_RDMA_HANDLE_OBJECTS_H
#define LIB_APIS_RDMA_HANDLE_OBJECTS_H

#include "lib/apis/rdma/handle_directory.h"
#include "lib/apis/rdma/handle_domain.h"
#include "lib/apis/rdma/posted_ring.h"

#include <rnic/rdma.h>
#include <rnic/rnic_cm.h>

#include <errno.h>
#include <pthread.h>

struct rnic_handle_region {
	struct rnic_handle handle;
	struct rnic_handle_domain *domain;
	struct rnic_mr *mr; /* ends with the handle: a holder of a reference must not use it */
	uint64_t address;
	uint64_t length;
	int access_flags;
	uint32_t lkey;
	uint32_t rkey;
	void *memory; /* of rdma_alloc_mr(), else NULL */
};

enum rnic_handle_link {
	RNIC_HANDLE_UNCONNECTED,
	RNIC_HANDLE_CONNECTING, /* a thread connects it */
	RNIC_HANDLE_OWN_PEER,	/* connected to itself */
	RNIC_HANDLE_PEER,
	RNIC_HANDLE_FAILED,
};

struct rnic_handle_qp {
	struct rnic_handle handle;
	struct rnic_handle_domain *domain;
	struct rnic_channel *channel;
	struct rnic_cq *send_cq;
	struct rnic_cq *recv_cq;
	struct rnic_qp *native;

	pthread_mutex_t lock; /* for all members that follow */
	enum rnic_handle_link link;
	int peer_number;		    /* for PEER on this host, else -1 */
	struct rnic_qp *sender;		    /* NULL: not connected */
	struct rnic_cm_channel *cm_channel; /* NULL: the connection manager did not connect it */
	struct rnic_cm_id *cm_id;
	struct rnic_posted_ring sends;
	struct rnic_posted_ring receives;
	int next_wr_id;
	bool is_receives_turn; /* the receive queue is polled first */
	bool is_peer_heard;    /* the peer has sent something, so that silence means something */
	uint64_t looked_ns;    /* time of the last look at the events */
	uint64_t probed_ns;
	uint64_t left_ns;  /* when the peer was seen to have left while sends waited; 0: not so */
	bool is_destroyed; /* the table has forgotten the handle */
	bool is_someone_asleep; /* a thread sleeps, and wakes the others by `woken` */
	pthread_cond_t woken;	/* on the monotonic clock */
};

struct rnic_handle_listener {
	struct rnic_handle handle;
	struct rnic_handle_domain *domain;
	struct rnic_cm_channel *channel;
	struct rnic_cm_id *id;
	uint16_t port;
	atomic_bool is_closed; /* the table has forgotten the handle */
};

/* The return value of an interface function for a result that is a number or a negative errno. */
static inline int rnic_handle_result(int result)
{
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

/*
 * rnic_handle_enter() and rnic_handle_leave() enclose the part of an interface function that its
 * thread must not leave half done: a thread cancelled there would keep a lock, a reference or a
 * completion. A wait allows cancellation meanwhile if the caller had it enabled, so
 * rnic_handle_enter() returns the caller's setting.
 */
static inline int rnic_handle_enter(void)
{
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	return cancellation;
}

/* Returns the return value of the interface function. */
static inline int rnic_handle_leave(int cancellation, int result)
{
	pthread_setcancelstate(cancellation, NULL);
	return rnic_handle_result(result);
}

/* Holds the queue pair `number`, which the caller releases; NULL: none. */
static inline struct rnic_handle_qp *rnic_handle_hold_qp(int number)
{
	return (struct rnic_handle_qp *)rnic_handle_hold(RNIC_HANDLE_QP, number);
}

/* ---- handle_link.c: under the lock of the queue pair ---- */

/* Connects an UNCONNECTED queue pair to itself. */
int rnic_handle_link_to_itself(struct rnic_handle_qp *qp);

/* Fails the queue pair: everything posted completes as flushed. */
void rnic_handle_fail(struct rnic_handle_qp *qp);

/* ---- handle_post.c ---- */

/*
 * Under the lock: posts an empty WRITE, which a living peer's RNIC acknowledges. Does nothing while
 * a probe is under way.
 */
int rnic_handle_probe(struct rnic_handle_qp *qp);

#endif
