/* SPDX-License-Identifier: MIT */
/*
 * What the device holds for a client: the regions that the client shares with the daemon, and
 * all objects that the client has made. The objects belong to the session and end with it, in an
 * order that leaves no reference behind (session_teardown.h).
 *
 * The client is hostile. Only wqe_fetch.c, cqe_delivery.c (the consumer index), doorbell.c and
 * post_refusal.c (words for people) read shared memory that the client writes. A wrong structure
 * breaks the session: session_break() tells the owner of the connection, who ends the session where
 * no caller still holds a pointer into it.
 */
#ifndef DAEMON_DEVICE_SESSION_SESSION_H
#define DAEMON_DEVICE_SESSION_SESSION_H

#include "daemon/device/memory/mapped_memory.h"
#include "daemon/device/memory/remote_memory.h"
#include "daemon/device/session/inode_id.h"
#include "daemon/device/session/shared_region.h"
#include "daemon/shared/base/event_pipe.h"
#include "daemon/shared/base/handle_table.h"
#include "daemon/shared/quota/quota.h"
#include "lib/nic/base/list.h"
#include "proto/ctl/ctl_message.h"
#include "proto/shm/region.h"

#include <stdbool.h>
#include <stdint.h>

struct device_connection;
struct session;
struct session_config; /* device_config.h */
struct session_set;

/* The kinds of descriptors in the set's epoll instance. */
enum watch_kind { WATCH_DOORBELL, WATCH_PIPE };

struct watch {
	enum watch_kind kind;
	struct session *session;
};

struct session {
	struct list node;	 /* of session_set.sessions */
	struct list look_node;	 /* WAIT_DOORBELL_LOOK */
	struct list poller_node; /* WAIT_POLLER_WAKE */
	struct list event_node;	 /* WAIT_EVENT_WRITE */
	struct session_set *set;
	struct device_connection *connection; /* of the client; its owner knows what that is */
	struct quota_account *account;	      /* the client's */
	uint32_t client_id;
	bool is_broken;	 /* the session is to end, or is ending */
	int doorbell_fd; /* -1: cut off */
	struct watch doorbell_watch;
	struct watch pipe_watch; /* of all full pipes of the session */

	struct shared_region region; /* struct rnic_session_region */
	struct shared_region status; /* struct rnic_status_region */
	struct shared_region newest; /* the region opened last */
	bool has_sigbus; /* a page of these, the objects' regions or the memfds was missing */
	struct event_pipe async_pipe;
	struct event_source port_events;
	uint32_t doorbell_consumer;
	uint32_t doorbells_lost;   /* as last seen */
	uint32_t lost_left;	   /* slots of `qps` to look at, because doorbells were lost */
	uint32_t lost_slot;	   /* the next of them; the first one follows the last */
	uint64_t rung_ns;	   /* time of the client's last doorbell or request */
	uint64_t unwoken_since_ns; /* time of the first CQE that no wake-up has announced yet */

	struct mapped_files files; /* the client's memfds */
	bool has_process;	   /* the daemon can reach the client's own address space */
	struct remote_process process;
	struct handle_table pds;
	struct handle_table mrs;
	struct handle_table mws;
	struct handle_table channels;
	struct handle_table cqs;
	struct handle_table queue_regions;
	struct handle_table qps;
	struct handle_table ahs;
	struct handle_table srqs;
	struct handle_table xrcds;
	uint64_t registered_bytes;

	int share_fd; /* a client that shows the same file may import from this session; -1: no
			 client may */
	struct inode_id share_file;
	uint32_t exporter_id; /* the client from which this session imports; 0: none */
};

/*
 * Makes a session with its regions, doorbell and event pipe, and puts the session into the set.
 * Stores the client's descriptors at `fds` in the order of struct rnic_ctl_open_device_reply; the
 * caller passes them on and closes them. Negative errno: nothing is made; -EINVAL when memory_fd is
 * another file. The set owns the descriptors of `config` in any case.
 */
int session_create(struct session_set *set, const struct session_config *config, int fds[4],
		   struct session **created);

/*
 * Takes the session out of the scheduler and closes its doorbell: no doorbell of the client wakes
 * the daemon any more.
 */
void session_cut(struct session *session);

/* Frees the session, which must own no objects any more. */
void session_destroy(struct session *session);

/* Makes the turns look at the session's doorbells, for LIMIT_DOORBELL_IDLE_NS at least. */
void session_wake(struct session *session);

/* Asks the client to wake the daemon with the next doorbell, or withdraws that request. */
void session_announce_sleep(struct session *session);
void session_withdraw_sleep(struct session *session);

/* Calls mapped_region_open() for the client's files and charges the client: also -ENOSPC. */
int session_open_mapping(struct session *session, struct mapped_region *region, int fd,
			 uint64_t offset, uint64_t bytes);
void session_close_mapping(struct session *session, struct mapped_region *region);

/*
 * Unmaps memory without references; a background thread does a long unmapping. The callback of
 * mapped_files.
 */
void session_unmap(void *context, void *address, uint64_t bytes);

/* Calls shared_region_create() and charges the client: also -ENOSPC. */
int session_open_shared(struct session *session, struct shared_region *region,
			enum rnic_region_kind kind, uint64_t bytes, int *fd);
void session_close_shared(struct session *session, struct shared_region *region);

/*
 * Notes that the client broke the protocol: the owner logs the sentence (only the first one) and
 * ends the client with this turn. `format` completes "client 3 (program, pid 17) was disconnected:
 * ".
 */
void session_break(struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline struct rnic_session_region *session_region(const struct session *session)
{
	return session->region.address;
}

static inline struct rnic_status_region *session_status(const struct session *session)
{
	return session->status.address;
}

#endif
