/* SPDX-License-Identifier: MIT */
/*
 * The objects of a session that live in shared memory or name it: queues, their event channels, and
 * the address handles that send WQEs name. session_objects.h makes and frees these objects.
 */
#ifndef DAEMON_DEVICE_QUEUES_SESSION_QUEUES_H
#define DAEMON_DEVICE_QUEUES_SESSION_QUEUES_H

#include "daemon/device/session/shared_region.h"
#include "daemon/shared/base/event_pipe.h"
#include "lib/nic/base/list.h"
#include "lib/nic/engine/objects/ah.h"
#include "lib/nic/engine/objects/cq.h"
#include "proto/ctl/ctl_message.h"
#include "proto/shm/cqe.h"
#include "proto/shm/wqe.h"

#include <stdbool.h>
#include <stdint.h>

/* How much work a turn does for clients' queues, and how long queues and clients wait. */
enum {
	LIMIT_TURN_QUEUES = 256,       /* send queues visited in a turn */
	LIMIT_TURN_QUEUE_ENTRIES = 64, /* send WQEs taken from each in a turn */
	LIMIT_TURN_LOST_SLOTS = 256,   /* of a client's QPs, looked at when doorbells were lost */
	LIMIT_TURN_FLUSHES = 16384,    /* receive WQEs flushed in a turn, for all clients */

	/* After this time without a doorbell the turns skip a client: its next doorbell wakes the
	 * daemon. */
	LIMIT_DOORBELL_IDLE_NS = 10000000,

	/*
	 * An empty CQ goes back to slot 0 only after its first slots, which lie on one page. From
	 * there on the daemon looks at each multiple of the second number whether the CQ is empty.
	 */
	LIMIT_CQ_FIRST_SLOTS = 96,
	LIMIT_CQ_LOOK_SLOTS = 16,

	/* How long a busy loop lets completions wait for a client that sleeps in a poll: a wake-up
	 * for each completion would take the time that the traffic needs. */
	LIMIT_POLL_WAKE_NS = 100000,
};

struct qp;
struct session;
struct session_pd;
struct session_qp;
struct session_xrcd;
struct srq;

struct session_channel {
	struct event_pipe pipe;
	struct rnic_handle handle;
	uint32_t references; /* CQs */
};

struct session_cq {
	struct cq cq; /* cq.user is this struct */
	struct session *session;
	struct session_channel *channel; /* NULL: no completion events */
	struct rnic_handle handle;
	struct shared_region region;
	struct rnic_cqe *entries; /* in the region */
	uint64_t *times_ns;	  /* in the region; NULL: without RNIC_CQ_TIMESTAMPS */
	uint32_t flags;		  /* enum rnic_cq_flag */
	uint32_t slots;
	uint32_t producer;  /* CQEs ever written */
	uint32_t consumer;  /* the client's index, as last read and found valid */
	uint32_t slot_zero; /* the copy of the region's word that the daemon trusts */
	bool has_error;	    /* CQEs from an error on are written, and not yet published */
	bool has_solicited; /* a CQE written since the last look at `armed` is solicited or in error
			     */
	struct list notice_node; /* WAIT_CQ_NOTICE: has CQEs to publish or to look at */
	struct event_source event;
	struct event_source async;
};

/* A region in which the client places the queues of its QPs (ctl_message.h). */
struct session_queue_region {
	struct shared_region region;
	struct rnic_handle handle;
	uint32_t references; /* QPs */
};

/* A ring of WQEs that a client writes. */
struct client_ring {
	const uint8_t *entries;
	const uint8_t *spill;
	uint32_t slots; /* 0: no ring */
	uint32_t spill_stride_bytes;
};

/* Says where the queue of `plan` lies, when all entries and all spill areas begin there. */
static inline struct client_ring client_ring_at(const struct rnic_queue_plan *plan,
						const uint8_t *entries, const uint8_t *spill)
{
	return (struct client_ring){
		.entries = entries + plan->entries_offset,
		.spill = spill + plan->spill_offset,
		.slots = plan->slots,
		.spill_stride_bytes = plan->spill_stride_bytes,
	};
}

/*
 * A ring of receive WQEs, and the position up to which the daemon has read; see wqe_fetch.h.
 */
struct receive_ring {
	struct session *session;
	struct session_qp *qp;			/* the owner; NULL: an SRQ owns the ring */
	const _Atomic uint32_t *producer;	/* the client's word */
	struct rnic_shared_index *srq_consumer; /* NULL: the ring of a QP, which has none */
	struct client_ring wqes;
	uint32_t sge_max;
	uint32_t number;   /* of the QP or SRQ */
	uint32_t consumer; /* WQEs ever copied */
};

/* A target QP. It lives as long as any session has a handle for it. */
struct shared_target {
	struct qp *qp;	     /* qp->user is this struct */
	struct list handles; /* struct session_qp.target_node */
};

struct session_srq {
	struct srq *srq; /* srq->user is this struct */
	struct session *session;
	struct session_xrcd *xrcd; /* NULL: not an XRC SRQ */
	struct rnic_handle handle;
	struct shared_region region;
	struct receive_ring recv;
	struct event_source async;
};

struct session_qp {
	struct qp *qp; /* qp->user is this struct, or `target` */
	struct session *session;
	struct session_pd *pd;	    /* XRC target: NULL */
	struct session_cq *send_cq; /* XRC target: NULL */
	struct session_cq *recv_cq; /* XRC: NULL */
	struct session_srq *srq;    /* NULL: none */
	struct session_xrcd *xrcd;  /* XRC target, else NULL */
	struct shared_target *target;
	struct list target_node; /* of target->handles */
	struct rnic_handle handle;
	struct session_queue_region *queue_region; /* NULL: there are no queues */
	const _Atomic uint32_t *send_producer;	   /* the client's word */
	struct client_ring send_ring;
	struct receive_ring recv; /* has no slots when the QP uses an SRQ */
	uint32_t send_consumer;	  /* send WQEs ever copied */
	uint32_t send_base; /* send_consumer at the last RESET: the engine counts from there */
	uint32_t recv_base;
	struct list fetch_node;	 /* WAIT_SEND_FETCH */
	struct list review_node; /* WAIT_REVIEW */
	struct event_source async;
};

struct session_ah {
	struct ah ah;
	struct rnic_handle handle;
};

/*
 * The callback engine_sink.trouble, which describes the failure of a queue pair in words for the
 * host's list of troubles. `context` is the session_set. In qp_trouble.c.
 */
void qp_trouble_note(void *context, const struct qp *qp);

/* The callback engine_sink.refuses_when_gone, which asks the rules of faults. */
bool qp_trouble_refuses_when_gone(void *context, const struct qp *qp);

/* The name of the program of a queue pair: a packet_notes_program. */
void qp_trouble_program(void *context, const struct qp *qp, char *text, size_t bytes);

#endif
