/* SPDX-License-Identifier: MIT */
/* Makes and frees the objects that a session owns. A freed object has no user (asserted). */
#ifndef DAEMON_DEVICE_OBJECTS_SESSION_OBJECTS_H
#define DAEMON_DEVICE_OBJECTS_SESSION_OBJECTS_H

#include "daemon/device/memory/mapped_memory.h"
#include "daemon/device/memory/remote_memory.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/inode_id.h"
#include "lib/nic/base/list.h"
#include "lib/nic/engine/objects/mr.h"
#include "lib/nic/engine/objects/mw.h"
#include "lib/nic/engine/objects/pd.h"
#include "lib/nic/engine/objects/xrcd.h"
#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>

/* How much one request about objects may take. */
enum {
	/* CQEs that a resize moves to the new ring of a CQ: 4 MiB, which take milliseconds. */
	LIMIT_RESIZE_CQ_ENTRIES = 65536,

	/* Datagrams that DESTROY_AH takes from the rings before it frees a handle that they may
	 * name, altogether and in one turn. A visited queue pair counts as one datagram. */
	LIMIT_DESTROY_AH_ENTRIES = 65536,
	LIMIT_TURN_DESTROY_AH_ENTRIES = 1024,
};

struct session_set;

struct session_pd {
	struct pd pd;
	struct rnic_handle handle;
};

struct session_mr {
	struct mr mr; /* mr.region is the region in `memory` */
	struct rnic_handle handle;
	uint32_t mode; /* enum rnic_memory_mode. MAPPED uses memory.mapped, NULL uses memory.null,
			  all others use remote */
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

/* An XRC domain. Sessions share the domain when they name it by the same file. */
struct shared_domain {
	struct xrcd xrcd;
	struct list node; /* of session_set.domains */
	uint32_t openers; /* struct session_xrcd */
	uint32_t members; /* openers whose session is not ending */
	int file_fd;	  /* keeps the inode number from being reused; -1: no file */
	struct inode_id file;
};

struct session_xrcd {
	struct shared_domain *domain;
	struct rnic_handle handle;
	uint32_t references; /* SRQs and QPs of this session */
	bool has_left;	     /* no member of the domain any more */
};

/* Returns how many bytes count as registered: none of a range that may be all of memory. */
static inline uint64_t session_mr_bytes(const struct session_mr *mr)
{
	return (mr->mr.access & RNIC_ACCESS_ON_DEMAND) != 0 || mr->mode == RNIC_MEMORY_NULL
		       ? 0
		       : mr->mr.length;
}

/* Whether the memory of `mr` is in the client's own address space. */
static inline bool session_mr_is_remote(const struct session_mr *mr)
{
	return mr->mode == RNIC_MEMORY_PROCESS_VM || mr->mode == RNIC_MEMORY_PROC_MEM;
}

/* Gives up the memory behind `mr`, of which the engine knows nothing any more. */
void session_close_memory(struct session *session, struct session_mr *mr);

/* Makes a PD in `share`, unless `share` is NULL. -ENOSPC, -ENOMEM. */
int session_make_pd(struct session *session, struct pd_share *share, struct session_pd **made);

/* Each frees one object without references (asserted) and takes it out of its table. */
void session_free_pd(struct session *session, struct session_pd *pd);
void session_free_mr(struct session *session, struct session_mr *mr);
void session_free_mw(struct session *session, struct session_mw *mw);
void session_free_channel(struct session *session, struct session_channel *channel);
void session_free_cq(struct session *session, struct session_cq *cq);
void session_free_qp(struct session *session, struct session_qp *qp);
/*
 * Tells the control plane which client has the queue pair, of those of this lane; 0: none. A client
 * must not learn the QPN before.
 */
void session_note_owner(const struct session *session, uint32_t qpn, uint32_t client_id);

void session_free_queue_region(struct session *session, struct session_queue_region *queue_region);
void session_free_ah(struct session *session, struct session_ah *ah);
void session_free_srq(struct session *session, struct session_srq *srq);
/* Makes `qp` a handle of the target, which is in the domain of `xrcd`. */
void session_join_target(struct session_qp *qp, struct session_xrcd *xrcd,
			 struct shared_target *target);

void session_free_xrcd(struct session *session, struct session_xrcd *xrcd);

/* Ends the session's membership in the domain. The last member's leaving closes the domain. */
void session_leave_domain(struct session_xrcd *xrcd);

/* Returns the domain named by the file of this identity; NULL when there is none. */
struct shared_domain *session_find_domain(const struct session_set *set,
					  const struct inode_id *file);

#endif
