/* SPDX-License-Identifier: MIT */
/*
 * One client: its socket, its shared regions, and everything it created. Objects belong to the
 * session and die with it, in an order that leaves no reference behind.
 *
 * The client is hostile until proven otherwise, and it is never proven. What it writes into shared
 * memory is read by wqe_fetch.c, cqe_delivery.c (its consumer index) and doorbell.c, and by nobody
 * else. Wrong structure breaks the session: session_break() notes it, and session_set_reap() ends
 * the session where no caller still holds a pointer into it.
 */
#ifndef DAEMON_DEVICE_SESSION_SESSION_H
#define DAEMON_DEVICE_SESSION_SESSION_H

#include "base/list.h"
#include "ctl/ctl_message.h"
#include "engine/objects/ah.h"
#include "engine/objects/cq.h"
#include "engine/objects/mr.h"
#include "engine/objects/mw.h"
#include "engine/objects/pd.h"
#include "engine/objects/xrcd.h"
#include "device/memory/mapped_memory.h"
#include "device/memory/remote_memory.h"
#include "common/event_pipe.h"
#include "device/session/inode_id.h"
#include "common/handle_table.h"
#include "common/quota.h"
#include "device/session/shared_region.h"
#include "shm/wqe.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ctl_call;
struct qp;
struct session;
struct srq;
struct session_set;

/* What a descriptor in the set's epoll instance belongs to. */
enum watch_kind { WATCH_LISTENER, WATCH_SOCKET, WATCH_DOORBELL, WATCH_PIPE };

struct watch {
	enum watch_kind kind;
	struct session *session; /* NULL for the listener */
};

struct session_pd {
	struct pd pd;
	struct rnic_handle handle;
};

struct session_mr {
	struct mr mr; /* mr.region is that of `memory` */
	struct rnic_handle handle;
	uint32_t mode; /* enum rnic_memory_mode of a row; MAPPED names memory.mapped, NULL
			  memory.null, all others remote */
	union {
		struct client_region null;
		struct mapped_region mapped;
		struct remote_region remote;
	} memory;
};

struct session_mw {
	struct mw mw;
	struct rnic_handle handle;
};

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
	uint32_t slots;
	uint32_t producer;	/* completions ever written */
	uint32_t consumer;	/* the client's index when it was last looked at and found valid */
	bool has_solicited;	/* among those written since the last look at `armed` */
	struct list dirty_node; /* of session_set.dirty_cqs: written to since then */
	struct event_source event;
	struct event_source async;
};

/* A ring of receive entries that a client writes, and how far it was read; see wqe_fetch.h. */
struct receive_ring {
	struct session *session;
	struct session_qp *qp; /* whose it is; NULL: an SRQ's */
	const struct shared_region *region;
	struct rnic_queue_plan plan;
	uint32_t sge_max;
	uint32_t number;   /* of the QP or SRQ */
	uint32_t consumer; /* entries ever copied */
};

/* An XRC domain, which sessions share when they name it by the same file. */
struct shared_domain {
	struct xrcd xrcd;
	struct list node; /* of session_set.domains */
	uint32_t openers; /* struct session_xrcd */
	uint32_t members; /* those of sessions that are not ending */
	int file_fd;	  /* keeps the file's number from being given to another; -1: none */
	struct inode_id file;
};

struct session_xrcd {
	struct shared_domain *domain;
	struct rnic_handle handle;
	uint32_t references; /* SRQs and QPs of this session */
	bool has_left;	     /* it is no member of the domain any more */
};

/* A target QP, which lives as long as any session has a handle for it. */
struct shared_target {
	struct qp *qp;	     /* qp->user is this struct */
	struct list handles; /* struct session_qp.target_node */
};

struct session_srq {
	struct srq *srq; /* srq->user is this struct */
	struct session *session;
	struct session_xrcd *xrcd; /* NULL: not of XRC */
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
	struct shared_region region;
	struct rnic_queue_plan send_plan;
	struct receive_ring recv; /* of no slots with an SRQ */
	uint32_t send_consumer;	  /* send entries ever copied */
	uint32_t send_base; /* of those, before the last RESET: the engine counts from there */
	uint32_t recv_base;
	struct list wqe_fetch_node; /* of session_set.wqe_fetch: its ring may hold send entries */
	struct list review_node;    /* of session_set.reviews: it may have gone to ERR */
	struct event_source async;
};

struct session_ah {
	struct ah ah;
	struct rnic_handle handle;
};

/* How far the freeing of what a session owns has got. */
struct teardown {
	uint32_t stage;
	uint32_t slot;
};

struct session {
	struct list node;	    /* of session_set.sessions */
	struct list pre_hello_node; /* of session_set.silent, until it has greeted */
	struct list client_node;    /* of session_set.clients, when it has regions */
	struct list awake_node;	    /* of session_set.awake, while its doorbells are looked at */
	struct list
		unwoken_node; /* of session_set.news: a sleeping poller was not woken for them */
	struct list event_pending_node; /* of session_set.raised: events may wait in async_pipe */
	struct list resume_node;	/* of session_set.resumes, when there is `call` */
	struct list broken_node;	/* of session_set.broken, then leaving, then ending */
	struct session_set *set;
	int socket_fd;
	int doorbell_fd; /* -1 in an admin session and before HELLO */
	uint32_t client_id;
	pid_t pid;
	uid_t uid;
	struct quota_account account;
	char program[RNIC_CTL_NAME_BYTES];
	bool has_greeted;     /* HELLO was accepted */
	uint64_t hello_by_ns; /* until then it has to be */
	bool is_admin;
	bool is_broken; /* to be ended by session_set_reap(), or ending */
	struct watch socket_watch;
	struct watch doorbell_watch;
	struct watch pipe_watch; /* of all its pipes that are full */

	struct shared_region region; /* struct rnic_session_region */
	struct shared_region status; /* struct rnic_status_region */
	struct shared_region newest; /* the last one that was opened, of whatever it is */
	bool has_sigbus;	     /* of that, or of its memfds */
	struct event_pipe async_pipe;
	struct event_source port_events;
	uint32_t doorbell_consumer;
	uint32_t doorbells_lost;   /* as last seen */
	uint64_t rung_ns;	   /* when it last rang, or asked for something */
	uint64_t unwoken_since_ns; /* when the first of the completions was written that are its
				      news */

	struct mapped_files files; /* its memfds */
	bool has_process;	   /* its own address space can be reached */
	struct remote_process process;
	struct handle_table pds;
	struct handle_table mrs;
	struct handle_table mws;
	struct handle_table channels;
	struct handle_table cqs;
	struct handle_table qps;
	struct handle_table ahs;
	struct handle_table srqs;
	struct handle_table xrcds;
	struct handle_table cm_channels; /* struct session_cm_channel */
	struct handle_table cm_ids;	 /* struct session_cm_id */
	uint32_t cm_event_count;	 /* that wait in all cm_channels */
	uint64_t registered_bytes;

	struct ctl_call *call; /* a request that goes on in a later turn; NULL: none */
	struct teardown teardown;

	int share_fd; /* who shows the same file may import what is here; -1: nobody may */
	struct inode_id share_file;
	uint32_t exporter_id; /* the client that this one imports from; 0: none */
};

/*
 * Makes a session for a connection that was accepted, which it owns from then on, and puts it into
 * the set. NULL: out of memory, or its user has too many; the caller closes the connection.
 */
struct session *session_create(struct session_set *set, int socket_fd, pid_t pid, uid_t uid);

/*
 * Makes the regions, the doorbell and the pipe of events that HELLO of a client asks for. Their
 * descriptors, the caller's to pass on and close, are stored at `fds` in the order of
 * struct rnic_ctl_hello_reply. Negative errno; nothing is made then.
 */
int session_open_regions(struct session *session, int fds[4]);

/*
 * The last two of three steps in which a session ends (teardown.h): no client is behind it any
 * more; and what is left once all that it created was freed. Asserts that nothing else is left.
 */
void session_cut(struct session *session);
void session_destroy(struct session *session);

/* mapped_region_open() in the client's files, charged: also -ENOSPC. */
int session_open_mapping(struct session *session, struct mapped_region *region, int fd,
			 uint64_t offset, uint64_t bytes);
void session_close_mapping(struct session *session, struct mapped_region *region);

/* Unmaps what nothing refers to any more; what takes long is done elsewhere. For mapped_files. */
void session_unmap(void *context, void *address, uint64_t bytes);

/* shared_region_create(), charged to the client: also -ENOSPC. */
int session_open_shared(struct session *session, struct shared_region *region,
			enum rnic_region_kind kind, uint64_t bytes, int *fd);
void session_close_shared(struct session *session, struct shared_region *region);

/*
 * The client broke the protocol: logs one line (the first time) and marks the session, which is
 * destroyed at the end of the turn. `format` completes "client 3 (program, pid 17) was
 * disconnected: ".
 */
void session_break(struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The client has gone, or is to go without a word: the session is destroyed at the end of the turn.
 */
void session_end(struct session *session);

/* What counts as registered: nothing of a range that may be all of memory. */
static inline uint64_t session_mr_bytes(const struct session_mr *mr)
{
	return (mr->mr.access & RNIC_ACCESS_ON_DEMAND) != 0 || mr->mode == RNIC_MEMORY_NULL
		       ? 0
		       : mr->mr.length;
}

static inline struct rnic_session_region *session_region(const struct session *session)
{
	return session->region.address;
}

static inline struct rnic_status_region *session_status(const struct session *session)
{
	return session->status.address;
}

/*
 * Makes a PD, of `share` unless that is NULL. -ENOSPC, -ENOMEM.
 */
int session_make_pd(struct session *session, struct pd_share *share, struct session_pd **made);

/* Releases one object that nothing refers to (asserted) and takes it out of its table. */
void session_free_pd(struct session *session, struct session_pd *pd);
void session_free_mr(struct session *session, struct session_mr *mr);
void session_free_mw(struct session *session, struct session_mw *mw);
void session_free_channel(struct session *session, struct session_channel *channel);
void session_free_cq(struct session *session, struct session_cq *cq);
void session_free_qp(struct session *session, struct session_qp *qp);
void session_free_ah(struct session *session, struct session_ah *ah);
void session_free_srq(struct session *session, struct session_srq *srq);
/* Makes `qp` a handle of the target, which is in the domain of `xrcd`. */
void session_join_target(struct session_qp *qp, struct session_xrcd *xrcd,
			 struct shared_target *target);

void session_free_xrcd(struct session *session, struct session_xrcd *xrcd);

/* The session's is no member of the domain any more, which is closed with the last one. */
void session_leave_domain(struct session_xrcd *xrcd);

/* The domain that is named by a file of this number; NULL when there is none. */
struct shared_domain *session_find_domain(const struct session_set *set,
					  const struct inode_id *file);

#endif
